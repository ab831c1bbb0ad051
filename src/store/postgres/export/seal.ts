import { describeSeal, type Seal } from '../../../features/export/model.ts';
import type {
  SealRequest,
  SealResult,
  UnsealRequest,
  UnsealResult,
} from '../../../features/export/port.ts';
import { sealedTables } from '../../../features/export/rows.ts';
import { UNSEALED_EPOCHS } from '../../../lease/fence.ts';
import { StoreSealed } from '../../../support/fault.ts';
import { forgetSeal, readSeal as read, seal as sealing } from '../../sql/seal.ts';
import { type Queries, SEALED_STATE, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { liftFences } from '../recover.ts';

const TABLES = sealedTables('postgres');

// Waits for every transaction that has written, and keeps new ones waiting (EX-2). A write under
// way commits before the seal and is exported, or meets the triggers later.
const LOCK_ALL = statement(
  `lock table ${TABLES.map((name) => `hf.${name}`).join(', ')} in share row exclusive mode`,
);

/**
 * Other transactions may lock in another order. The first one to give up lets the others continue.
 */
const GIVE_UP_SOON = statement("set local lock_timeout = '2s'");

export function readSeal(queries: Queries): Promise<Seal | undefined> {
  return play(queries, read());
}

/**
 * Throws instead of any other refusal: when a store opens (EX-7), and after a refusal that read
 * rows which the seal ended.
 */
export async function refuseSealed(queries: Queries): Promise<void> {
  const found = await readSeal(queries);
  if (found !== undefined) throw new StoreSealed(describeSeal(found));
}

export async function lockAll(queries: Queries): Promise<void> {
  await queries.rows(GIVE_UP_SOON, []);
  await queries.rows(LOCK_ALL, []);
}

/** Runs in its own transaction. */
export async function seal(queries: Queries, request: SealRequest): Promise<SealResult> {
  const before = await readSeal(queries);
  if (before !== undefined) return { kind: 'already', seal: before };
  await lockAll(queries);
  const result = await play(queries, sealing(request));
  if (result.kind === 'sealed') await closeTables(queries, describeSeal(result.seal));
  return result;
}

/**
 * Adds triggers that refuse writes of every build, and of other programs. They are created only
 * now, so that an open store does not pay for them.
 */
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

async function openTables(queries: Queries): Promise<void> {
  for (const table of TABLES) {
    await queries.rows(statement(`drop trigger if exists sealed on hf.${table}`), []);
  }
  await queries.rows(statement('drop function if exists hf.refuse_sealed()'), []);
}

/** Runs in its own transaction. */
export async function unseal(queries: Queries, request: UnsealRequest): Promise<UnsealResult> {
  await lockAll(queries);
  const was = await readSeal(queries);
  if (was === undefined) return { kind: 'refused', why: 'not-sealed' };
  await openTables(queries);
  await play(queries, forgetSeal());
  const { actor, reason } = request;
  const raising = { actor, reason: `unsealed: ${reason}`, endHalt: true };
  const epoch = await liftFences(queries, raising, UNSEALED_EPOCHS);
  return { kind: 'unsealed', epoch, was };
}
