// The minimum that a bulk re-drive must do on PostgreSQL. It reads a page of dead letters with their
// histories. For each letter it writes an execution, its history, an outcome and a mark.
//
//   node bench/redrive/floor-postgres.ts '{"kind":"postgres","url":…}' <letters>

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { demand, readPostgresSettings } from '../floor.ts';
import { EVENTS, PAGE, PAYLOAD, REUSED, runFloor } from './floor-page.ts';

const [, , location, letters] = process.argv;
const { url } = JSON.parse(location ?? '{}') as { readonly url: string };

const pool = new pg.Pool({ connectionString: url, max: 1 });
demand(await readPostgresSettings(pool), { fsync: 'on', synchronous_commit: 'on' });
await pool.query(`
  create table execution (id uuid primary key, of uuid, state smallint not null, input text not null);
  create unique index execution_of on execution (of) where state = 0;
  create table event (execution uuid, seq integer, at timestamptz default clock_timestamp(), body text,
                      primary key (execution, seq));
  create table letter (execution uuid primary key, made uuid);
  create index letter_open on letter (execution) where made is null;
  create table outcome (execution uuid primary key, made uuid not null);
`);

const FILL = `
  with made as (
    insert into execution (id, state, input) select gen_random_uuid(), 1, $2 from generate_series(1, $1) returning id
  ), events as (
    insert into event (execution, seq, body) select id, seq, $2 from made cross join generate_series(1, ${EVENTS}) seq
  )
  insert into letter (execution) select id from made`;

const READ = `
  select e.id, e.input, h.bodies
    from (select execution from letter where made is null order by execution limit ${PAGE} for update) l
    join execution e on e.id = l.execution
   cross join lateral (select array_agg(body order by seq) as bodies from event where execution = l.execution) h`;

const WRITE = `
  with page as materialized (select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) as a(id, made, input, body)),
  made as (insert into execution (id, of, state, input) select made, id, 0, input from page),
  events as (insert into event (execution, seq, body) select made, seq, body from page cross join generate_series(1, ${REUSED}) seq),
  outcomes as (insert into outcome (execution, made) select id, made from page)
  update letter l set made = a.made from page a where l.execution = a.id and l.made is null`;

interface Letter {
  readonly id: string;
  readonly input: string;
  readonly bodies: readonly string[];
}

await runFloor(
  {
    fill: async (count) => {
      await pool.query(FILL, [count, PAYLOAD]);
    },
    page: async () => {
      await pool.query('begin');
      const { rows } = await pool.query<Letter>({ name: 'read', text: READ });
      const values = [
        rows.map(({ id }) => id),
        rows.map(() => randomUUID()),
        rows.map(({ input }) => input),
        rows.map(({ bodies }) => bodies[0]),
      ];
      const { rowCount } = await pool.query({ name: 'write', text: WRITE, values });
      await pool.query('commit');
      return rowCount ?? 0;
    },
    close: () => pool.end(),
  },
  Number(letters),
);
