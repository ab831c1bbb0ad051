// The minimum that a bulk re-drive must do on SQLite, like floor-postgres.ts.
//
//   node bench/redrive/floor-sqlite.ts '{"kind":"sqlite","file":…}' <letters>

import { DatabaseSync } from 'node:sqlite';
import { EVENTS, PAGE, PAYLOAD, REUSED, runFloor } from './floor-page.ts';

const [, , location, letters] = process.argv;
const { file } = JSON.parse(location ?? '{}') as { readonly file: string };

const database = new DatabaseSync(file);
database.exec(`
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table execution (id integer primary key, of integer, state integer not null, input text not null);
  create unique index execution_of on execution (of) where state = 0;
  create table event (execution integer, seq integer, at integer, body text, primary key (execution, seq)) without rowid;
  create table letter (execution integer primary key, made integer);
  create table outcome (execution integer primary key, made integer not null);
`);

const begin = database.prepare('begin immediate');
const commit = database.prepare('commit');
const add = database.prepare('insert into execution (of, state, input) values (?, ?, ?)');
const insertEvent = database.prepare(
  'insert into event (execution, seq, at, body) values (?, ?, ?, ?)',
);
const send = database.prepare('insert into letter (execution) values (?)');
const next = database.prepare(
  `select l.execution as id, e.input from letter l join execution e on e.id = l.execution
    where l.execution > ? and l.made is null order by l.execution limit ${PAGE}`,
);
const read = database.prepare('select body from event where execution = ? order by seq');
const note = database.prepare('insert into outcome (execution, made) values (?, ?)');
const mark = database.prepare('update letter set made = ? where execution = ? and made is null');

let last = 0;

function redrive(id: number, input: string): void {
  const bodies = read.all(id).map(({ body }) => String(body));
  const made = Number(add.run(id, 0, input).lastInsertRowid);
  for (let seq = 1; seq <= REUSED; seq += 1)
    insertEvent.run(made, seq, Date.now(), bodies[0] ?? null);
  note.run(id, made);
  if (mark.run(made, id).changes !== 1)
    throw new Error('Not measured: a letter was already marked.');
}

await runFloor(
  {
    fill: async (count) => {
      begin.run();
      for (let nth = 0; nth < count; nth += 1) {
        const id = Number(add.run(null, 1, PAYLOAD).lastInsertRowid);
        for (let seq = 1; seq <= EVENTS; seq += 1) insertEvent.run(id, seq, Date.now(), PAYLOAD);
        send.run(id);
      }
      commit.run();
    },
    page: async () => {
      begin.run();
      const rows = next.all(last);
      for (const { id, input } of rows) redrive(Number(id), String(input));
      commit.run();
      last = Number(rows.at(-1)?.['id'] ?? last);
      return rows.length;
    },
    close: async () => database.close(),
  },
  Number(letters),
);
