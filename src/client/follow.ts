// A stream that is followed to its end, over as many connections as that takes: each goes on after the last
// event that was received.

import type { HistoryMessage } from '../protocol/messages/execution.ts';
import { systemTimers } from '../support/timer.ts';
import { type CallOptions, CallRefused } from './calls.ts';
import { readEvents, type Sends } from './event-source.ts';

export interface WatchOptions {
  /** Goes on after the event of this seq. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** A connection was cut; it is made again in `againInMs`. */
  readonly onCut?: (cut: { readonly error: unknown; readonly againInMs: number }) => void;
}

export type Seen =
  | { readonly kind: 'event'; readonly event: HistoryMessage }
  /** Undefined when it is sealed by a codec that the coordinator has not. */
  | { readonly kind: 'progress'; readonly progress: unknown };

interface Followed extends WatchOptions {
  readonly path: string;
  readonly query: NonNullable<CallOptions['query']>;
}

const AGAIN_MS_MIN = 250;
const AGAIN_MS_MAX = 5_000;

export async function* followed(client: Sends, asked: Followed): AsyncGenerator<Seen> {
  const { path, query, signal, onCut } = asked;
  const isOver = (): boolean => signal?.aborted === true;
  let after = asked.after ?? 0;
  let hasBegun = false;
  for (let againInMs = AGAIN_MS_MIN; !isOver(); ) {
    try {
      const options = { query: { ...query, after }, ...(signal && { signal }) };
      for await (const { event, id, data } of readEvents(client, path, options)) {
        hasBegun = true;
        againInMs = AGAIN_MS_MIN;
        if (event === 'end') return;
        if (event === 'progress') yield { kind: 'progress', progress: progressIn(data) };
        if (id === undefined) continue;
        after = Number(id);
        yield { kind: 'event', event: data as HistoryMessage };
      }
      // The coordinator stops: another one, or its successor, goes on.
      hasBegun = true;
    } catch (error) {
      // One that never answered may not be there at all; what is refused stays refused.
      if (!hasBegun || error instanceof CallRefused || isOver()) throw error;
      onCut?.({ error, againInMs });
    }
    await systemTimers.pause(againInMs, signal);
    againInMs = Math.min(AGAIN_MS_MAX, 2 * againInMs);
  }
}

function progressIn(data: unknown): unknown {
  return (data as { readonly progress?: unknown }).progress;
}
