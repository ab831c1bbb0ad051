// Holdfast as people use it: a store on the disk, an observer, inputs that are validated.

import type { Context } from '../../../src/engine/context.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { Schema } from '../../../src/engine/values/schema.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../../src/store/sqlite/open-memory.ts';
import { demand } from '../../floor.ts';
import type { Place } from '../place.ts';
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

/** As much as a spike carries: 200 bytes with the quotes and the envelope. */
export const TEXT: string = 'a'.repeat(184);

export const ORDER: Order = { text: TEXT };

/** As small as a schema can be, and still looking at the value. */
export const ORDER_SCHEMA: Schema<Order> = {
  '~standard': {
    version: 1,
    vendor: 'bench',
    validate(value) {
      const isOrder = typeof (value as Partial<Order> | null)?.text === 'string';
      return isOrder
        ? { value: value as Order }
        : { issues: [{ message: 'must be a text', path: ['text'] }] };
    },
  },
};

export async function openSubject(place: Place, part?: string): Promise<Subject> {
  const store = await openStore(place, part);
  const watch = new Watch();
  const holdfast = new Holdfast({ store, observer: watch });
  if (place.kind !== 'memory') await demandDurable(holdfast);
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

/** `part` tells several stores in one place apart. */
export function openStore(
  place: Place,
  part?: string,
): CoordinatorStore | Promise<CoordinatorStore> {
  switch (place.kind) {
    case 'memory':
      return openMemoryStore();
    case 'sqlite':
      return openSqliteStore({ file: fileOf(place, part) });
    case 'postgres':
      return openPostgresStore({ url: place.url, schema: schemaOf(part) });
  }
}

export function fileOf(place: Extract<Place, { kind: 'sqlite' }>, part?: string): string {
  return part === undefined ? place.file : `${place.file}-${part}`;
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

/** Runs `ask` in a transaction of the store, on the connection that the store itself uses. */
export async function onStoreConnection<Answer>(
  holdfast: Holdfast,
  ask: (connection: never) => Answer | Promise<Answer>,
): Promise<Answer> {
  const probe = pipeline<null, Answer>({
    name: 'probe',
    run: (ctx: Context) => ctx.transaction('probe', ask),
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

/** Asked on the store's own connection, whatever the store says of itself. */
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
