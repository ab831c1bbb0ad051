// An outbox: the application writes an order and its message in one transaction, and a relay sends the messages.
// A relay freezes between sending and marking. Another one takes over. When the first wakes up, the database
// refuses its mark, because its fence is old. No message is lost, and the receiver drops the repeated one.
//
//   npm run example examples/outbox/main.ts

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SqliteGuard } from 'holdfast/guards/sqlite';
import { Journal } from '../leases/journal.ts';
import { Story } from '../leases/story.ts';
import type { RelayReport } from './relay.ts';

/** A message as it reached the receiver. */
export interface Sent {
  readonly id: number;
  readonly body: string;
  readonly by: string;
}

const RELAY = join(import.meta.dirname, 'relay.ts');
const story = new Story();
const files = {
  storeFile: join(story.folder, 'leases.db'),
  databaseFile: join(story.folder, 'app.db'),
  receiverFile: join(story.folder, 'received.jsonl'),
};
const receiver = new Journal<Sent>(files.receiverFile);

function takeOrders(database: DatabaseSync, items: readonly string[]): void {
  for (const item of items) {
    database.exec('begin immediate');
    database.prepare('insert into shop_order (item) values (?)').run(item);
    database.prepare('insert into outbox (body) values (?)').run(`ordered ${item}`);
    database.exec('commit');
  }
}

async function untilReceived(ids: number): Promise<void> {
  while (new Set(receiver.entries().map(({ id }) => id)).size < ids) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

await story.play('An outbox whose relay is replaced', async () => {
  const database = new DatabaseSync(files.databaseFile, { timeout: 5_000 });
  database.exec(`
    pragma journal_mode = wal;
    create table shop_order (id integer primary key, item text not null);
    create table outbox (id integer primary key, body text not null, sent integer not null default 0);
    ${new SqliteGuard().createTable}`);
  takeOrders(database, ['tent', 'stove', 'lamp']);
  story.print('app', 'took 3 orders; each is in the database with its message');

  const first = story.start<RelayReport>(RELAY, 'relay-1', { ...files, freezeAfter: 2 });
  await first.waitFor('leads');
  await untilReceived(2);
  story.print('relay-1', 'freezes: it sent message 2 and has not marked it');
  const second = story.start<RelayReport>(RELAY, 'relay-2', files);
  await second.waitFor('leads');
  story.print('relay-2', 'takes over and continues with message 2');
  await untilReceived(3);
  takeOrders(database, ['rope']);
  const { why } = await first.waitFor('refused');
  story.print('relay-1', `wakes up and is REFUSED: ${why}`);
  await untilReceived(4);

  const all = receiver.entries();
  const kept = [...new Map(all.map((each) => [each.id, each.body])).values()];
  story.print(
    'receiver',
    `got ${all.length} messages, and keeps ${kept.length}: ${kept.join(', ')}`,
  );
  story.mustBe(
    kept.join() === 'ordered tent,ordered stove,ordered lamp,ordered rope',
    'no message was lost, and the order was kept',
  );
  await Promise.all([first.kill(), second.kill()]);
  database.close();
});
