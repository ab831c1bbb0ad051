import { refuseTransact } from '../../../execution/decide/owner.ts';
import type { NewEvent } from '../../../execution/history.ts';
import type { OwnerRefusal } from '../../../execution/refusal.ts';
import type { Transact, Transacted } from '../../contract/execution-store.ts';
import { ownerView, refused } from './owner.ts';
import { record } from './record.ts';
import type { ExecutionState } from './state.ts';

/**
 * There is no transaction to lend: the guard is asked before the work, and again in the turn that
 * writes, since work that waits lets others go on.
 */
export async function transact<Result>(
  state: ExecutionState,
  request: Transact<Result>,
): Promise<Transacted<Result>> {
  const before = guard(state, request);
  if (before !== undefined) return refused(state, before);
  let result: Result;
  let events: readonly NewEvent[];
  try {
    result = await request.work(undefined);
    events = request.events(result);
  } catch (error) {
    return { kind: 'threw', error };
  }
  const after = guard(state, request);
  if (after !== undefined) return refused(state, after);
  const { work: _, ...write } = request;
  const recorded = record(state, { ...write, events });
  return recorded.kind === 'refused' ? recorded : { ...recorded, result };
}

function guard<Result>(state: ExecutionState, request: Transact<Result>): OwnerRefusal | undefined {
  return refuseTransact(ownerView(state, request, 0), request);
}
