import type { InboxMessage } from '../../../execution/history.ts';
import type { ReadInbox } from '../../contract/execution-store.ts';
import type { ExecutionState } from './state.ts';

/** Message n is at n - 1: they are numbered without gaps. */
export function inbox(state: ExecutionState, query: ReadInbox): readonly InboxMessage[] {
  return state.entries.get(query.id)?.inbox.slice(query.after, query.after + query.limit) ?? [];
}
