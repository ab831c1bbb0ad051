import { type Delivery, deliver, type NewMessage } from '../../../execution/decide/deliver.ts';
import { isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId, Payload } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Entry, ExecutionState } from './state.ts';

/** the message is in the inbox in the same step that counts it, and that may wake. */
export function putMessage(state: ExecutionState, entry: Entry, delivery: Delivery): void {
  const wasWaiting = entry.execution.status === 'waiting';
  state.put(entry, delivery.execution);
  entry.inbox.push(Object.freeze(delivery.message));
  if (wasWaiting && delivery.execution.status === 'queued') state.ring();
}

/** the parent is told, unless it has ended. */
export function tellParent(
  state: ExecutionState,
  parent: { readonly id: ExecutionId; readonly call: string; readonly outcome?: Payload },
  now: Instant,
): void {
  const entry = state.entries.get(parent.id);
  if (entry === undefined || isTerminal(entry.execution.status)) return;
  const message: NewMessage = {
    kind: 'child-ended',
    name: parent.call,
    ...(parent.outcome === undefined ? {} : { body: parent.outcome }),
  };
  putMessage(state, entry, deliver(entry.execution, message, now));
}
