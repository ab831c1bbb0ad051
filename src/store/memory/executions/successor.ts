// The successor of an execution that has just ended: it goes on under its key and in its place, and
// has in its inbox what nobody acted on.

import { endAsCancelled } from '../../../execution/decide/command.ts';
import { unset } from '../../../execution/decide/record.ts';
import { decideSuccessor, inheritanceOf } from '../../../execution/decide/submit.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { Finish, Submit } from '../../contract/execution-store.ts';
import { noteLimit } from './gates.ts';
import type { Entry, ExecutionState } from './state.ts';

export interface Continued extends Pick<Finish, 'newsSeen' | 'unread'> {
  readonly as: Submit;
}

export interface Followed {
  readonly entry: Entry;
  readonly hasPlace: boolean;
  /** It ends at once. */
  readonly cancelled?: ReturnType<typeof endAsCancelled>;
}

/** Undefined when its id is taken: then it is left out. */
export function follow(
  state: ExecutionState,
  ended: { readonly entry: Entry; readonly before: ExecutionRecord },
  { as: submit, newsSeen = 0, unread = [] }: Continued,
): Followed | undefined {
  if (state.entries.has(submit.id)) return undefined;
  const now = state.kernel.now();
  // Two executions with one key could not be told apart.
  state.put(ended.entry, unset(ended.entry.execution, 'key', 'intent'));
  const isUnread = new Set(unread);
  const left = ended.entry.inbox.filter(({ n }) => n > newsSeen || isUnread.has(n));
  const { messages, cancel } = inheritanceOf(left);
  const { execution, event } = decideSuccessor(ended.before, structuredClone(submit), now);
  const { hasPlace } = execution;
  // who takes the place over is no new submit.
  if (!hasPlace) noteLimit(state, execution);
  const entry = state.insert({ ...execution, news: messages.length }, [event]);
  for (const message of messages) entry.inbox.push(Object.freeze(message));
  if (cancel === undefined) return { entry, hasPlace };
  return { entry, hasPlace, cancelled: endAsCancelled(entry.execution, { ...cancel, now }) };
}
