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
import { PREVIOUS_CODES, SAGA_CODES, STATUS_CODES } from '../../execution-rows.ts';
import { raiseEpoch } from '../recover.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const READ = 'select sealed from meta where id = 1';

const KEEP = `
  update meta
     set sealed = :sealed
   where id = 1`;

// EX-3: what a session runs that has not ended, nor any above it. What the dead left is lost, as it was.
const HELD = `
         status = ${STATUS_CODES.running}
     and exists (select 1 from session as holder where holder.id = execution.session_id)
     and not exists (
           select 1
             from session as holder
             join json_each(holder.path) as step
             left join session as member on member.id = step.value
            where holder.id = execution.session_id
              and (member.id is null or member.ended_at is not null))`;

const LAST_SEQ = '(select max(last.seq) from history as last where last.row_id = execution.row_id)';

const TELL_GIVEN_BACK = `
  insert into history (row_id, seq, at, kind, body)
  select row_id, ${LAST_SEQ} + 1, :now, :kind, :body
    from execution
   where ${HELD}`;

const GIVE_BACK = `
  update execution
     set status = ${STATUS_CODES.queued},
         session_id = null,
         ready_at = :now,
         previous = ${PREVIOUS_CODES['given-back']},
         seq = ${LAST_SEQ},
         saga = case when saga = ${SAGA_CODES.none} and exists (
                       select 1 from history as done
                        where done.row_id = execution.row_id and instr(done.body, :owes) > 0)
                     then ${SAGA_CODES.compensable} else saga end
   where ${HELD}`;

const HELD_UNTIL = 'select max(expires_at) as until from session where ended_at is null';

const TELL_ENDED = `
  insert into event (at, kind, session_id, owner, detail)
  select :now, 'session-ended', id, owner, json_object('exit', 'revoked', 'cause', :cause, 'actor', :actor)
    from session
   where ended_at is null
   order by id`;

const END_ALL = `
  update session
     set ended_at = :now,
         exit = 'revoked',
         cause = :cause,
         actor = :actor
   where ended_at is null`;

export function readSeal(tx: Pick<ReadTransaction, 'get'>): Seal | undefined {
  const sealed = tx.get<{ sealed: string | null }>(READ)?.sealed ?? null;
  return sealed === null ? undefined : (JSON.parse(sealed) as Seal);
}

/** Under the file's write lock, so what others wrote is before it, or is refused. */
export function seal(tx: Transaction, request: SealRequest): SealAnswer {
  const known = readSeal(tx);
  if (known !== undefined) return { kind: 'already', seal: known };
  const { now } = tx;
  const { id, actor, reason, to } = request;
  const until = tx.get<{ until: number | null }>(HELD_UNTIL)?.until ?? now;
  const heldUntil = Math.max(now, until) as Instant;
  const made: Seal = { id, at: now, actor, reason, to, heldUntil };
  const { kind, body = null } = GIVEN_BACK_BY_SEAL;
  tx.run(TELL_GIVEN_BACK, { now, kind, body });
  tx.run(GIVE_BACK, { now, owes: OWES_COMPENSATION });
  tx.run(TELL_ENDED, { now, cause: sealCause(made), actor });
  tx.run(END_ALL, { now, cause: sealCause(made), actor });
  tx.forgetSessions();
  tx.run(KEEP, { sealed: JSON.stringify(made) });
  closeTables(tx, describeSeal(made));
  return { kind: 'sealed', seal: made };
}

const VERBS = ['insert', 'update', 'delete'] as const;

/** For writers of whatever build, and for those of none. Made now, so that nobody pays for it before. */
function closeTables(tx: Transaction, sentence: string): void {
  const text = `'${sentence.replaceAll("'", "''")}'`;
  for (const { table, verb, name } of triggers()) {
    tx.connection.execute(
      `create trigger ${name} before ${verb} on ${table} begin select raise(abort, ${text}); end`,
    );
  }
}

export function openTables(tx: Transaction): void {
  for (const { name } of triggers()) tx.connection.execute(`drop trigger if exists ${name}`);
}

function triggers(): readonly {
  readonly table: string;
  readonly verb: string;
  readonly name: string;
}[] {
  return sealedTables('sqlite').flatMap((table) =>
    VERBS.map((verb) => ({ table, verb, name: `sealed_${table}_${verb}` })),
  );
}

const FORGET = `
  update meta
     set sealed = null
   where id = 1`;

export function unseal(tx: Transaction, request: UnsealRequest): UnsealAnswer {
  const was = readSeal(tx);
  if (was === undefined) return { kind: 'refused', why: 'not-sealed' };
  openTables(tx);
  tx.run(FORGET);
  const { actor, reason } = request;
  const { epoch } = raiseEpoch(tx, { actor, reason: `unsealed: ${reason}` }, UNSEALED_EPOCHS);
  return { kind: 'unsealed', epoch, was };
}
