// Nothing of one project is seen by another: what belongs to somebody else is not there.

import type { ExecutionRecord } from '../../execution/execution.ts';
import { type ExecutionId, parseExecutionId } from '../../execution/names.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import { formatInstant } from '../../support/clock.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';

/** F-7: who asks for what is gone is told where to look. */
async function refuseArchived(
  { executions }: Coordinator['store'],
  caller: Caller,
  id: ExecutionId,
): Promise<void> {
  const archived = await executions.archived(id);
  if (archived?.project !== caller.project) return;
  throw new ProblemReply(
    410,
    'execution-archived',
    `Execution ${id} ended as ${archived.status} and was archived at ${formatInstant(archived.archivedAt)}: its rows are gone. Its documents are still there: holdfast archive get ${id} (GET /v1/archive/${id}).`,
  );
}

export async function executionFor(
  { store }: Coordinator,
  caller: Caller,
  id: string,
): Promise<ExecutionRecord> {
  const known = parseExecutionId(id);
  const record = await store.executions.read(known);
  if (record?.project === caller.project) return record;
  await refuseArchived(store, caller, known);
  const why = 'execution-unknown';
  throw new ProblemReply(404, why, describeExecutionRefusal({ why, id: known }));
}
