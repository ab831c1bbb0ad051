// What an endpoint has answered is written, in its order.

import type { Session } from '../../lease/live-session.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import type { PushResult } from '../messages/push.ts';
import type { Caller, Coordinator } from '../rest/route.ts';
import { perform, toWrite } from '../rest/work-writes.ts';
import { merged } from './merged.ts';

/** `failed`: it is not known to have left, and its claim is to be ended. `news`: it is to be given back, as it stands. */
export type Written =
  | { readonly kind: 'over' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'news'; readonly claimed: Claimed; readonly why: string };

export interface Answered extends Pick<PushResult, 'writes' | 'blobs'> {
  readonly session: Session;
  readonly claimed: Claimed;
}

/** What is refused ends the claim: somebody else has it, or there is news, with which it is claimed anew. */
export async function writeResult(
  coordinator: Coordinator,
  caller: Caller,
  { session, claimed, writes = [], blobs = [] }: Answered,
): Promise<Written> {
  const { executions } = coordinator.store;
  const { project } = caller;
  for (const { digest, bytes } of blobs) {
    await executions.putBlob({ project, digest, bytes: Buffer.from(bytes, 'base64') });
  }
  for (const message of merged(writes)) {
    const write = toWrite({ ...message, session: session.id }, caller);
    const { answers } = await perform(coordinator, caller, [write]);
    const { kind, why } = (answers[0] ?? { kind: 'fault' }) as { kind: string; why?: string };
    if (why === 'unseen-news') {
      const { seq, verb } = message;
      const compensable = 'compensable' in message && message.compensable === true;
      const execution = { ...claimed.execution, seq: seq - 1, compensable };
      const held = { ...claimed, execution };
      return { kind: 'news', claimed: held, why: `there was news before its ${verb}` };
    }
    if (kind === 'refused' || kind === 'fault') return failed(`its ${message.verb} was refused`);
  }
  // What still runs under this claim would be nobody's for as long as its session lives.
  const now = await executions.read(claimed.execution.id);
  const isOver = now?.status !== 'running' || now.fence !== claimed.fence;
  return isOver ? { kind: 'over' } : failed('its answer did not end the claim');
}

function failed(why: string): Written {
  return { kind: 'failed', why };
}
