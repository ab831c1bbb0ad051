// The minimum that a durable engine must do on PostgreSQL. Claims create a fence. Steps and ends lock
// their execution, check the fence and write one row of history. Each statement covers all writes that
// are waiting.
//
//   PGURL=postgres://… node bench/executions/floor-postgres.ts <executions> <in flight> <steps>

import pg from 'pg';
import { demand, readPostgresSettings } from '../floor.ts';
import { type FloorStore, type Held, PAYLOAD, runFloor } from './floor-load.ts';

const [, , executions, inFlight, steps] = process.argv;

const pool = new pg.Pool({ connectionString: process.env['PGURL'], max: 5 });
demand(await readPostgresSettings(pool), { fsync: 'on', synchronous_commit: 'on' });
await pool.query(`
  create sequence fence;
  create table execution (id bigint primary key, state smallint not null, fence bigint, output bytea)
    with (fillfactor = 70);
  create index execution_queued on execution (id) where state = 0;
  create table event (execution bigint, seq integer, at timestamptz default clock_timestamp(), body bytea,
                      primary key (execution, seq));
`);

const CLAIM = `
  with queued as (
    select id from execution where state = 0 order by id limit $1 for no key update skip locked
  )
  update execution e set state = 1, fence = nextval('fence')
    from queued where e.id = queued.id
  returning e.id::integer, e.fence::integer`;

const WRITES =
  'unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bytea[]) as a(id, fence, seq, body)';

/** The lock orders this write and a claim by another process: one of them waits for the other. */
const STEP = `
  with a as materialized (select * from ${WRITES}),
  held as (
    select e.id from execution e join a on a.id = e.id and a.fence = e.fence
     where e.state = 1 order by e.id for no key update of e
  )
  insert into event (execution, seq, body)
  select a.id, a.seq, a.body from held join a using (id)
  returning execution::integer as id`;

const FINISH = `
  with ended as (
    update execution e set state = 2, output = a.body from ${WRITES}
     where e.id = a.id and e.fence = a.fence and e.state = 1
    returning e.id, a.seq
  )
  insert into event (execution, seq) select id, seq from ended
  returning execution::integer as id`;

interface PendingWrite {
  readonly held: Held;
  readonly seq: number;
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (reason: unknown) => void;
}

const BATCH_MAX = 1_000;

/** Runs at most `flushes` statements at a time. Writes that arrive meanwhile form the next one. */
function batched(name: string, text: string, flushes: number): FloorStore['step'] {
  let pending: PendingWrite[] = [];
  let free = flushes;
  let isScheduled = false;
  const schedule = (): void => {
    if (isScheduled || free === 0 || pending.length === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void flush();
    });
  };
  const flush = async (): Promise<void> => {
    const batch = pending.slice(0, BATCH_MAX).sort((a, b) => a.held.id - b.held.id);
    pending = pending.slice(BATCH_MAX);
    free -= 1;
    const values = [
      batch.map(({ held }) => held.id),
      batch.map(({ held }) => held.fence),
      batch.map(({ seq }) => seq),
      batch.map(() => PAYLOAD),
    ];
    try {
      const { rows } = await pool.query<{ id: number }>({ name, text, values });
      const done = new Set(rows.map(({ id }) => id));
      for (const { held, resolve } of batch) resolve(done.has(held.id));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    free += 1;
    schedule();
  };
  return (held, seq) =>
    new Promise((resolve, reject) => {
      pending.push({ held, seq, resolve, reject });
      schedule();
    });
}

const store: FloorStore = {
  submit: async (count) => {
    await pool.query(
      'insert into execution (id, state) select id, 0 from generate_series(1, $1) id',
      [count],
    );
  },
  claim: async (limit) =>
    (await pool.query<Held>({ name: 'claim', text: CLAIM, values: [limit] })).rows,
  step: batched('step', STEP, 2),
  finish: batched('finish', FINISH, 1),
  close: () => pool.end(),
};

await runFloor(store, {
  executions: Number(executions),
  inFlight: Number(inFlight),
  steps: Number(steps),
});
