// One event stream for all pages. An event means that something may have changed. The console then
// refetches the visible queries, at most once a second.

import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { pathOf } from './call.ts';
import { CALLER, isLive } from './reads.ts';

const REFETCH_INTERVAL_MS = 1_000;
const REOPEN_MS = 2_000;

export type Liveness = 'live' | 'away';

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
    const inMs = Math.max(0, REFETCH_INTERVAL_MS - (performance.now() - this.#refetchedAt));
    this.#timer = window.setTimeout(() => {
      this.#timer = undefined;
      this.#refetchedAt = performance.now();
      void this.#client.invalidateQueries({ predicate: isLive });
    }, inMs);
  };

  /** The user may have been signed out. */
  checkCaller(): void {
    void this.#client.invalidateQueries({ queryKey: [pathOf(CALLER)] });
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
  readonly #onLiveness: (liveness: Liveness) => void;
  #source: EventSource | undefined;
  #reopenTimer: number | undefined;
  #wasOpen = false;

  constructor(refetcher: Refetcher, onLiveness: (liveness: Liveness) => void) {
    this.#refetcher = refetcher;
    this.#onLiveness = onLiveness;
  }

  readonly refresh = (): void => {
    if (document.visibilityState === 'hidden') this.close();
    else if (this.#source === undefined) this.#open();
  };

  close(): void {
    window.clearTimeout(this.#reopenTimer);
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    const source = new EventSource(requestTo('GET /v1/events').path);
    this.#source = source;
    source.addEventListener('changed', this.#refetcher.request);
    source.addEventListener('reset', this.#refetcher.request);
    source.addEventListener('open', () => {
      this.#onLiveness('live');
      // Events are lost while the stream is closed.
      if (this.#wasOpen) this.#refetcher.request();
      this.#wasOpen = true;
    });
    source.addEventListener('error', () => {
      this.#onLiveness('away');
      // A browser reopens a broken stream, but not after an error response: a proxy sends one while
      // the coordinator restarts.
      if (source.readyState !== EventSource.CLOSED) return;
      this.#refetcher.checkCaller();
      this.#reopenTimer = window.setTimeout(() => this.#open(), REOPEN_MS);
    });
  }
}

export function useLive(isAllowed: boolean): Liveness {
  const client = useQueryClient();
  const [liveness, setLiveness] = useState<Liveness>('away');
  useEffect(() => {
    if (!isAllowed) return undefined;
    const refetcher = new Refetcher(client);
    const stream = new Stream(refetcher, setLiveness);
    document.addEventListener('visibilitychange', stream.refresh);
    stream.refresh();
    return () => {
      document.removeEventListener('visibilitychange', stream.refresh);
      stream.close();
      refetcher.close();
    };
  }, [client, isAllowed]);
  return liveness;
}
