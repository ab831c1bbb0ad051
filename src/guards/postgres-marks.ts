// Marks for an HTTP server of several processes. A request under the newest fence holds its mark
// with FOR SHARE until it leaves: requests of one term pass side by side, and a raise, by whichever
// process, waits until the requests under lower fences have left.

import { rejectUnknownOptions, wholeNumber } from '../support/options.ts';
import { type Fenced, parseFenced, parseMark, type Stale } from './mark.ts';
import { type EnterAnswer, type Marks, PATIENCE_MS, PATIENCE_MS_MAX } from './marks.ts';
import {
  fenceIn,
  type PostgresConnection,
  type PostgresPool,
  type PostgresPoolClient,
} from './postgres-connection.ts';
import { DEFAULT_TABLE, DOLLAR, type MarkStatements, markStatements } from './sql.ts';

export interface PostgresMarksOptions {
  /** The table of a PostgresGuard. Default `holdfast_fence`. */
  readonly table?: string;
  /** How long a new holder waits for requests of the one before it. Default 10 s. */
  readonly patienceMs?: number;
}

/** SQLSTATE of a wait that `lock_timeout` ended. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Takes one connection of the pool for each request that is inside. */
export function postgresMarks(pool: PostgresPool, options: PostgresMarksOptions = {}): Marks {
  rejectUnknownOptions('postgresMarks', options, ['table', 'patienceMs']);
  const range = { min: 1, max: PATIENCE_MS_MAX };
  const patienceMs = wholeNumber('patienceMs', options.patienceMs ?? PATIENCE_MS, range);
  const sql = markStatements(options.table ?? DEFAULT_TABLE, DOLLAR);
  return {
    async enter(fenced) {
      const presented = parseFenced(fenced);
      const client = await pool.connect();
      // A connection that breaks while nobody queries it must not end the process.
      client.on('error', ignoreBrokenConnection);
      try {
        const answer = await enterWith(client, presented, { sql, patienceMs });
        if (answer.kind === 'entered') {
          return { kind: 'entered', leave: once(() => leaveWith(client)) };
        }
        giveBack(client, false);
        return answer;
      } catch (error) {
        giveBack(client, true);
        throw error;
      }
    },
  };
}

interface Terms {
  readonly sql: MarkStatements;
  readonly patienceMs: number;
}

type Outcome = Exclude<EnterAnswer, { kind: 'entered' }> | { readonly kind: 'entered' };

async function enterWith(
  client: PostgresConnection,
  { key, fence }: Fenced,
  { sql, patienceMs }: Terms,
): Promise<Outcome> {
  for (;;) {
    await client.query('begin isolation level read committed', []);
    const shared = await client.query(`${sql.read} for share`, [key]);
    const mark = shared.rows.length === 0 ? 0 : parseMark(key, fenceIn(shared.rows));
    if (mark === fence) return { kind: 'entered' };
    // Given up before the raise: two that hold a share and want to raise would wait for each other.
    await client.query('rollback', []);
    if (mark !== 0 && mark > fence) return stale({ key, fence }, mark);
    if (!(await raise(client, { key, fence }, { sql, patienceMs }))) {
      return { kind: 'busy', resource: key };
    }
  }
}

/** False when patience ended. A raise that found a higher mark is seen by the next look at it. */
async function raise(
  client: PostgresConnection,
  { key, fence }: Fenced,
  { sql, patienceMs }: Terms,
): Promise<boolean> {
  await client.query('begin isolation level read committed', []);
  try {
    await client.query("select set_config('lock_timeout', $1, true)", [String(patienceMs)]);
    await client.query(sql.raise, [key, fence]);
    await client.query('commit', []);
    return true;
  } catch (error) {
    await client.query('rollback', []);
    if (isLockTimeout(error)) return false;
    throw error;
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE;
}

function stale({ key, fence }: Fenced, newest: Stale['newest']): Stale {
  return { kind: 'stale', resource: key, presented: fence, newest };
}

async function leaveWith(client: PostgresPoolClient): Promise<void> {
  try {
    await client.query('commit', []);
    giveBack(client, false);
  } catch {
    // Without a connection nothing is held any more, which is what leaving is for.
    giveBack(client, true);
  }
}

function giveBack(client: PostgresPoolClient, destroy: boolean): void {
  client.off('error', ignoreBrokenConnection);
  client.release(destroy);
}

function ignoreBrokenConnection(): void {}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= action();
    return done;
  };
}
