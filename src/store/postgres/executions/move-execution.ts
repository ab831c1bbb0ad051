import { routeOf } from '../../../execution/route.ts';
import { auditOf, changedByMove } from '../../../features/audit/decide.ts';
import { decideMove } from '../../../features/releases/decide.ts';
import type { ExecutionMoved, MoveExecution } from '../../../features/releases/port.ts';
import type { Instant } from '../../../support/clock.ts';
import { toExecution } from '../../execution-rows.ts';
import { readRelease } from '../../sql/releases.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { writeAudit } from './audit.ts';
import { noteAnswers, storedAnswers } from './jobs.ts';
import type { Parts } from './parts.ts';
import { appendEvents, holdsOf, lockExecution } from './rows.ts';

// RE-6: whoever retires it waits until this is over, or was before.
const SHARE = statement(
  'select r.name from hf.release r where r.project = $1 and r.pipeline = $2 and r.name = $3 for share of r',
);

const MOVE = statement(`
  update hf.execution e
     set pipeline = $2,
         hold     = $3,
         seq      = $4
   where e.id = $1`);

export async function moveExecution(parts: Parts, request: MoveExecution): Promise<ExecutionMoved> {
  const answer = await persistently(parts.surroundings, () =>
    parts.database.attempt((queries) => moveOnce(queries, request), parts.boundaries),
  );
  if (answer.kind === 'moved') parts.bell.ring();
  return answer;
}

/** Y-23: what is asked for a job is answered as the first time, refusals too. */
async function moveOnce(
  queries: Queries,
  request: MoveExecution,
): Promise<Attempted<ExecutionMoved>> {
  const { id, job } = request;
  if (job === undefined) return move(queries, request);
  const of = { job, target: id };
  const [stored] = (await storedAnswers<ExecutionMoved>(queries, [of])).values();
  if (stored !== undefined) return { keep: false, result: stored };
  const { result } = await move(queries, request);
  await noteAnswers(queries, [{ of, answer: result }]);
  return { keep: true, result };
}

async function move(queries: Queries, request: MoveExecution): Promise<Attempted<ExecutionMoved>> {
  const { id, project, to: name } = request;
  const row = await lockExecution(queries, id);
  const before = row === undefined ? undefined : toExecution(row);
  const now = (row?.now ?? 0) as Instant;
  const pipeline = before?.pipeline;
  if (pipeline !== undefined) await queries.rows(SHARE, [project, pipeline, name]);
  const release =
    pipeline === undefined
      ? undefined
      : await play(queries, readRelease({ project, pipeline, name }));
  const decision = decideMove({ execution: before, release }, request, now);
  if (decision.kind === 'refuse') {
    return { keep: false, result: { kind: 'refused', ...decision.refusal } };
  }
  if (decision.kind === 'no-change' || before === undefined) {
    return { keep: false, result: { kind: 'no-change', id, release: name } };
  }
  const { execution, event } = decision;
  await queries.rows(MOVE, [id, routeOf(execution), holdsOf(execution), event.seq]);
  await appendEvents(queries, id, [event]);
  await writeAudit(queries, [auditOf(request, changedByMove(before, execution), now)]);
  return { keep: true, result: { kind: 'moved', id, release: name } };
}
