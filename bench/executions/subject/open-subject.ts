// Opens Holdfast as users do: with a durable store, an observer and validated inputs.

import type { Context } from '../../../src/engine/context.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { Schema } from '../../../src/engine/values/schema.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../../src/store/sqlite/open-memory.ts';
import { demand } from '../../floor.ts';
import type { StoreLocation } from '../store-location.ts';
import { Watch } from './watch.ts';

export interface Subject {
  readonly holdfast: Holdfast;
  readonly store: CoordinatorStore;
  readonly watch: Watch;
  close(): Promise<void>;
}

export interface Order {
  readonly text: string;
}

/** With its quotes and envelope it has 200 bytes, like the payload of a spike. */
export const TEXT: string = 'a'.repeat(184);

export const ORDER: Order = { text: TEXT };

/** A minimal schema that still checks the value. */
export const ORDER_SCHEMA: Schema<Order> = {
  '~standard': {
    version: 1,
    vendor: 'bench',
    validate(value) {
      const isOrder = typeof (value as Partial<Order> | null)?.text === 'string';
      return isOrder
        ? { value: value as Order }
        : { issues: [{ message: 'must be a string', path: ['text'] }] };
    },
  },
};

export async function openSubject(location: StoreLocation, part?: string): Promise<Subject> {
  const store = await openStore(location, part);
  const watch = new Watch();
  const holdfast = new Holdfast({ store, observer: watch });
  if (location.kind !== 'memory') await demandDurable(holdfast);
  return {
    holdfast,
    store,
    watch,
    close: async () => {
      await holdfast.close();
      await store.close();
    },
  };
}

/** `part` distinguishes several stores at one location. */
export function openStore(
  location: StoreLocation,
  part?: string,
): CoordinatorStore | Promise<CoordinatorStore> {
  switch (location.kind) {
    case 'memory':
      return openMemoryStore();
    case 'sqlite':
      return openSqliteStore({ file: fileOf(location, part) });
    case 'postgres':
      return openPostgresStore({ url: location.url, schema: schemaOf(part) });
  }
}

export function fileOf(
  location: Extract<StoreLocation, { kind: 'sqlite' }>,
  part?: string,
): string {
  return part === undefined ? location.file : `${location.file}-${part}`;
}

export function schemaOf(part?: string): string {
  return part === undefined ? 'holdfast' : `holdfast_${part}`;
}

export function stepsPipeline(steps: number): Pipeline<Order, string> {
  return pipeline<Order, string>({
    name: `steps-${steps}`,
    input: ORDER_SCHEMA,
    run: async (ctx, { text }) => {
      for (let step = 0; step < steps; step += 1) await ctx.step('s', () => text);
      return text;
    },
  });
}

/** Runs `query` in a transaction, on the connection of the store. */
export async function onStoreConnection<Result>(
  holdfast: Holdfast,
  query: (connection: never) => Result | Promise<Result>,
): Promise<Result> {
  const probe = pipeline<null, Result>({
    name: 'probe',
    run: (ctx: Context) => ctx.transaction('probe', query),
  });
  const worker = await holdfast.worker({ pipelines: [probe] });
  try {
    return await (await holdfast.submit(probe, null)).result();
  } finally {
    await worker.stop();
  }
}

interface SqliteConnection {
  prepare(sql: string): { get(): Record<string, number | string> };
}

interface PostgresConnection {
  query(sql: string): Promise<{ rows: Record<string, string>[] }>;
}

/** Checks the settings on the connection of the store, instead of trusting `store.durability`. */
async function demandDurable(holdfast: Holdfast): Promise<void> {
  if (holdfast.store.kind === 'sqlite') {
    const found = await onStoreConnection(holdfast, (connection: SqliteConnection) => ({
      ...connection.prepare('select * from pragma_synchronous').get(),
      ...connection.prepare('select * from pragma_journal_mode').get(),
    }));
    demand(found, { synchronous: 2, journal_mode: 'wal' });
    return;
  }
  const found = await onStoreConnection(holdfast, async (connection: PostgresConnection) => {
    const { rows } = await connection.query(
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit`,
    );
    return rows[0] ?? {};
  });
  demand(found, { fsync: 'on', synchronous_commit: 'on' });
}
