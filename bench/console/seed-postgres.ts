// Fills PostgreSQL with executions inside the database: ten pipelines over 90 days, with keys,
// attributes, tags, children, dead letters and rollups.

import pg from 'pg';

/** The first pipelines have releases. Every tenth execution is a child of the one before it. */
const PIPELINES = 10;

const ROWS = `
  select n,
         lpad(to_hex(:from::bigint + n * :step::bigint / 1000), 12, '0') as ms,
         n % ${PIPELINES} as p,
         case when n > :count - 2000 then 0
              when n % 1000 < 2 then 2
              when n % 1000 < 30 then 11
              when n % 1000 < 35 then 12
              when n % 1000 < 37 then 13
              else 10 end as status
    from generate_series(1, :count) as n`;

const EXECUTIONS = `
  insert into hf.execution (id, ready_at, submitted_at, ended_at, parent_id, seq, status, lane, project, pipeline, input, about, key)
  select hf.seed_id(n, ms), case status when 0 then t end, t, case when status >= 10 then t + 50 + n % 60000 end,
         case when n % 10 = 0 then hf.seed_id(n - 1, lpad(to_hex(:from::bigint + (n - 1) * :step::bigint / 1000), 12, '0')) end,
         3, status, 0, 'default',
         'pipeline-' || p || case when p < 2 then chr(31) || 'v' || n * 4 / :count else '' end,
         '{"n":' || n || '}',
         '{' || case when n % 3 = 0 then '"tags":["eu"],' else '' end
             || '"attributes":{"total":' || n % 100000 || ',"region":"r' || n % 7 || '","customer":"c' || n % 1000003 || '"}}',
         'order/' || n
    from (select r.*, :from::bigint + n * :step::bigint / 1000 as t from (${ROWS}) as r) as r`;

const LABELS = [
  `select hf.seed_id(n, ms), 2, 'default', 'total', null, (n % 100000)::float8 from (${ROWS}) as r`,
  `select hf.seed_id(n, ms), 1, 'default', 'region', 'r' || n % 7, null::float8 from (${ROWS}) as r`,
  `select hf.seed_id(n, ms), 1, 'default', 'customer', 'c' || n % 1000003, null::float8 from (${ROWS}) as r`,
  `select hf.seed_id(n, ms), 0, 'default', '', 'eu', null::float8 from (${ROWS}) as r where n % 3 = 0`,
].map((rows) => `insert into hf.label (execution_id, kind, project, name, value, number) ${rows}`);

const LETTERS = `
  insert into hf.dead_letter (execution_id, at, attempts, status, project, pipeline, category, code, reason, step)
  select e.id, e.ended_at, 3, e.status, e.project, split_part(e.pipeline, chr(31), 1), 'permanent', 'code-' || e.submitted_at % 20, 'It failed.', 'step:charge#1'
    from hf.execution as e
   where e.status in (11, 13)`;

const ROLLUPS = `
  insert into hf.rollup (at, count, step_ms, status, bucket, project, pipeline)
  select ended_at / s.ms * s.ms, count(*), s.ms, status, floor(4 * ln(ended_at - submitted_at) / ln(2)), project, pipeline
    from hf.execution, (values (60000, 26), (600000, 192), (3600000, 2232)) as s(ms, hours)
   where ended_at > :to::bigint - s.hours * 3600000::bigint
   group by 1, 3, 4, 5, 6, 7`;

const POSITION = `
  insert into hf.rollup_position (id, until) values (1, :to)
      on conflict (id) do update set until = excluded.until`;

const SEED_ID = `
  create function hf.seed_id(n bigint, ms text) returns uuid immutable language sql as
  $$ select (substr(ms, 1, 8) || '-' || substr(ms, 9, 4) || '-7' || lpad(to_hex(n % 4096), 3, '0') || '-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$`;

/** Keeps the indexes out of the way while rows come in. */
const INDEXES = `
  select i.indexname as name, i.indexdef as made
    from pg_indexes as i
   where i.schemaname = 'hf'
     and i.tablename in ('execution', 'label')
     and not i.indexname like '%_pkey'`;

const DAYS_MS = 90 * 86_400_000;

/** Fills the schema `hf` of an empty store. */
export async function seedPostgres(
  url: string,
  count: number,
  progress: (what: string) => void,
): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const to = Date.now();
  const values = { count, from: to - DAYS_MS, step: Math.floor((DAYS_MS * 1_000) / count), to };
  const run = async (what: string, text: string): Promise<void> => {
    progress(what);
    await client.query(
      text.replaceAll(/(?<!:):(count|from|step|to)\b/g, (_, name: keyof typeof values) =>
        String(values[name]),
      ),
    );
  };
  try {
    await client.query(
      "set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '256MB'",
    );
    const { rows } = await client.query<{ name: string; made: string }>(INDEXES);
    for (const { name } of rows) await client.query(`drop index hf.${name}`);
    await client.query(SEED_ID);
    await run('executions', EXECUTIONS);
    for (const labels of LABELS) await run('labels', labels);
    for (const { name, made } of rows) await run(`index ${name}`, made);
    await run('dead letters', LETTERS);
    await run('rollups', ROLLUPS);
    await run('position', POSITION);
    await client.query('drop function hf.seed_id');
    // As autovacuum does on a server that has run for a while.
    await run('vacuum', 'vacuum (analyze) hf.execution, hf.label, hf.dead_letter, hf.rollup');
  } finally {
    await client.end();
  }
}
