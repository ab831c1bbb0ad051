// The minimum that a coordinator in a process of its own must do on PostgreSQL: one connection for each
// process, messages of one turn in one packet, and fenced writes of many executions in one statement.
// Three steps are four commits: submit with claim, two steps, and the last step with the end. It has no
// keys, validation, retries, limits or replay.
//
//   node bench/coordinator/stream-floor.ts '{"role":"server","url":"postgres://…"}'
//   node bench/coordinator/stream-floor.ts '{"role":"worker","port":4000}'

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pg from 'pg';
import { demand, readPostgresSettings } from '../floor.ts';
import { connect, type Message, PAYLOAD, type Send, sender } from './stream-floor-client.ts';

const STEPS = 3;
const BATCH_MAX = 1_000;

const SCHEMA = `
  drop table if exists floor_event; drop table if exists floor_execution; drop sequence if exists floor_fence;
  create sequence floor_fence;
  create table floor_execution (id bigint primary key, state smallint not null, fence bigint not null,
                                input text, output text) with (fillfactor = 70);
  create table floor_event (execution bigint, seq integer, at timestamptz default clock_timestamp(), body text,
                            primary key (execution, seq));`;

const SUBMIT = `
  with submitted as (
    insert into floor_execution (id, state, fence, input)
    select id, 1, nextval('floor_fence'), body from unnest($1::bigint[], $2::text[]) as a(id, body)
    returning id, fence, input
  ), history as (
    insert into floor_event (execution, seq, body) select id, 0, input from submitted
  )
  select id::integer, fence::integer from submitted`;

const STEP = `
  with a as materialized (
    select * from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[]) as a(id, fence, seq, body)
  ), held as (
    select e.id from floor_execution e join a on a.id = e.id and a.fence = e.fence
     where e.state = 1 order by e.id for no key update of e
  )
  insert into floor_event (execution, seq, body)
  select a.id, a.seq, a.body from held join a using (id)
  returning execution::integer as id`;

const END = `
  with ended as (
    update floor_execution e set state = 2, output = a.body
      from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[]) as a(id, fence, seq, body)
     where e.id = a.id and e.fence = a.fence and e.state = 1
    returning e.id, a.seq, a.body
  ), history as (
    insert into floor_event (execution, seq, body)
    select id, seq + later, body from ended, generate_series(0, 1) as later
  )
  select id::integer from ended`;

const WRITTEN = ['id', 'fence', 'seq', 'body'] as const;

interface Written {
  readonly id: number;
  readonly fence: number;
}

const request = JSON.parse(process.argv[2] ?? '{}') as
  | { readonly role: 'server'; readonly url: string }
  | { readonly role: 'worker'; readonly port: number };
process.on('disconnect', () => process.exit(0));
if (request.role === 'server') await serve(request.url);
else await work(request.port);

async function serve(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 6 });
  demand(await readPostgresSettings(pool), { fsync: 'on', synchronous_commit: 'on' });
  await pool.query(SCHEMA);
  const waiting = new Map<number, Send>();
  let toWorker: Send = () => undefined;
  const submit = batched(
    pool,
    { name: 'submit', text: SUBMIT, columns: ['id', 'body'], flushes: 2 },
    (written, { body }) => toWorker({ kind: 'run', ...written, ...(body && { body }) }),
  );
  const step = batched(pool, { name: 'step', text: STEP, columns: WRITTEN, flushes: 2 }, ({ id }) =>
    toWorker({ kind: 'recorded', id }),
  );
  const end = batched(pool, { name: 'end', text: END, columns: WRITTEN, flushes: 1 }, ({ id }) => {
    waiting.get(id)?.({ kind: 'ended', id, body: PAYLOAD });
    waiting.delete(id);
  });
  const server = createServer((socket) => {
    const send = sender(socket, (message) => {
      if (message.kind === 'worker') toWorker = send;
      if (message.kind === 'step') step(message);
      if (message.kind === 'end') end(message);
      if (message.kind === 'submit') {
        waiting.set(message.id, send);
        submit(message);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
}

interface Statement {
  readonly name: string;
  readonly text: string;
  /** The parameters, each an array. */
  readonly columns: readonly (keyof Message)[];
  /** How many of them may run at a time. */
  readonly flushes: number;
}

/** Writes that arrive while all flushes are under way form the next statement. */
function batched(
  pool: pg.Pool,
  { flushes, columns, ...statement }: Statement,
  onWritten: (written: Written, message: Message) => void,
): (message: Message) => void {
  let pending: Message[] = [];
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
    const batch = pending.slice(0, BATCH_MAX);
    pending = pending.slice(BATCH_MAX);
    free -= 1;
    const values = columns.map((column) => batch.map((message) => message[column]));
    const { rows } = await pool.query<Written>({ ...statement, values });
    if (rows.length !== batch.length) throw new Error('Not measured: a write was refused.');
    const messages = new Map(batch.map((message) => [message.id, message]));
    for (const row of rows) {
      const message = messages.get(row.id);
      if (message !== undefined) onWritten(row, message);
    }
    free += 1;
    schedule();
  };
  return (message) => {
    pending.push(message);
    schedule();
  };
}

async function work(port: number): Promise<void> {
  const fences = new Map<number, { readonly fence: number; seq: number }>();
  const write = (id: number): void => {
    const held = fences.get(id);
    if (held === undefined) return;
    const { fence, seq } = held;
    held.seq += 1;
    const kind = seq === STEPS ? 'end' : 'step';
    if (kind === 'end') fences.delete(id);
    send({ kind, id, fence, seq, body: PAYLOAD });
  };
  const send = await connect(port, ({ kind, id, fence = 0 }) => {
    if (kind === 'run') fences.set(id, { fence, seq: 1 });
    write(id);
  });
  send({ kind: 'worker', id: 0 });
  console.log('ready');
}
