// The client's methods for updates and published values.

import { type Calls, callOperation, withTags } from '../../client/calls.ts';
import type { ResponseAt } from '../../protocol/messages/request.ts';
import { Fault } from '../../support/fault.ts';

/** An update, as the client sends it. */
export interface SentUpdate {
  /** The name that the code passes to `ctx.receive(name, { update: true })`. */
  readonly name: string;
  /** The value that the code gets. Default undefined. */
  readonly value?: unknown;
  /** A second update with this key gets the reply of the first. Default: none is equal. */
  readonly key?: string;
  /** Milliseconds to wait for the reply, up to 60,000. Default 10,000. */
  readonly waitMs?: number;
}

/** Sends an update and returns its result. `pending`: there is no reply yet. */
export function postUpdate(
  client: Calls,
  id: string,
  { waitMs = 10_000, ...update }: SentUpdate,
): Promise<ResponseAt<'POST /v1/executions/:id/updates'>> {
  const sent = withTags(`The value of update "${update.name}"`, update, 'value');
  return callOperation(client, 'POST /v1/executions/:id/updates', { ...sent, waitMs, id });
}

/** Undefined if the execution has not published it within `waitMs`, or has ended without it. */
export async function readPublished(
  client: Calls,
  id: string,
  { name, waitMs }: { readonly name: string; readonly waitMs: number },
): Promise<ResponseAt<'GET /v1/executions/:id/published/:name'> | undefined> {
  const asked = { id, name, ...(waitMs > 0 && { waitMs }) };
  try {
    return await callOperation(client, 'GET /v1/executions/:id/published/:name', asked);
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'not-found') return undefined;
    throw fault;
  }
}
