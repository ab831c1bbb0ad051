// One stream for all that is shown: it says that something may have changed, and what is on the screen is
// read again, at most once a second.

import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { pathOf } from './call.ts';
import { CALLER, isLive } from './reads.ts';

const AT_MOST_MS = 1_000;
const AGAIN_MS = 2_000;

export type Liveness = 'live' | 'away';

/** Read again when something changed, however often it is told. */
class Rereading {
  readonly #client: QueryClient;
  #timer: number | undefined;
  #readAt = 0;

  constructor(client: QueryClient) {
    this.#client = client;
  }

  readonly ask = (): void => {
    if (this.#timer !== undefined) return;
    const inMs = Math.max(0, AT_MOST_MS - (performance.now() - this.#readAt));
    this.#timer = window.setTimeout(() => {
      this.#timer = undefined;
      this.#readAt = performance.now();
      void this.#client.invalidateQueries({ predicate: isLive });
    }, inMs);
  };

  /** Whether one is still signed in. */
  checkCaller(): void {
    void this.#client.invalidateQueries({ queryKey: [pathOf(CALLER)] });
  }

  close(): void {
    window.clearTimeout(this.#timer);
  }
}

/** The stream, while somebody looks: a browser has six connections to a place, for all of its tabs together. */
class Stream {
  readonly #reading: Rereading;
  readonly #onLiveness: (liveness: Liveness) => void;
  #source: EventSource | undefined;
  #again: number | undefined;
  #wasOpen = false;

  constructor(reading: Rereading, onLiveness: (liveness: Liveness) => void) {
    this.#reading = reading;
    this.#onLiveness = onLiveness;
  }

  readonly refresh = (): void => {
    if (document.visibilityState === 'hidden') this.close();
    else if (this.#source === undefined) this.#open();
  };

  close(): void {
    window.clearTimeout(this.#again);
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    const source = new EventSource(requestTo('GET /v1/events').path);
    this.#source = source;
    source.addEventListener('changed', this.#reading.ask);
    source.addEventListener('reset', this.#reading.ask);
    source.addEventListener('open', () => {
      this.#onLiveness('live');
      // What was told meanwhile was told to nobody.
      if (this.#wasOpen) this.#reading.ask();
      this.#wasOpen = true;
    });
    source.addEventListener('error', () => {
      this.#onLiveness('away');
      // Refused, as by a proxy whose coordinator is being started again: a browser leaves it at that.
      if (source.readyState !== EventSource.CLOSED) return;
      this.#reading.checkCaller();
      this.#again = window.setTimeout(() => this.#open(), AGAIN_MS);
    });
  }
}

export function useLive(isAllowed: boolean): Liveness {
  const client = useQueryClient();
  const [liveness, setLiveness] = useState<Liveness>('away');
  useEffect(() => {
    if (!isAllowed) return undefined;
    const reading = new Rereading(client);
    const stream = new Stream(reading, setLiveness);
    document.addEventListener('visibilitychange', stream.refresh);
    stream.refresh();
    return () => {
      document.removeEventListener('visibilitychange', stream.refresh);
      stream.close();
      reading.close();
    };
  }, [client, isAllowed]);
  return liveness;
}
