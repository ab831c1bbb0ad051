// What the four commands share: one transaction that locks the row, asks the pure decision, and does it.

import {
  askedBy,
  CANCELLED_OUTCOME,
  type CommandDecision,
  type CommandView,
} from '../../../execution/decide/command.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { InboxMessage } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Command, CommandAnswer } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import { persistently } from '../committer.ts';
import { type Queries, statement } from '../database.ts';
import { deliverTo } from './deliver.ts';
import { afterEnd } from './end-execution.ts';
import type { Parts } from './parts.ts';
import { appendEvents, lockExecution, postMessage, saveExecution } from './rows.ts';

const ASKED = statement(`
  select i.kind
    from hf.inbox i
   where i.execution_id = $1
     and i.kind in ('cancel', 'pause', 'resume')
   order by i.n desc`);

export type Decide = (view: CommandView, now: Instant) => CommandDecision;

export async function command(
  parts: Parts,
  request: Command,
  decide: Decide,
): Promise<CommandAnswer> {
  const answer = await persistently(parts.surroundings, () =>
    parts.database.attempt(async (queries) => {
      const result = await obey(queries, request.id, decide);
      return { keep: result.kind === 'done' || result.kind === 'passed-on', result };
    }, parts.boundaries),
  );
  if (answer.kind === 'done' || answer.kind === 'passed-on') parts.bell.ring();
  return answer;
}

/** In a transaction. */
export async function obey(
  queries: Queries,
  id: ExecutionId,
  decide: Decide,
): Promise<CommandAnswer> {
  const row = await lockExecution(queries, id);
  const now = (row?.now ?? 0) as Instant;
  const before = row === undefined ? undefined : toExecution(row);
  const hasNews = before !== undefined && before.news > 0;
  const asked = hasNews ? await queries.rows<Pick<InboxMessage, 'kind'>>(ASKED, [id]) : [];
  const decision = decide({ execution: before, ...askedBy(asked.map(({ kind }) => kind)) }, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  const { execution } = decision;
  const { status } = execution;
  if (decision.kind === 'no-change') return { kind: 'no-change', status };
  if (decision.kind === 'pass-on') {
    await deliverTo(queries, decision, decision.toOwner ? execution.session : undefined);
    return { kind: decision.toOwner ? 'passed-on' : 'done', status };
  }
  await saveExecution(queries, execution);
  await appendEvents(queries, id, [decision.event]);
  if (decision.kind === 'end') {
    await afterEnd(queries, before as ExecutionRecord, { now, outcome: CANCELLED_OUTCOME });
  } else if (decision.message !== undefined) {
    await postMessage(queries, id, decision.message);
  }
  return { kind: 'done', status };
}
