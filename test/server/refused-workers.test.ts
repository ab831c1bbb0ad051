// Workers with a wrong release, as operators find them: in the list of workers, with the fix.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HoldfastClient } from '../../src/client/client.ts';
import { contractOf } from '../../src/features/releases/contract-api.ts';
import { contractVersion } from '../../src/features/releases/contract-model.ts';
import { pipeline } from '../../src/index.ts';
import type { RefusedWorkerMessage } from '../../src/protocol/messages/sessions.ts';
import { holdfast } from '../cli/spawned.ts';
import { TestCoordinator, until } from './coordinator.ts';

const order = pipeline({ name: 'order', run: (ctx) => ctx.step('charge', () => 'charged') });
const other = pipeline({
  name: 'order',
  retry: { attempts: 7 },
  run: (ctx) => ctx.step('charge', () => 'charged'),
});
const versionOf = (each: typeof order): string => contractVersion(contractOf(each as never));

function bodyOf(name: string) {
  const contract = { ...contractOf(order as never) } as Record<string, unknown>;
  return { name, artifact: 'image', digest: `sha256:${name}`, contract };
}

const released = (name: string, digest = `sha256:${name}`) => ({
  ...{ release: { name, digest }, probeMs: 50 },
});

async function adminOf(coordinator: TestCoordinator, project = 'default'): Promise<HoldfastClient> {
  return coordinator.client(['admin', 'submit', 'operate'], project);
}

/** The refusal of the project's one worker. */
function refused({ sessions }: HoldfastClient): Promise<RefusedWorkerMessage> {
  return until(async () => (await sessions.workers()).items[0]?.refused);
}

test('RE-9: a worker with another artifact is listed with its digest, the registered one and the fix', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await adminOf(coordinator);
  await admin.releases.register('order', bodyOf('v1'));
  await coordinator.worker([order], released('v1', 'sha256:forged'));
  const { detail, ...shown } = await refused(admin);
  assert.deepEqual(shown, {
    ...{ release: 'v1', digest: 'sha256:forged', pipeline: 'order', why: 'release-differs' },
    differs: { part: 'digest', announced: 'sha256:forged', registered: 'sha256:v1' },
  });
  assert.match(
    detail,
    /release "v1".*sha256:forged; the registered digest is sha256:v1\. Deploy the registered artifact/,
  );
  const [worker] = (await admin.sessions.workers()).items;
  assert.equal(worker?.release, undefined);
});

test('RE-9: another contract and a retired release are listed with their own reasons', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  for (const [project, code] of [
    ['a', other],
    ['b', order],
  ] as const) {
    const admin = await adminOf(coordinator, project);
    await admin.releases.register('order', bodyOf('v1'));
    if (project === 'b') await admin.releases.change('order', { action: 'retire', name: 'v1' });
    await coordinator.worker([code], { ...released('v1'), project });
    const { why, differs, detail } = await refused(admin);
    if (project === 'b') {
      assert.deepEqual([why, differs], ['release-retired', undefined]);
      assert.match(detail, /is retired\. Stop the worker/);
      continue;
    }
    const [announced, registered] = [versionOf(other), versionOf(order)];
    assert.notEqual(announced, registered);
    assert.deepEqual(
      [why, differs],
      ['release-differs', { part: 'contract', announced, registered }],
    );
    assert.match(detail, /Deploy the registered code/);
  }
});

test('RE-9: an unregistered release is listed with the command to register it, and then accepted', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await adminOf(coordinator);
  await coordinator.worker([order], released('v1'));
  const { why, detail } = await refused(admin);
  assert.equal(why, 'release-unknown');
  assert.match(detail, /holdfast releases register order v1/);
  await admin.releases.register('order', bodyOf('v1'));
  const worker = await until(async () => {
    const [each] = (await admin.sessions.workers()).items;
    return each?.release === 'v1' ? each : undefined;
  });
  assert.equal(worker.refused, undefined);
});

test('RE-9: the worker does not learn the registered digest, and another project sees nothing', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await adminOf(coordinator);
  await admin.releases.register('order', bodyOf('v1'));
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
  await coordinator.worker([order], released('v1', 'sha256:forged'));
  assert.doesNotMatch((await warned).message, /sha256:v1/);
  await refused(admin);
  const stranger = await adminOf(coordinator, 'elsewhere');
  assert.deepEqual((await stranger.sessions.workers()).items, []);
});

test('RE-9: holdfast workers marks the worker in the table, and prints the fix below', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await adminOf(coordinator);
  await admin.releases.register('order', bodyOf('v1'));
  await coordinator.worker([order], released('v1', 'sha256:forged\u001b[2J'));
  await refused(admin);
  const env = {
    HOLDFAST_URL: coordinator.url,
    HOLDFAST_KEY: await coordinator.key(['operate'], 'default'),
  };
  const { out, code } = await holdfast(['workers'], { env });
  assert.equal(code, 0);
  assert.match(out, /v1 \(refused\)/);
  assert.match(
    out,
    /gets no pinned executions\. The worker announced .*registered digest is sha256:v1/,
  );
  assert.ok(!out.includes('\u001b'), 'user text moves no cursor');
});
