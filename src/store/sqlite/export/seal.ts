import { describeSeal, type Seal } from '../../../features/export/model.ts';
import type {
  SealRequest,
  SealResult,
  UnsealRequest,
  UnsealResult,
} from '../../../features/export/port.ts';
import { sealedTables } from '../../../features/export/rows.ts';
import { UNSEALED_EPOCHS } from '../../../lease/fence.ts';
import type { Instant } from '../../../support/clock.ts';
import { forgetSeal, readSeal as read, seal as sealing } from '../../sql/seal.ts';
import type { Connection } from '../connection.ts';
import { play } from '../gateway.ts';
import { raiseEpoch } from '../recover.ts';
import type { Transaction } from '../transaction.ts';

export function readSeal(connection: Connection): Seal | undefined {
  return play({ now: 0 as Instant, all: (text, values) => connection.all(text, values) }, read());
}

/** The caller holds the file's write lock. */
export function seal(tx: Transaction, request: SealRequest): SealResult {
  const result = play(tx, sealing(request));
  if (result.kind === 'sealed') {
    tx.forgetSessions();
    closeTables(tx, describeSeal(result.seal));
  }
  return result;
}

const VERBS = ['insert', 'update', 'delete'] as const;

/**
 * Adds triggers that refuse writes of every build, and of other programs. They are created only
 * now, so that an open store does not pay for them.
 */
function closeTables(tx: Transaction, sentence: string): void {
  const text = `'${sentence.replaceAll("'", "''")}'`;
  for (const { table, verb, name } of triggers()) {
    tx.connection.execute(
      `create trigger ${name} before ${verb} on ${table} begin select raise(abort, ${text}); end`,
    );
  }
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

export function unseal(tx: Transaction, request: UnsealRequest): UnsealResult {
  const was = play(tx, read());
  if (was === undefined) return { kind: 'refused', why: 'not-sealed' };
  for (const { name } of triggers()) tx.connection.execute(`drop trigger if exists ${name}`);
  play(tx, forgetSeal());
  const { actor, reason } = request;
  const { epoch } = raiseEpoch(tx, { actor, reason: `unsealed: ${reason}` }, UNSEALED_EPOCHS);
  return { kind: 'unsealed', epoch, was };
}
