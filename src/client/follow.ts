// Follows a stream to its end, over as many connections as needed. Each connection continues after
// the last received event.

import type { HistoryMessage } from '../protocol/messages/execution.ts';
import type { ProblemMessage } from '../protocol/messages/problem.ts';
import { systemTimers } from '../support/timer.ts';
import { type CallOptions, CallRefused } from './calls.ts';

/** Options of `watch` and `live`. */
export interface WatchOptions {
  /** Start after the event with this number. Default 0: from the first. */
  readonly after?: number;
  /** Ends the watch when it aborts. */
  readonly signal?: AbortSignal;
  /**
   * Called with the `error` when the connection breaks; it reconnects in `againInMs` milliseconds.
   */
  readonly onCut?: (cut: { readonly error: unknown; readonly againInMs: number }) => void;
}

/**
 * A value that `live` yields: an `event`, or a `progress`, which is undefined if the coordinator
 * cannot decode it.
 */
export type Seen =
  | { readonly kind: 'event'; readonly event: HistoryMessage }
  /** Undefined when it is sealed by a codec that the coordinator does not have. */
  | { readonly kind: 'progress'; readonly progress: unknown };

interface Followed extends WatchOptions {
  readonly path: string;
  readonly query: NonNullable<CallOptions['query']>;
}

const AGAIN_MS_MIN = 250;
const AGAIN_MS_MAX = 5_000;

export async function* followed(client: Sends, source: Followed): AsyncGenerator<Seen> {
  const { path, query, signal, onCut } = source;
  const isOver = (): boolean => signal?.aborted === true;
  let after = source.after ?? 0;
  let hasBegun = false;
  for (let againInMs = AGAIN_MS_MIN; !isOver(); ) {
    try {
      const options = { query: { ...query, after }, ...(signal && { signal }) };
      for await (const { event, id, data } of eventsOf(client, path, options)) {
        hasBegun = true;
        againInMs = AGAIN_MS_MIN;
        if (event === 'end') return;
        if (event === 'progress')
          yield { kind: 'progress', progress: (data as { readonly progress?: unknown }).progress };
        if (id === undefined) continue;
        after = Number(id);
        yield { kind: 'event', event: data as HistoryMessage };
      }
      // The coordinator is stopping; another one or its successor continues.
      hasBegun = true;
    } catch (error) {
      // A coordinator that never responded probably does not exist, and a refusal would be
      // repeated.
      if (!hasBegun || error instanceof CallRefused || isOver()) throw error;
      onCut?.({ error, againInMs });
    }
    await systemTimers.pause(againInMs, signal);
    againInMs = Math.min(AGAIN_MS_MAX, 2 * againInMs);
  }
}

// Reads a stream of server-sent events.

/** A server-sent event. */
export interface ServerEvent {
  /** The name of the event. */
  readonly event: string;
  /** The id to continue after. */
  readonly id?: string;
  /** The parsed data. */
  readonly data: unknown;
}

export interface Sends {
  send(path: string, options: CallOptions): Promise<Response>;
}

/** Ends when the server ends the stream. */
export async function* eventsOf(
  client: Sends,
  path: string,
  options: CallOptions,
): AsyncGenerator<ServerEvent> {
  const response = await client.send(path, options);
  if (!response.ok) throw new CallRefused((await response.json()) as ProblemMessage);
  let held = '';
  for await (const text of (response.body ?? new ReadableStream()).pipeThrough(
    new TextDecoderStream(),
  )) {
    held += text;
    const blocks = held.split('\n\n');
    held = blocks.pop() ?? '';
    for (const block of blocks) yield* eventOf(block);
  }
}

function* eventOf(block: string): Generator<ServerEvent> {
  const fields = new Map(
    block.split('\n').map((line): [string, string] => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const [event, id, data = 'null'] = ['event', 'id', 'data'].map((name) => fields.get(name));
  // A comment only keeps the connection alive.
  if (event === undefined) return;
  yield { event, data: JSON.parse(data), ...(id === undefined ? {} : { id }) };
}
