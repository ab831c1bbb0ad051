// Reads a stream of server-sent events.

import type { Problem } from '../protocol/messages/problem.ts';
import { type CallOptions, CallRefused } from './calls.ts';

export interface ServerEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: unknown;
}

export interface Sends {
  send(path: string, options: CallOptions): Promise<Response>;
}

/** Until the other side ends it. */
export async function* readEvents(
  client: Sends,
  path: string,
  options: CallOptions,
): AsyncGenerator<ServerEvent> {
  const response = await client.send(path, options);
  if (!response.ok) throw new CallRefused((await response.json()) as Problem);
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
  // A comment keeps the connection alive and says nothing.
  if (event === undefined) return;
  yield { event, data: JSON.parse(data), ...(id === undefined ? {} : { id }) };
}
