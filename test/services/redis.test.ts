import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { createClient } from 'redis';
import { FLUSHED_ALWAYS, FLUSHED_EVERY_SECOND, startRedis } from './redis.ts';

test('a private server is durable, evicts nothing and leaves nothing', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  t.diagnostic(`Redis from ${redis.source}`);
  const client = createClient({ socket: { path: redis.socket, tls: false } });
  await client.connect();
  assert.deepEqual({ ...(await client.configGet('appendfsync')) }, { appendfsync: 'always' });
  const policy = await client.configGet('maxmemory-policy');
  assert.deepEqual({ ...policy }, { 'maxmemory-policy': 'noeviction' });
  client.destroy();
  await redis.stop();
  await redis.stop();
  assert.equal(existsSync(redis.folder), false, 'the folder must be gone');
});

test('a server that was killed has its data after a restart', async (t) => {
  for (const settings of [FLUSHED_ALWAYS, FLUSHED_EVERY_SECOND]) {
    const redis = await startRedis(settings);
    t.after(() => redis.stop());
    const before = createClient({ url: redis.url });
    before.on('error', () => undefined);
    await before.connect();
    await before.set('kept', 'yes');
    await redis.kill();
    before.destroy();
    await redis.start();
    const after = createClient({ url: redis.url });
    await after.connect();
    assert.equal(await after.get('kept'), 'yes');
    const { appendfsync } = await after.configGet('appendfsync');
    assert.equal(appendfsync, settings['appendfsync']);
    after.destroy();
  }
});

test('a server that cannot start is an error', async () => {
  await assert.rejects(startRedis({ 'no-such-setting': '1' }), /ended before it was ready/);
});

test('the server ends and its folder is deleted when the owner is killed', async () => {
  const program = `
    import { startRedis } from ${JSON.stringify(join(import.meta.dirname, 'redis.ts'))};
    console.log((await startRedis()).folder);
    await new Promise(() => setInterval(() => {}, 1000));
  `;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: owner.stdout }), 'line');
  const folder = String(line);
  const watcher = watch(dirname(folder));
  const gone = new Promise<void>((resolve) => {
    watcher.on('change', () => {
      if (!existsSync(folder)) resolve();
    });
  });
  owner.kill('SIGKILL');
  await gone;
  watcher.close();
});
