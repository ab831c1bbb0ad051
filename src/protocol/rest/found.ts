// Nothing of one project is seen by another: what belongs to somebody else is not there.

import type { ExecutionRecord } from '../../execution/execution.ts';
import { parseExecutionId } from '../../execution/names.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';

export async function executionFor(
  { store }: Coordinator,
  caller: Caller,
  id: string,
): Promise<ExecutionRecord> {
  const known = parseExecutionId(id);
  const record = await store.executions.read(known);
  if (record?.project === caller.project) return record;
  const why = 'execution-unknown';
  throw new ProblemReply(404, why, describeExecutionRefusal({ why, id: known }));
}
