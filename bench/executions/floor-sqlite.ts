// The minimum that a durable engine must do on SQLite. Claims create a fence. Steps and ends check it
// and write one row of history. One transaction has all writes of one turn of the event loop.
//
//   node bench/executions/floor-sqlite.ts <executions> <in flight> <steps> FULL <file>

import { DatabaseSync } from 'node:sqlite';
import { demand } from '../floor.ts';
import { type FloorStore, PAYLOAD, runFloor } from './floor-load.ts';

const [, , executions, inFlight, steps, , file = ''] = process.argv;

const database = new DatabaseSync(file);
database.exec(`
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table execution (id integer primary key, state integer not null, fence integer, output blob);
  create index execution_queued on execution (id) where state = 0;
  create table event (execution integer not null, seq integer not null, at integer, body blob,
                      primary key (execution, seq)) without rowid;
`);
demand(
  { synchronous: Number(database.prepare('pragma synchronous').get()?.['synchronous']) },
  { synchronous: 2 },
);

const begin = database.prepare('begin immediate');
const commit = database.prepare('commit');
const queue = database.prepare('insert into execution (id, state) values (?, 0)');
const append = database.prepare(
  `insert into event (execution, seq, at, body)
   select id, ?, ?, ? from execution where id = ? and fence = ? and state = 1`,
);
const find = database.prepare('select id from execution where state = 0 order by id limit ?');
const take = database.prepare('update execution set state = 1, fence = ? where id = ?');
const end = database.prepare(
  'update execution set state = 2, output = ? where id = ? and fence = ? and state = 1',
);

interface PendingWrite {
  readonly write: () => unknown;
  readonly resolve: (result: never) => void;
}

let pending: PendingWrite[] = [];
let fence = 0;

function inNextFlush<Result>(write: () => Result): Promise<Result> {
  return new Promise((resolve) => {
    if (pending.length === 0) setImmediate(flush);
    pending.push({ write, resolve });
  });
}

function flush(): void {
  const batch = pending;
  pending = [];
  begin.run();
  const results = batch.map(({ write }) => write());
  commit.run();
  for (const [index, { resolve }] of batch.entries()) resolve(results[index] as never);
}

const store: FloorStore = {
  submit: async (count) => {
    begin.run();
    for (let id = 1; id <= count; id += 1) queue.run(id);
    commit.run();
  },
  claim: (limit) =>
    inNextFlush(() =>
      find.all(limit).map((row) => {
        const id = Number(row['id']);
        fence += 1;
        take.run(fence, id);
        return { id, fence };
      }),
    ),
  step: ({ id, fence: held }, seq) =>
    inNextFlush(() => append.run(seq, Date.now(), PAYLOAD, id, held).changes === 1),
  finish: ({ id, fence: held }, seq) =>
    inNextFlush(() => {
      append.run(seq, Date.now(), null, id, held);
      return end.run(PAYLOAD, id, held).changes === 1;
    }),
  close: async () => database.close(),
};

await runFloor(store, {
  executions: Number(executions),
  inFlight: Number(inFlight),
  steps: Number(steps),
});
