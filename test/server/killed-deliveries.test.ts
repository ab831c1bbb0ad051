// Coordinators that are killed after a receiver got a message and before they recorded it.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { inFolder, type Spawned, startHoldfast } from '../cli/spawned.ts';
import { postgresForTests } from '../services/postgres.ts';
import { WebhookReceiver } from '../services/webhook-receiver.ts';
import { until } from './coordinator.ts';

const MESSAGES = 24;
const KILLS = 3;

test('CH-1, CH-3: on a file, no kill loses a message, and a message that comes twice has one id', () =>
  killed());

test('CH-1, CH-3: on PostgreSQL, no kill loses a message, and a message that comes twice has one id', async () => {
  const postgres = await postgresForTests();
  try {
    await killed(postgres.url);
  } finally {
    await postgres.release();
  }
});

function killed(store?: string): Promise<void> {
  return inFolder(async (cwd, own) => {
    await using receiver = await WebhookReceiver.open();
    const signing = { keys: { k1: 'channel secret '.repeat(3) }, current: 'k1' };
    await writeFile(join(cwd, 'channels.json'), JSON.stringify(signing), { mode: 0o600 });
    const words = [
      ...['serve', '--port', '0', '--auth', 'off', ...(store ? ['--store', store] : [])],
      ...['--channels-signing-file', 'channels.json', '--channels-timeout-ms', '2000'],
      ...['--channels-private-addresses', 'true', '--channels-allow-http', 'true'],
    ];
    const start = async (): Promise<readonly [Spawned, HoldfastClient]> => {
      const server = own(startHoldfast(words, { cwd }));
      return [server, new HoldfastClient({ url: await server.url() })];
    };
    let [server, client] = await start();
    await client.channels.put('hooks', {
      ...{ kind: 'webhook', url: receiver.url, events: ['execution-ended'] },
    });
    receiver.secrets = [(await client.channels.secret('hooks')).secret];
    const expected: string[] = [];
    for (let nth = 0; nth < MESSAGES; nth += 1) {
      const { id } = await client.executions.submit({ pipeline: 'nobody-runs-this' });
      await client.executions.cancel(id);
      expected.push(`execution-ended_${id}`);
    }
    for (let kill = 0; kill < KILLS; kill += 1) {
      // The receiver has a message, and the coordinator dies before it gets the reply.
      const before = receiver.received.length;
      let isDead = (): void => undefined;
      const dead = new Promise<void>((resolve) => {
        isDead = resolve;
      });
      receiver.reply = async () => {
        await dead;
        return 204;
      };
      await until(async () => (receiver.received.length > before ? true : undefined));
      await server.stop('SIGKILL');
      isDead();
      [server, client] = await start();
    }
    receiver.reply = () => 204;
    const log = await until(async () => {
      const { items } = await client.channels.deliveries('hooks', { limit: 100 });
      return items.every(({ state }) => state === 'delivered') ? items : undefined;
    });
    const ids = receiver.received.map(({ id }) => id);
    assert.deepEqual([...new Set(ids)].toSorted(), expected.toSorted());
    assert.ok(ids.length > MESSAGES, 'a message that was sent and not recorded came again');
    assert.deepEqual(log.map(({ id }) => id).toSorted(), expected.toSorted());
    assert.ok(receiver.received.every(({ signedBy }) => signedBy.length === 1));
    await server.stop();
  });
}
