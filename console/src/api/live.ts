// One event stream for all pages. An event means that something may have changed. The console then
// refetches the visible queries, at most once a second.

import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { pathOf } from './call.ts';
import { failingSince, noteReceived, noteReturn, PING_MS, STALE_MS, silentMs } from './contact.ts';
import { CALLER, isLive } from './reads.ts';

const REFETCH_INTERVAL_MS = 1_000;
const REOPEN_MS = 2_000;
const WATCH_MS = 1_000;

/** Limits how often live queries are refetched. */
class Refetcher {
  readonly #client: QueryClient;
  #timer: number | undefined;
  #refetchedAt = 0;

  constructor(client: QueryClient) {
    this.#client = client;
  }

  readonly request = (): void => {
    if (this.#timer !== undefined) return;
    // A sick coordinator gets fewer requests.
    const everyMs = failingSince() === undefined ? REFETCH_INTERVAL_MS : PING_MS;
    const inMs = Math.max(0, everyMs - (performance.now() - this.#refetchedAt));
    this.#timer = window.setTimeout(() => {
      this.#timer = undefined;
      this.#refetchedAt = performance.now();
      // A read under way may miss this change, so it is repeated later. Canceling it instead would hide
      // that the coordinator never responds to it.
      if (this.#client.isFetching({ predicate: isLive }) > 0) this.request();
      const isIdle = (query: Query): boolean => isLive(query) && query.state.fetchStatus === 'idle';
      void this.#client.invalidateQueries({ predicate: isIdle });
    }, inMs);
  };

  /** The user may have been signed out. */
  checkCaller(): void {
    const queryKey = [pathOf(CALLER)];
    void this.#client.invalidateQueries({ queryKey }, { cancelRefetch: false });
  }

  close(): void {
    window.clearTimeout(this.#timer);
  }
}

/**
 * Open only while the tab is visible: over HTTP/1.1 all tabs of a browser share six connections to a
 * host.
 */
class Stream {
  readonly #refetcher: Refetcher;
  readonly #mayOpen: boolean;
  #source: EventSource | undefined;
  #reopenTimer: number | undefined;
  #openedAt = 0;
  #wasOpen = false;
  #wasSilent = false;

  constructor(refetcher: Refetcher, mayOpen: boolean) {
    this.#refetcher = refetcher;
    this.#mayOpen = mayOpen;
  }

  readonly refresh = (): void => {
    if (document.visibilityState === 'hidden') this.close();
    else if (this.#source === undefined) {
      noteReturn();
      this.#open();
    }
  };

  /**
   * Asks for a sign of life if the stream has been silent, for example behind a proxy that buffers it.
   * After a long silence the connection may be dead, so the stream is opened again.
   */
  readonly watch = (): void => {
    if (document.visibilityState === 'hidden') return;
    const silent = silentMs();
    if (silent > PING_MS) this.#refetcher.checkCaller();
    else if (this.#wasSilent || failingSince() !== undefined) this.#refetcher.request();
    this.#wasSilent = silent > PING_MS;
    if (silent > STALE_MS && performance.now() - this.#openedAt > STALE_MS) {
      this.close();
      this.#open();
    }
  };

  close(): void {
    window.clearTimeout(this.#reopenTimer);
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    if (!this.#mayOpen) return;
    const source = new EventSource(requestTo('GET /v1/events').path);
    this.#source = source;
    this.#openedAt = performance.now();
    for (const name of ['open', 'ping', 'changed', 'reset']) {
      source.addEventListener(name, noteReceived);
    }
    source.addEventListener('changed', this.#refetcher.request);
    source.addEventListener('reset', this.#refetcher.request);
    source.addEventListener('open', () => {
      // Events are lost while the stream is closed.
      if (this.#wasOpen) this.#refetcher.request();
      this.#wasOpen = true;
    });
    source.addEventListener('error', () => {
      // A browser reopens a broken stream, but not after an error response: a proxy sends one while
      // the coordinator restarts.
      if (source.readyState !== EventSource.CLOSED) return;
      this.#refetcher.checkCaller();
      this.#reopenTimer = window.setTimeout(() => this.#open(), REOPEN_MS);
    });
  }
}

/** Keeps the stream open if the key may read it, and watches for silence. */
export function useLive(mayRead: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    const refetcher = new Refetcher(client);
    const stream = new Stream(refetcher, mayRead);
    document.addEventListener('visibilitychange', stream.refresh);
    const watcher = window.setInterval(stream.watch, WATCH_MS);
    stream.refresh();
    return () => {
      document.removeEventListener('visibilitychange', stream.refresh);
      window.clearInterval(watcher);
      stream.close();
      refetcher.close();
    };
  }, [client, mayRead]);
}
