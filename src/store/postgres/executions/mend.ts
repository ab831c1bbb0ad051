// Repairs of what is provable, each a transaction (Z-4). With the row locked it looks again: since it was found
// somebody may have gone on.

import { judgePlace, takenFromNobody } from '../../../features/reconcile/decide.ts';
import type { InvariantName, Violation } from '../../../features/reconcile/model.ts';
import type { SessionId } from '../../../lease/names.ts';
import { chainState } from '../../../lease/session.ts';
import type { Instant } from '../../../support/clock.ts';
import { PREVIOUS_CODES, STATUS_CODES, toExecution } from '../../execution-rows.ts';
import { placeFacts } from '../../sql/reconcile.ts';
import { persistently } from '../committer.ts';
import { type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { loadChains } from '../load-view.ts';
import { sweep } from '../sweep.ts';
import { WAITING_MENDS } from './mend-waiting.ts';
import type { Parts } from './parts.ts';
import { handOn, lockPlaceOf } from './places.ts';
import { appendEvents, lockExecution, saveExecution } from './rows.ts';

type Mend = (queries: Queries, violation: Violation) => Promise<boolean>;

const SWEEP_MAX = 100;

const READY_NOW = statement(`
  update hf.execution e
     set ready_at = hf_now()
   where e.id = $1
     and coalesce(e.status = 0, false)
     and e.ready_at is null
  returning e.id`);

const PUT_OFF = statement(`
  update hf.schedule s
     set next_at = null
   where s.project = $1
     and s.id = $2
     and s.paused
     and s.next_at is not null
  returning s.id`);

const LAST_SEQ = statement(`
  select h.seq
    from hf.history h
   where h.execution_id = $1
   order by h.seq desc
   limit 1`);

const NOW = statement('select hf_now() as now');

const MENDS: Readonly<Partial<Record<InvariantName, Mend>>> = {
  ...WAITING_MENDS,
  'run-by-nobody': async (queries, { execution: id }) => {
    const row = id === undefined ? undefined : await lockExecution(queries, id);
    if (id === undefined || row?.status !== STATUS_CODES.running || row.session_id !== null)
      return false;
    const [last] = await queries.rows<{ seq: number }>(LAST_SEQ, [id]);
    const now = row.now as Instant;
    const taken = takenFromNobody(toExecution(row), last?.seq ?? 0, now);
    await saveExecution(queries, taken.execution, PREVIOUS_CODES['given-back']);
    await appendEvents(queries, id, [taken.event]);
    return true;
  },
  'places-miscounted': countAnew,
  'place-not-given': countAnew,
  'paused-schedule-with-time': async (queries, { project, about }) =>
    (await queries.rows(PUT_OFF, [project, about])).length > 0,
  'queued-without-time': async (queries, { execution }) =>
    (await queries.rows(READY_NOW, [execution])).length > 0,
};

/** Whether it was repaired. */
export async function mend(parts: Parts, violation: Violation): Promise<boolean> {
  const { invariant, about } = violation;
  // Sweeping is many transactions.
  if (invariant === 'overdue-not-swept') return sweepFor(parts, about as SessionId);
  const act = MENDS[invariant];
  if (act === undefined) return false;
  return persistently(parts.surroundings, () =>
    parts.database.attempt(async (queries) => {
      const result = await act(queries, violation);
      return { keep: result, result };
    }, parts.boundaries),
  );
}

async function sweepFor({ database, policy }: Parts, session: SessionId): Promise<boolean> {
  // One sweep may have ended several that were found.
  if (await isEnded(database, session)) return true;
  await sweep(database, policy, { limit: SWEEP_MAX });
  return isEnded(database, session);
}

async function isEnded(queries: Queries, session: SessionId): Promise<boolean> {
  const { now, chains } = await loadChains(queries, [session]);
  return chainState(chains[0] ?? [], now) === 'ended';
}

/** Z-14: the executions say what is true. Counted when the key is locked: whoever has or had it is done. */
async function countAnew(queries: Queries, { project, about = '' }: Violation): Promise<boolean> {
  if (project === undefined) return false;
  const entry = await lockPlaceOf(queries, project, about);
  const facts = await play(queries, placeFacts(project, about));
  if (entry === undefined || facts === undefined) return false;
  if (judgePlace(facts).length === 0) return false;
  const [row] = await queries.rows<{ now: Instant }>(NOW, []);
  const now = row?.now ?? (0 as Instant);
  await handOn(queries, { entry, taken: facts.held, now });
  return true;
}
