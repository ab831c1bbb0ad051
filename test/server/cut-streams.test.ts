// Streams over cut connections: a proxy between the client and a coordinator ends them in the
// middle.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { HoldfastClient, type Seen } from '../../src/client/client.ts';
import { pipeline } from '../../src/index.ts';
import { holdfast } from '../cli/spawned.ts';
import { TestCoordinator, until } from './coordinator.ts';

/**
 * Passes everything on, and cuts the connection after this text, for the first given number of
 * times.
 */
async function cuttingProxy(to: string, cuts: { readonly after: RegExp; left: number }) {
  const { port, hostname } = new URL(to);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (bytes: Buffer) => {
      near.write(bytes, () => {
        if (cuts.left <= 0 || !cuts.after.test(bytes.toString())) return;
        cuts.left -= 1;
        near.destroy();
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const counts = pipeline({
  name: 'counts',
  async run(ctx) {
    for (let nth = 1; nth <= 3; nth += 1) {
      await ctx.step(`step ${nth}`, () => nth);
      await ctx.receive(`go ${nth}`);
      ctx.progress({ done: nth, of: 3 });
    }
    return 'done';
  },
});

test('a stream that is cut continues after the last received event, with nothing twice', async () => {
  await using coordinator = await TestCoordinator.open();
  await coordinator.worker([counts]);
  const key = await coordinator.key(['submit'], 'default');
  const cuts = { after: /event: step-completed/, left: 2 };
  const proxy = await cuttingProxy(coordinator.url, cuts);
  try {
    const { executions } = new HoldfastClient({ url: proxy.url, key });
    const { id } = await executions.submit({ pipeline: 'counts' });
    const seen: Seen[] = [];
    const pauses: number[] = [];
    const onCut = ({ againInMs }: { readonly againInMs: number }): number => pauses.push(againInMs);
    for await (const each of executions.live(id, { onCut })) {
      seen.push(each);
      if (each.kind !== 'event' || each.event.kind !== 'step-completed') continue;
      const nth = each.event.name?.at(-1);
      await coordinatorSignal(coordinator, id, `go ${nth}`);
    }
    assert.equal(cuts.left, 0, 'it was cut');
    assert.ok(pauses.length >= 2, 'onCut was called');
    const seqs = seen.flatMap((each) => (each.kind === 'event' ? [each.event.seq] : []));
    assert.deepEqual(
      seqs,
      seqs.map((_, nth) => nth + 1),
    );
    const progress = seen.flatMap((each) => (each.kind === 'progress' ? [each.progress] : []));
    assert.deepEqual(progress.at(-1), { done: 3, of: 3 });
  } finally {
    await proxy.close();
  }
});

async function coordinatorSignal(coordinator: TestCoordinator, id: string, name: string) {
  const client = await coordinator.client(['submit'], 'default');
  await client.executions.signal(id, name);
}

test('holdfast watch survives a cut, and shows the tree', async () => {
  await using coordinator = await TestCoordinator.open();
  await coordinator.worker([counts]);
  const key = await coordinator.key(['submit'], 'default');
  const cuts = { after: /event: step-completed/, left: 1 };
  const proxy = await cuttingProxy(coordinator.url, cuts);
  try {
    const client = await coordinator.client(['submit'], 'default');
    const { id } = await client.executions.submit({ pipeline: 'counts' });
    const env = { HOLDFAST_URL: proxy.url, HOLDFAST_KEY: key };
    const watching = holdfast(['watch', id, '--tree'], { env });
    await until(async () => cuts.left === 0 || undefined);
    for (const name of ['go 1', 'go 2', 'go 3']) await client.executions.signal(id, name);
    const { code, out, problems } = await watching;
    assert.equal(code, 0, problems);
    assert.equal(cuts.left, 0, 'it was cut');
    assert.match(problems, /The connection was cut\. Reconnecting in \d+ ms/);
    assert.match(out, /^completed {2}\[#{24}\] 100 % 3\/3\n/);
    assert.match(out, /├─ ✓ step 1 +1\n[\s\S]*─ ✓ step 3 +3\n/);
    assert.match(out, new RegExp(`${id} completed\n"done"`));
  } finally {
    await proxy.close();
  }
});

test('watching an unknown execution, or a missing coordinator, rejects at once', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const client = await coordinator.client(['submit'], 'default');
  const id = '01890000-0000-7000-8000-000000000000';
  await assert.rejects(client.executions.live(id).next(), /is not known to this store/);
  const unserved = new HoldfastClient({ url: 'http://127.0.0.1:9' });
  await assert.rejects(unserved.executions.live(id).next(), /did not respond/);
});
