import {
  describeSeal,
  GIVEN_BACK_BY_SEAL,
  OWES_COMPENSATION,
  type Seal,
  sealCause,
} from '../../../features/export/model.ts';
import type {
  SealAnswer,
  SealRequest,
  UnsealAnswer,
  UnsealRequest,
} from '../../../features/export/port.ts';
import { sealedTables } from '../../../features/export/tables-rows.ts';
import { UNSEALED_EPOCHS } from '../../../lease/fence.ts';
import type { Instant } from '../../../support/clock.ts';
import { StoreSealed } from '../../../support/fault.ts';
import { PREVIOUS_CODES, SAGA_CODES, STATUS_CODES } from '../../execution-rows.ts';
import { type Queries, SEALED_STATE, statement } from '../database.ts';
import { liftFences } from '../recover.ts';

const TABLES = sealedTables('postgres');

// EX-2: waits for every transaction that has written and keeps new ones waiting. What was under way is
// committed before the seal, and so exported, or finds the triggers when it goes on.
const LOCK_ALL = statement(
  `lock table ${TABLES.map((name) => `hf.${name}`).join(', ')} in share row exclusive mode`,
);

/** Others may lock in another order; whoever gives up first lets the others go on. */
const GIVE_UP_SOON = statement("set local lock_timeout = '2s'");

const READ = statement('select m.sealed from hf.meta m where m.id = 1');

const KEEP = statement(`
  update hf.meta m
     set sealed = $1
   where m.id = 1`);

const HELD_UNTIL = statement(`
  select hf_now() as now, max(s.expires_at) as until
    from hf.session s
   where s.ended_at is null`);

// EX-3: what a session runs that has not ended, nor any above it. What the dead left is lost, as it was.
const GIVE_BACK = statement(`
  with held as materialized (
    select e.id, (select max(h.seq) from hf.history h where h.execution_id = e.id) + 1 as seq,
           exists (select from hf.history h where h.execution_id = e.id and strpos(h.body, $4) > 0) as owes
      from hf.execution e
     where e.status = ${STATUS_CODES.running}
       and exists (select from hf.session h where h.id = e.session_id)
       and not exists (
             select
               from hf.session h
              cross join lateral unnest(h.path) as p(id)
               left join hf.session a on a.id = p.id
              where h.id = e.session_id
                and (a.id is null or a.ended_at is not null))
  ),
  told as (
    insert into hf.history (execution_id, seq, at, kind, body)
    select held.id, held.seq, $1, $2, $3
      from held
  )
  update hf.execution e
     set status     = ${STATUS_CODES.queued},
         session_id = null,
         ready_at   = $1,
         wake_after = 0,
         previous   = ${PREVIOUS_CODES['given-back']},
         seq        = held.seq,
         saga       = case when e.saga = ${SAGA_CODES.none} and held.owes then ${SAGA_CODES.compensable} else e.saga end
    from held
   where e.id = held.id`);

const END_ALL = statement(`
  with ended as (
    update hf.session s
       set ended_at = $1,
           exit     = 'revoked',
           cause    = $2,
           actor    = $3
     where s.ended_at is null
    returning s.id, s.owner
  )
  insert into hf.event (at, kind, session_id, owner, detail)
  select $1, 'session-ended', ended.id, ended.owner,
         jsonb_build_object('exit', 'revoked', 'cause', $2::text, 'actor', $3::text)
    from ended
   order by ended.id`);

export async function readSeal(queries: Queries): Promise<Seal | undefined> {
  const [row] = await queries.rows<{ sealed: string | null }>(READ, []);
  return row?.sealed ? (JSON.parse(row.sealed) as Seal) : undefined;
}

/** Instead of whatever else would be said: at the start (EX-7), and where a refusal was read from what the seal ended. */
export async function refuseSealed(queries: Queries): Promise<void> {
  const found = await readSeal(queries);
  if (found !== undefined) throw new StoreSealed(describeSeal(found));
}

export async function lockAll(queries: Queries): Promise<void> {
  await queries.rows(GIVE_UP_SOON, []);
  await queries.rows(LOCK_ALL, []);
}

/** In a transaction of its own. */
export async function seal(queries: Queries, request: SealRequest): Promise<SealAnswer> {
  const before = await readSeal(queries);
  if (before !== undefined) return { kind: 'already', seal: before };
  await lockAll(queries);
  const known = await readSeal(queries);
  if (known !== undefined) return { kind: 'already', seal: known };
  const [row] = await queries.rows<{ now: number; until: number | null }>(HELD_UNTIL, []);
  const now = (row?.now ?? 0) as Instant;
  const heldUntil = Math.max(now, row?.until ?? 0) as Instant;
  const { id, actor, reason, to } = request;
  const made: Seal = { id, at: now, actor, reason, to, heldUntil };
  const { kind, body } = GIVEN_BACK_BY_SEAL;
  await queries.rows(GIVE_BACK, [now, kind, body, OWES_COMPENSATION]);
  await queries.rows(END_ALL, [now, sealCause(made), actor]);
  await queries.rows(KEEP, [JSON.stringify(made)]);
  await closeTables(queries, describeSeal(made));
  return { kind: 'sealed', seal: made };
}

/** For writers of whatever build, and for those of none. Made now, so that nobody pays for it before. */
async function closeTables(queries: Queries, sentence: string): Promise<void> {
  const text = `'${sentence.replaceAll("'", "''")}'`;
  const body = `begin raise exception using errcode = '${SEALED_STATE}', message = ${text}; end`;
  const quoted = `'${body.replaceAll("'", "''")}'`;
  await queries.rows(
    statement(
      `create or replace function hf.refuse_sealed() returns trigger language plpgsql as ${quoted}`,
    ),
    [],
  );
  for (const table of TABLES) {
    await queries.rows(
      statement(
        `create trigger sealed before insert or update or delete or truncate on hf.${table} for each statement execute function hf.refuse_sealed()`,
      ),
      [],
    );
  }
}

export async function openTables(queries: Queries): Promise<void> {
  for (const table of TABLES) {
    await queries.rows(statement(`drop trigger if exists sealed on hf.${table}`), []);
  }
  await queries.rows(statement('drop function if exists hf.refuse_sealed()'), []);
}

const FORGET = statement(`
  update hf.meta m
     set sealed = null
   where m.id = 1`);

/** In a transaction of its own. */
export async function unseal(queries: Queries, request: UnsealRequest): Promise<UnsealAnswer> {
  await lockAll(queries);
  const was = await readSeal(queries);
  if (was === undefined) return { kind: 'refused', why: 'not-sealed' };
  await openTables(queries);
  await queries.rows(FORGET, []);
  const { actor, reason } = request;
  const raising = { actor, reason: `unsealed: ${reason}`, endHalt: true };
  const epoch = await liftFences(queries, raising, UNSEALED_EPOCHS);
  return { kind: 'unsealed', epoch, was };
}
