// Memory stores for tests that open thousands of them. Creating the tables takes longer than most
// of these tests, so the database of a closed store is emptied and reused.

import { resolvePolicy } from '../../src/lease/policy.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { Database } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import type { MemoryStoreOptions } from '../../src/store/sqlite/open-memory.ts';
import { portsOf } from '../../src/store/sqlite/ports.ts';
import { systemClock } from '../../src/support/clock.ts';
import { systemRandom } from '../../src/support/random.ts';
import { atEndOfTurn, systemTimers } from '../../src/support/timer.ts';

const unused: ReusedConnection[] = [];

export interface FreshMemoryStore {
  readonly store: CoordinatorStore;
  /** For tests that break stored rows. */
  readonly connection: Connection;
}

/** Like `openMemoryStore`, in a quarter of its time. */
export function freshMemoryStore(options: MemoryStoreOptions = {}): FreshMemoryStore {
  const connection = unused.pop() ?? new ReusedConnection();
  const policy = resolvePolicy(options.policy);
  const database = new Database(connection, {
    policy,
    clock: options.clock ?? systemClock,
    timers: { ...systemTimers, soon: atEndOfTurn },
    random: systemRandom,
    busyTimeoutMs: 0,
  });
  const about = { durability: 'until the process ends', hintsReach: 'all-processes' } as const;
  return { connection, store: { kind: 'memory', policy, ...about, ...portsOf(database) } };
}

const TABLES = `
  select name from sqlite_schema where type = 'table' and name not in ('meta', 'migration')`;

class ReusedConnection extends Connection {
  readonly #schema: number;
  readonly #empty: string;

  constructor() {
    super(':memory:');
    migrate(this, ':memory:');
    this.#schema = this.#schemaVersion();
    const meta = this.get<Record<string, number | null>>('select * from meta') ?? {};
    const columns = Object.entries(meta).map(([name, value]) => `${name} = ${value}`);
    const deletions = this.all<{ name: string }>(TABLES).map(({ name }) => `delete from ${name};`);
    this.#empty = `begin; update meta set ${columns}; ${deletions.join('\n')} commit`;
  }

  /**
   * A seal, or the code of a transaction, may have changed the tables themselves. Such a database
   * is not reused.
   */
  override close(): void {
    if (this.#schemaVersion() !== this.#schema) {
      super.close();
      return;
    }
    // Drops cached knowledge of the rows.
    this.undo();
    this.execute(this.#empty);
    unused.push(this);
  }

  #schemaVersion(): number {
    return this.get<{ schema_version: number }>('pragma schema_version')?.schema_version ?? 0;
  }
}
