// Repins all executions of a release through a coordinator: with an admin client and with the
// command line.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HoldfastClient } from '../../src/client/client.ts';
import { contractOf } from '../../src/features/releases/contract-api.ts';
import { type Context, pipeline } from '../../src/index.ts';
import { holdfast, startHoldfast } from '../cli/spawned.ts';
import { refusedWith, TestCoordinator, until } from './coordinator.ts';

/** A build that renames the first step on request. */
const order = (isRenamed: boolean) =>
  pipeline({
    name: 'order',
    async run(ctx: Context, input: unknown) {
      await ctx.step(isRenamed && input === 'breaks' ? 'bill' : 'charge', () => 1);
      await ctx.receive('go');
      return isRenamed ? 'new' : 'old';
    },
  });

const released = (name: string) => ({ release: { name, digest: `sha256:${name}` }, probeMs: 50 });

interface Stand {
  readonly coordinator: TestCoordinator;
  readonly admin: HoldfastClient;
  readonly ids: readonly string[];
}

/** Executions that wait on v1, of both projects; v2 is registered, and has a worker in `ours`. */
async function opened(coordinator: TestCoordinator, inputs: readonly unknown[]): Promise<Stand> {
  let stand: Stand | undefined;
  for (const project of ['theirs', 'ours']) {
    const admin = await coordinator.client(['admin', 'submit', 'operate'], project);
    const contract = { ...contractOf(order(false) as never) } as Record<string, unknown>;
    for (const name of ['v1', 'v2']) {
      const body = { name, artifact: 'image', digest: `sha256:${name}`, contract };
      await admin.releases.register('order', body);
    }
    await admin.releases.change('order', { action: 'activate', name: 'v1' });
    await coordinator.worker([order(false)], { ...released('v1'), project });
    const ids: string[] = [];
    for (const input of inputs) {
      ids.push((await admin.executions.submit({ pipeline: 'order', input })).id);
    }
    for (const id of ids) {
      await until(async () =>
        (await admin.executions.read(id)).status === 'waiting' ? true : undefined,
      );
    }
    stand = { coordinator, admin, ids };
  }
  await coordinator.worker([order(true)], { ...released('v2'), project: 'ours' });
  return stand ?? assert.fail();
}

function endedJob({ jobs }: HoldfastClient, id: string) {
  return until(async () => {
    const job = await jobs.read(id);
    return job.endedAt === undefined ? undefined : job;
  });
}

test('RE-8: an admin repins all executions of a release in its project, and in no other', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { admin, ids } = await opened(coordinator, [1, 'breaks', 3]);
  const body = { from: 'v1', to: 'v2', reason: 'v1 is slow' };
  const dry = await admin.releases.repinAll('order', { ...body, dryRun: true });
  const counted = await endedJob(admin, dry.id);
  assert.deepEqual([counted.action, counted.dryRun, counted.seen], ['repin', true, 3]);
  assert.deepEqual(counted.outcomes, { 'would-repin': 2, 'repin-breaks': 1 });
  const { id } = await admin.releases.repinAll('order', { ...body, key: 'tuesday' });
  assert.deepEqual(await admin.releases.repinAll('order', { ...body, key: 'tuesday' }), { id });
  const { outcomes, actor, reason } = await endedJob(admin, id);
  assert.deepEqual([outcomes, reason], [{ repinned: 2, 'repin-breaks': 1 }, 'v1 is slow']);
  assert.match(actor, /admin.* \(\w+\)$/, 'the name and the id of the key (J-8)');
  const items = new Map(
    (await admin.jobs.items(id)).items.map(({ target, outcome }) => [target, outcome]),
  );
  assert.deepEqual(
    ids.map((each) => items.get(each)),
    ['repinned', 'repin-breaks', 'repinned'],
  );
  const theirs = await coordinator.client(['submit'], 'theirs');
  for (const { release } of (await theirs.executions.list()).items) assert.equal(release, 'v1');
});

test('RE-8: only an admin repins; a missing release is refused before a job starts', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { admin } = await opened(coordinator, []);
  const body = { from: 'v1', to: 'v2' };
  const operator = await coordinator.client(['operate', 'submit', 'work'], 'ours');
  await assert.rejects(operator.releases.repinAll('order', body), refusedWith('role-missing', 403));
  const to = (name: string) => admin.releases.repinAll('order', { ...body, to: name });
  await assert.rejects(to('v9'), refusedWith('release-unknown', 404));
  await assert.rejects(to('v1'), refusedWith('invalid-input', 400));
  await admin.releases.change('order', { action: 'retire', name: 'v2' });
  await assert.rejects(to('v2'), refusedWith('release-retired', 409));
  assert.deepEqual((await admin.jobs.list()).items, []);
});

test('jobs of every kind are in one list, newest first, in pages', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { admin } = await opened(coordinator, []);
  const made: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    made.push((await admin.jobs.cancel({ filter: { pipeline: 'none' } })).id);
    made.push((await admin.releases.repinAll('order', { from: 'v1', to: 'v2' })).id);
  }
  const seen: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.jobs.list({ limit: 2, ...(cursor && { cursor }) });
    seen.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  assert.deepEqual(seen, made.toReversed());
  const [last = ''] = seen;
  await endedJob(admin, last);
  await assert.rejects(admin.jobs.pause(last), refusedWith('already-ended', 409));
});

test('holdfast releases repin --all counts, repins, and lists executions that were not repinned', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { ids } = await opened(coordinator, [1, 'breaks']);
  const key = await coordinator.key(['admin', 'operate'], 'ours');
  const env = { HOLDFAST_URL: coordinator.url, HOLDFAST_KEY: key };
  const ask = (words: string) => holdfast(['releases', 'repin', ...words.split(' ')], { env });
  const dry = await ask('order v2 --all --from v1 --dry-run');
  assert.equal(dry.code, 1, dry.problems);
  assert.match(dry.problems, /^Started job [0-9a-f-]{36}\. It continues/);
  assert.match(dry.out, /^(would-repin +1\nrepin-breaks +1|repin-breaks +1\nwould-repin +1)\n$/);
  const repinned = await ask('order v2 --all --from v1 --reason slow');
  assert.equal(repinned.code, 1);
  assert.match(repinned.out, /repinned +1/);
  assert.match(repinned.out, new RegExp(`Not repinned:\\n${ids[1]} +repin-breaks\\n$`));
  const back = await ask('order v1 --all --from v2 --json');
  assert.equal(back.code, 0, back.problems);
  const { outcomes, action, status } = JSON.parse(back.out);
  assert.deepEqual([outcomes, action, status], [{ repinned: 1 }, 'repin', 'completed']);
  const none = await ask('order v1 --all --unpinned');
  assert.deepEqual([none.code, none.out], [0, 'No open execution is pinned there.\n']);
});

test('holdfast releases repin --all prints what it waits for while no worker has the release', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { admin } = await opened(coordinator, [1]);
  const contract = { ...contractOf(order(false) as never) } as Record<string, unknown>;
  const body = { name: 'v3', artifact: 'image', digest: 'sha256:v3', contract };
  await admin.releases.register('order', body);
  const key = await coordinator.key(['admin', 'operate'], 'ours');
  const env = { HOLDFAST_URL: coordinator.url, HOLDFAST_KEY: key };
  const asking = startHoldfast('releases repin order v3 --all --from v1'.split(' '), { env });
  await asking.prints(/holdfast\.replay\/v3\/order/);
  await coordinator.worker([order(false)], { ...released('v3'), project: 'ours' });
  const { code, out } = await asking.ended();
  assert.deepEqual([code, out], [0, 'repinned  1\n']);
});
