import { type Delivery, deliver, type NewMessage } from '../../../execution/decide/deliver.ts';
import { isTerminal, type Parent } from '../../../execution/execution.ts';
import type { Payload, ProjectName } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Entry, ExecutionState } from './state.ts';

/** the message is in the inbox in the same step that counts it, and that may wake. */
export function putMessage(state: ExecutionState, entry: Entry, delivery: Delivery): void {
  const wasWaiting = entry.execution.status === 'waiting';
  state.put(entry, delivery.execution);
  entry.inbox.push(Object.freeze(delivery.message));
  if (wasWaiting && delivery.execution.status === 'queued') state.ring();
}

interface ToldByChild {
  readonly parent: Parent;
  readonly project: ProjectName;
  readonly outcome?: Payload | undefined;
}

/** the parent is told, unless it has ended or is of another project. */
export function tellParent(
  state: ExecutionState,
  { parent, project, outcome }: ToldByChild,
  now: Instant,
): void {
  const entry = state.entries.get(parent.id);
  if (entry === undefined || isTerminal(entry.execution.status)) return;
  if (entry.execution.project !== project) return;
  const message: NewMessage = {
    kind: 'child-ended',
    name: parent.call,
    ...(outcome === undefined ? {} : { body: outcome }),
  };
  putMessage(state, entry, deliver(entry.execution, message, now));
}
