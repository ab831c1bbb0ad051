// What the four commands share: one transaction that locks the row, asks the pure decision, and does it.

import {
  askedBy,
  CANCELLED_OUTCOME,
  type CommandDecision,
  type CommandView,
  decideCancel,
  decidePause,
  decideResume,
  decideSignal,
} from '../../../execution/decide/command.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { InboxMessage } from '../../../execution/history.ts';
import { auditOf, changedByCommand } from '../../../features/audit/decide.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Cancel, Command, CommandAnswer, Signal } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { writeAudit } from './audit.ts';
import { deliverTo } from './deliver.ts';
import { afterEnd } from './end-execution.ts';
import { noteAnswers, storedAnswers } from './jobs.ts';
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
  request: Cancel,
  decide: Decide,
): Promise<CommandAnswer> {
  const answer = await persistently(parts.surroundings, () =>
    parts.database.attempt((queries) => obeyOnce(queries, request, decide), parts.boundaries),
  );
  if (answer.kind === 'done' || answer.kind === 'passed-on') parts.bell.ring();
  return answer;
}

/** Y-23: what is asked for a job is answered as the first time, refusals too. */
async function obeyOnce(
  queries: Queries,
  request: Cancel,
  decide: Decide,
): Promise<Attempted<CommandAnswer>> {
  const { id, job } = request;
  if (job === undefined) {
    const result = await obey(queries, request, decide);
    return { keep: result.kind === 'done' || result.kind === 'passed-on', result };
  }
  const of = { job, target: id };
  const [stored] = (await storedAnswers<CommandAnswer>(queries, [of])).values();
  if (stored !== undefined) return { keep: false, result: stored };
  const answer = await obey(queries, request, decide);
  await noteAnswers(queries, [{ of, answer }]);
  return { keep: true, result: answer };
}

/** In a transaction. */
export async function obey(
  queries: Queries,
  request: Pick<Cancel, 'id' | 'audit'>,
  decide: Decide,
): Promise<CommandAnswer> {
  const { id } = request;
  const row = await lockExecution(queries, id);
  const now = (row?.now ?? 0) as Instant;
  const before = row === undefined ? undefined : toExecution(row);
  const hasNews = before !== undefined && before.news > 0;
  const asked = hasNews ? await queries.rows<Pick<InboxMessage, 'kind'>>(ASKED, [id]) : [];
  const decision = decide({ execution: before, ...askedBy(asked.map(({ kind }) => kind)) }, now);
  await writeAudit(queries, [auditOf(request, changedByCommand(before, decision), now)]);
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
    const end = { after: execution, now, outcome: CANCELLED_OUTCOME, leavesAwaits: true };
    await afterEnd(queries, before as ExecutionRecord, end);
  } else if (decision.message !== undefined) {
    await postMessage(queries, id, decision.message);
  }
  return { kind: 'done', status };
}

export function cancel(parts: Parts, request: Cancel): Promise<CommandAnswer> {
  return command(parts, request, (view, now) => decideCancel(view, request, now));
}

export function pause(parts: Parts, request: Command): Promise<CommandAnswer> {
  return command(parts, request, (view, now) => decidePause(view, request, now));
}

export function resume(parts: Parts, request: Command): Promise<CommandAnswer> {
  return command(parts, request, (view, now) => decideResume(view, request, now));
}

export function signal(parts: Parts, request: Signal): Promise<CommandAnswer> {
  return command(parts, request, (view, now) => decideSignal(view, request, now));
}
