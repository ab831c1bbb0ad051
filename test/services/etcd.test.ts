import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { type PrivateEtcd, startEtcd } from './etcd.ts';

const KEY = Buffer.from('kept').toString('base64');

async function call(
  endpoint: string | undefined,
  path: string,
  body: object,
): Promise<{ readonly kvs?: readonly object[] }> {
  const answer = await fetch(`${endpoint}${path}`, { method: 'POST', body: JSON.stringify(body) });
  assert.ok(answer.ok, await answer.clone().text());
  return (await answer.json()) as { readonly kvs?: readonly object[] };
}

function another(etcd: PrivateEtcd, than: number): string | undefined {
  return etcd.endpoints.find((_, member) => member !== than);
}

test('a private cluster survives the kill of its leader, which comes back, and leaves nothing', {}, async (t) => {
  const etcd = await startEtcd();
  t.after(() => etcd.stop());
  t.diagnostic(`etcd ${etcd.version} from ${etcd.source}`);
  assert.equal(etcd.endpoints.length, 3);
  const first = await etcd.leader();
  await call(etcd.endpoints[first], '/v3/kv/put', { key: KEY, value: KEY });
  await etcd.kill(first);
  assert.notEqual(await etcd.leader(), first);
  assert.equal((await call(another(etcd, first), '/v3/kv/range', { key: KEY })).kvs?.length, 1);
  await etcd.restart(first);
  assert.equal((await call(etcd.endpoints[first], '/v3/kv/range', { key: KEY })).kvs?.length, 1);
  await etcd.stop();
  await etcd.stop();
  assert.equal(existsSync(etcd.folder), false, 'the folder must be gone');
});

test('a cluster that cannot start is an error', async () => {
  await assert.rejects(startEtcd({ settings: { 'no-such-setting': '1' } }), /before it was ready/);
});

test('the members end and their folder is deleted when the owner is killed', async () => {
  const program = `
    import { startEtcd } from ${JSON.stringify(join(import.meta.dirname, 'etcd.ts'))};
    const etcd = await startEtcd({ members: 1 });
    etcd.freeze(0);
    console.log(etcd.folder);
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
