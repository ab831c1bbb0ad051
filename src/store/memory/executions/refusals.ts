import {
  addRefusedWrites,
  REFUSED_WRITES_MAX,
  type RefusedWrite,
  type RefusedWriteKey,
  type RefusedWrites,
} from '../../../execution/refused-write.ts';
import type { ListRefusals, RefusalPlace } from '../../contract/audit-store.ts';
import { type ExecutionState, inByteOrder } from './state.ts';

/** J-11, J-12. */
export function noteRefusals(state: ExecutionState, batch: readonly RefusedWrites[]): void {
  const now = state.kernel.now();
  for (const told of batch) {
    const known = state.audit.refusals.get(told.project) ?? new Map<string, RefusedWrite>();
    state.audit.refusals.set(told.project, known);
    const key = keyOf(told);
    known.set(key, Object.freeze(addRefusedWrites(known.get(key), told, now)));
  }
  for (const project of new Set(batch.map((told) => told.project))) {
    const known = state.audit.refusals.get(project);
    if (known === undefined || known.size <= REFUSED_WRITES_MAX) continue;
    const tooMany = [...known.values()].sort(lastSeenFirst).slice(REFUSED_WRITES_MAX);
    for (const each of tooMany) known.delete(keyOf(each));
  }
}

export function refusals(state: ExecutionState, query: ListRefusals): readonly RefusedWrite[] {
  const { project, execution, before, limit } = query;
  return [...(state.audit.refusals.get(project)?.values() ?? [])]
    .filter((each) => execution === undefined || each.execution === execution)
    .filter((each) => before === undefined || lastSeenFirst(before, each) < 0)
    .sort(lastSeenFirst)
    .slice(0, limit);
}

function keyOf({ execution, fence, verb }: RefusedWriteKey): string {
  return `${execution} ${fence} ${verb}`;
}

function lastSeenFirst(a: RefusalPlace, b: RefusalPlace): number {
  return (
    b.lastAt - a.lastAt ||
    inByteOrder(b.execution, a.execution) ||
    b.fence - a.fence ||
    inByteOrder(b.verb, a.verb)
  );
}
