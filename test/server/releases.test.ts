// Releases through a coordinator: two nodes, workers over HTTP, the client of an admin and the command line.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { faultyTransport } from '../../contract/index.ts';
import { CallRefused } from '../../src/client/client.ts';
import { contractOf } from '../../src/features/releases/contract-api.ts';
import { contractVersion } from '../../src/features/releases/contract-model.ts';
import { type Context, pipeline } from '../../src/index.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { holdfast } from '../cli/spawned.ts';
import { TestCoordinator, until } from './coordinator.ts';

const order = (step: string) =>
  pipeline({
    name: 'order',
    async run(ctx: Context) {
      await ctx.step(step, () => 1);
      await ctx.receive('go');
      return ctx.step('last', () => step);
    },
  });

const bodyOf = (name: string) => ({
  ...{ name, artifact: 'image', digest: `sha256:${name}` },
  contract: { ...contractOf(order('any') as never) } as Record<string, unknown>,
});

const released = (name: string) => ({
  release: { name, digest: `sha256:${name}` },
  probeMs: 100,
});

test('a deploy through a coordinator: registered, preflighted, refused, rolled over, drained, retired', async () => {
  const coordinator = await TestCoordinator.open();
  try {
    const admin = await coordinator.client(['admin', 'submit', 'operate'], 'default');
    const { releases, executions } = admin;
    for (const name of ['v1', 'v2', 'v3']) await releases.register('order', bodyOf(name));
    assert.deepEqual(await releases.register('order', bodyOf('v1')), { existing: true });
    const other = { ...bodyOf('v1'), digest: 'sha256:other' };
    await assert.rejects(releases.register('order', other), isRefused('release-differs'));
    await releases.change('order', { action: 'activate', name: 'v1', reason: 'first' });
    await coordinator.worker([order('charge')], released('v1'));
    const { id } = await executions.submit({ pipeline: 'order' });
    await until(async () => ((await executions.read(id)).status === 'waiting' ? true : undefined));
    assert.equal((await executions.read(id)).release, 'v1');
    await coordinator.worker([order('bill')], released('v2'));
    const found = await releases.preflight('order', 'v2');
    assert.deepEqual([found.breaking, found.replayed], [true, 1]);
    assert.equal(found.broken[0]?.execution, id);
    assert.match(found.broken[0]?.why ?? '', /step:charge#1.*step:bill#1/);
    const empty = releases.preflight('order', 'v2', { sample: 0 });
    await assert.rejects(empty, isRefused('invalid-input'));
    const same = { against: 'v1', breaking: false, changes: [] };
    assert.deepEqual(await releases.compare('order', 'v2'), same);
    await assert.rejects(releases.compare('order', 'v9'), isRefused('release-unknown'));
    const rollouts = [{ pipeline: 'order', version: 1, active: 'v1' }];
    assert.deepEqual(await releases.rollouts(), { items: rollouts });
    const operation = { action: 'activate', name: 'v2' } as const;
    await assert.rejects(releases.change('order', operation), isRefused('release-breaks'));
    await coordinator.worker([order('charge')], released('v3'));
    assert.equal((await releases.preflight('order', 'v3')).breaking, false);
    await releases.change('order', { action: 'set-canary', name: 'v3', percent: 50 });
    await assert.rejects(
      releases.change('order', { action: 'set-canary', name: 'v1', percent: 3 }),
      isRefused('already-active'),
    );
    await releases.change('order', { action: 'promote', expected: 2 });
    await assert.rejects(
      releases.change('order', { action: 'roll-back', expected: 2 }),
      isRefused('rollout-changed'),
    );
    const retire = { action: 'retire', name: 'v1' } as const;
    await assert.rejects(releases.change('order', retire), isRefused('release-pinned'));
    await releases.repin(id, { to: 'v3', from: 'v1', reason: 'hotfix' });
    await executions.signal(id, 'go', 1);
    assert.equal((await executions.result(id)).output, 'charge');
    // On a slow machine a worker may be late now and then.
    await until(async () => {
      const { items } = await admin.sessions.workers();
      const seen = items.map(({ work, release }) => `${work} ${release}`).sort();
      return seen.join() === 'ready v1,ready v2,ready v3' ? true : undefined;
    });
    await releases.change('order', retire);
    const log = await releases.log('order');
    assert.deepEqual(
      log.items.map((each) => each.action),
      ['retire', 'promote', 'set-canary', 'activate'],
    );
    assert.match(log.items[0]?.actor ?? '', /admin/);
    const { items } = await releases.list('order');
    const states = Object.fromEntries(items.map((each) => [each.name, each.state]));
    assert.deepEqual(states, { v1: 'retired', v2: 'registered', v3: 'active' });
  } finally {
    await coordinator[Symbol.asyncDispose]();
  }
});

test('a worker with an unregistered artifact gets nothing, and a submit can be refused for that', async () => {
  const faults: string[] = [];
  const log = {
    info: () => undefined,
    fault: (message: string, error: unknown) => faults.push(`${message}: ${error}`),
  };
  const coordinator = await TestCoordinator.onMemory({ log });
  try {
    const admin = await coordinator.client(['admin', 'submit', 'operate'], 'default');
    await admin.releases.register('order', bodyOf('v1'));
    await admin.releases.change('order', { action: 'activate', name: 'v1' });
    await coordinator.worker([order('charge')], {
      release: { name: 'v1', digest: 'sha256:forged' },
      probeMs: 50,
    });
    const refuse = { pipeline: 'order', ifNoWorker: 'refuse' } as const;
    const { id } = await admin.executions.submit({ pipeline: 'order' });
    // It announces another digest than the registered one: it has the name of v1, but it is not v1.
    await until(async () =>
      (await admin.sessions.workers()).items[0]?.work === 'ready' ? true : undefined,
    );
    assert.equal((await admin.executions.read(id)).status, 'queued');
    assert.equal(faults.length, 1, faults.join());
    assert.match(faults[0] ?? '', /no pinned executions: Release "v1".*another digest/);
    await assert.rejects(admin.executions.submit(refuse), isRefused('no-worker-for'));
    // Not that soon: a busy machine is silent for two short periods, and a stuck worker takes
    // nothing.
    await coordinator.worker([order('charge')], { ...released('v1'), probeMs: 5_000 });
    await until(async () =>
      (await admin.executions.read(id)).status === 'waiting' ? true : undefined,
    );
    assert.equal((await admin.executions.submit(refuse)).existing, false);
    const workOnly = await coordinator.client(['work', 'submit', 'operate'], 'default');
    const operation = { action: 'activate', name: 'v1' } as const;
    await assert.rejects(workOnly.releases.change('order', operation), isRefused('role-missing'));
  } finally {
    await coordinator[Symbol.asyncDispose]();
  }
});

test('RE-11: a worker that beats while its claims hang is found by list, submit and explain', async () => {
  const coordinator = await TestCoordinator.onMemory();
  const key = await coordinator.key(['work'], 'default');
  let hangs = false;
  let worker: Awaited<ReturnType<typeof openWorker>> | undefined;
  const transport = faultyTransport(
    httpTransport({ url: coordinator.url, key, timers: systemTimers }),
    (_, kind) => (hangs && kind === 'claimExecutions' ? 'held' : undefined),
  );
  try {
    const admin = await coordinator.client(['admin', 'submit', 'operate'], 'default');
    await admin.releases.register('order', bodyOf('v1'));
    await admin.releases.change('order', { action: 'activate', name: 'v1' });
    const options = { transport, ...released('v1'), ttlMs: 1_000, pollMs: 50 };
    worker = await openWorker({ ...options, pipelines: [order('charge')] });
    const workerIn = async (state: string) => {
      const { items } = await admin.sessions.workers();
      return items[0]?.work === state ? items[0] : undefined;
    };
    await until(() => workerIn('ready'));
    hangs = true;
    const { id } = await admin.executions.submit({ pipeline: 'order' });
    const { id: session, beatAt } = await until(() => workerIn('stuck'));
    // Its heartbeat goes on all the while.
    for (let [beats, last] = [0, beatAt]; beats < 3; ) {
      const next = await until(() => workerIn('stuck'));
      assert.equal(next.id, session);
      if (next.beatAt !== last) beats += 1;
      last = next.beatAt;
    }
    assert.equal((await admin.executions.explain(id)).code, 'workers-stuck');
    const refuse = { pipeline: 'order', ifNoWorker: 'refuse' } as const;
    await assert.rejects(admin.executions.submit(refuse), /\(1 with it are stuck\)/);
    hangs = false;
    transport.release();
    await until(() => workerIn('ready'));
    await until(async () =>
      (await admin.executions.read(id)).status === 'waiting' ? true : undefined,
    );
  } finally {
    hangs = false;
    transport.release();
    await worker?.stop();
    await coordinator[Symbol.asyncDispose]();
  }
});

test('holdfast releases leads from a contract in a file to an active release', async () => {
  const coordinator = await TestCoordinator.onMemory();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-releases-'));
  try {
    const key = await coordinator.key(['admin', 'submit', 'operate'], 'default');
    const env = { HOLDFAST_URL: coordinator.url, HOLDFAST_KEY: key };
    const ask = (...words: readonly string[]) =>
      holdfast(['releases', ...words], { cwd: folder, env });
    const contract = contractOf(order('any') as never);
    const kept = { contracts: [{ ...contract, version: contractVersion(contract) }] };
    await writeFile(join(folder, 'holdfast.contract.json'), JSON.stringify(kept));
    const build = ['--artifact', 'image', '--digest', 'sha256:v1'];
    const made = await ask('register', 'order', 'v1', ...build, '--json');
    assert.equal(made.code, 0, made.problems);
    assert.equal(JSON.parse(made.out).contract, contractVersion(contract));
    const early = await ask('set-canary', 'order', 'v1', '--percent', '5');
    assert.equal(early.code, 1);
    assert.match(early.problems, /no active release/);
    const activated = await ask('activate', 'order', 'v1', '--reason', 'first', '--json');
    assert.deepEqual(JSON.parse(activated.out), { kind: 'changed', version: 1, active: 'v1' });
    assert.match((await ask('list', 'order')).out, /name +state[\s\S]*v1 +active +0 +image/);
    assert.match((await ask('log', 'order')).out, /activate +v1 +v1[\s\S]*first/);
    assert.match((await ask('rollouts')).out, /pipeline +version[\s\S]*order +1 +v1/);
    const narrower = { ...contract, input: { type: 'string', maxLength: 3 } as const };
    const changed = { contracts: [{ ...narrower, version: contractVersion(narrower) }] };
    await writeFile(join(folder, 'other.json'), JSON.stringify(changed));
    const other = ['--artifact', 'image', '--digest', 'sha256:v2', '--file', 'other.json'];
    assert.equal((await ask('register', 'order', 'v2', ...other)).code, 0);
    const listed = JSON.stringify([{ name: 'mailer', digest: 'sha256:1f0b', size: 48 }]);
    await writeFile(join(folder, 'artifacts.json'), listed);
    const several = ['--artifact', 'image', '--digest', 'sha256:v3', '--artifacts'];
    assert.equal((await ask('register', 'order', 'v3', ...several, '@artifacts.json')).code, 0);
    assert.match((await ask('list', 'order')).out, /artifacts[\s\S]*v3 .*mailer/);
    assert.match((await ask('list', 'order', '--json')).out, new RegExp(listed.slice(1, -1)));
    const twice = await ask('register', 'order', 'v4', ...several, '[{"name":"a"}]');
    assert.match(twice.problems, /artifacts\[0\]: digest must be a string/);
    const compared = await ask('compare', 'order', 'v2');
    assert.deepEqual([compared.code, compared.problems], [1, '']);
    assert.match(compared.out, /BREAKS {2}input[\s\S]*1 changes?, compared with "v1"/);
    assert.equal((await ask('compare', 'order', 'v1', '--against', 'v2', '--json')).code, 0);
    assert.match(
      (await ask('preflight', 'order', 'v1')).out,
      /0 of 0 replayed executions would break; 0/,
    );
    const submit = (choice: string) =>
      holdfast(['submit', 'order', '--if-no-worker', choice], { cwd: folder, env });
    const alone = await submit('refuse');
    assert.equal(alone.code, 1, alone.out);
    assert.match(alone.problems, /No (live )?worker/);
    assert.equal((await submit('wait')).code, 0);
    assert.match((await submit('no')).problems, /--if-no-worker must be wait or refuse; got "no"/);
    const pinned = await ask('deactivate', 'order', '--json');
    assert.deepEqual(JSON.parse(pinned.out), { kind: 'changed', version: 2, previous: 'v1' });
    const retired = await ask('retire', 'order', 'v1');
    assert.match(retired.problems, /One open execution is pinned to release "v1"/);
    assert.match((await ask('activate', 'order')).problems, /<release> is required/);
    assert.match((await ask('actvate', 'order')).problems, /Did you mean "activate"/);
  } finally {
    await coordinator[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  }
});

function isRefused(code: string): (error: unknown) => boolean {
  return (error) => {
    assert(error instanceof CallRefused, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  };
}
