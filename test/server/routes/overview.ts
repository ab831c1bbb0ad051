import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { type ExecutionId, type PipelineName, parseProject } from '../../../src/execution/names.ts';
import { pipeline, StepError } from '../../../src/index.ts';
import { toFence } from '../../../src/lease/fence.ts';
import type { Owner, SessionId } from '../../../src/lease/names.ts';
import { systemRandom } from '../../../src/support/random.ts';
import { refusedWith, until } from '../coordinator.ts';
import type { Case } from './case.ts';

const fine = pipeline({ name: 'fine', run: () => 1 });
const bad = pipeline({
  name: 'bad',
  run: (ctx, row: number) =>
    ctx.step(`row-${row}`, () => {
      throw new StepError('Nothing is left.', { category: 'permanent', code: 'no-stock' });
    }),
});
const broken = pipeline({
  name: 'broken',
  run: () => {
    throw new TypeError('Cannot read properties of undefined.');
  },
});
const asks = pipeline({ name: 'asks', run: (ctx) => ctx.await('approve', { timeoutMs: 60_000 }) });

const counted: Case = {
  name: 'the overview counts executions, causes of failures, questions and workers of a project',
  async run(coordinator) {
    const client = await coordinator.client(['submit', 'operate'], 'ours');
    const worker = await coordinator.worker([fine, bad, asks], {
      ...{ project: 'ours', owner: 'packer@host-3' },
    });
    const submit = (name: string, input?: unknown): Promise<{ readonly id: string }> =>
      client.executions.submit({ pipeline: name, input });
    const ended = [submit('fine'), submit('fine'), submit('bad', 5), submit('bad', 61)];
    for (const { id } of await Promise.all(ended)) await client.executions.result(id);
    await submit('asks');
    await submit('unserved');
    await until(async () => ((await client.awaits.list()).items.length > 0 ? true : undefined));
    const overview = await client.overview.read();
    const one = { count: 1, capped: false };
    const two = { count: 2, capped: false };
    const of = (name: string) => overview.pipelines.find((each) => each.pipeline === name);
    assert.deepEqual(of('fine')?.statuses, { completed: two });
    assert.deepEqual(of('bad')?.statuses, { failed: two });
    assert.deepEqual([of('asks')?.statuses, of('asks')?.workers], [{ waiting: one }, 1]);
    assert.deepEqual([of('unserved')?.ready, of('unserved')?.workers], [one, 0]);
    assert.ok(Date.parse(of('unserved')?.oldestReadyAt ?? '') <= Date.parse(overview.at));
    const { causes, ...letters } = overview.deadLetters;
    const none = { count: 0, capped: false };
    assert.deepEqual(letters, { ...two, quarantined: none, lastHour: two });
    assert.deepEqual(
      causes.map(({ code, step, count, message }) => ({ code, step, count, message })),
      [{ code: 'no-stock', step: 'row-*', count: 2, message: 'Nothing is left.' }],
    );
    assert.deepEqual(overview.questions.open, one);
    assert.deepEqual(overview.questions.overdue, { count: 0, capped: false });
    assert.deepEqual([overview.workers.ready, overview.workers.stuck], [1, 0]);
    assert.deepEqual([of('asks')?.lastWorker, of('unserved')?.lastWorker], [undefined, undefined]);
    await worker.stop();
    const left = await until(async () => {
      const { pipelines } = await client.overview.read();
      return pipelines.find((each) => each.pipeline === 'asks')?.lastWorker;
    });
    assert.equal(left.owner, 'packer@host-3');
    assert.ok(Date.parse(left.lastSeenAt) >= Date.parse(overview.at) - 60_000);
    const other = await (await coordinator.client(['operate'], 'theirs')).overview.read();
    assert.deepEqual([other.pipelines, other.deadLetters.count, other.workers.ready], [[], 0, 0]);
  },
};

const blocked: Case = {
  name: 'the overview counts executions that their code blocks',
  async run(coordinator) {
    const client = await coordinator.client(['submit', 'operate'], 'ours');
    await coordinator.worker([broken], { project: 'ours' });
    await Promise.all([1, 2, 3].map(() => client.executions.submit({ pipeline: 'broken' })));
    const counted = await until(async () => {
      const [figures] = (await client.overview.read()).pipelines;
      return figures?.blocked?.count === 3 ? figures : undefined;
    });
    assert.deepEqual(counted.blocked, { count: 3, capped: false });
    assert.deepEqual(counted.ready, { count: 0, capped: false });
  },
};

const lapsed: Case = {
  name: 'the overview counts workers that are gone and still own executions',
  async run(coordinator) {
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const { sessions, executions } = coordinator.store;
    const session = systemRandom.uuid() as SessionId;
    const pipelines = ['held' as PipelineName];
    const about = { owner: 'frozen@host-9' as Owner, ttlMs: 60_000, graceMs: 1_000, metadata: {} };
    await sessions.open({ id: session, ...about });
    await executions.announce({ session, pipelines, state: 'ready', everyMs: 60_000, room: 0 });
    for (const _ of [1, 2]) await client.executions.submit({ pipeline: 'held' });
    await executions.claim({ session, pipelines, shares: [{ lane: 'interactive', limit: 2 }] });
    const by = { kind: 'operator', actor: 'ann', reason: 'frozen' } as const;
    await sessions.end({ id: session, by });
    const workers = await until(async () => {
      const { workers } = await client.overview.read();
      return workers.lapsed > 0 ? workers : undefined;
    });
    assert.deepEqual([workers.lapsed, workers.left, workers.running], [1, 2, 0]);
  },
};

const trends: Case = {
  name: 'trends have rates and durations by interval, pipeline and range',
  async run(coordinator) {
    const client = await coordinator.client(['submit', 'operate'], 'ours');
    await coordinator.worker([fine, bad], { project: 'ours' });
    const submits = ['fine', 'fine', 'bad'].map((name) =>
      client.executions.submit({ pipeline: name, input: 1 }),
    );
    for (const { id } of await Promise.all(submits)) await client.executions.result(id);
    // The rollups leave out the last second.
    const { total, points, pipelines, intervalMs } = await until(async () => {
      const found = await client.overview.trends({ rangeMs: 900_000 });
      if (found.total.ended.completed + found.total.ended.failed === 3) return found;
      await pause(50);
      return undefined;
    });
    assert.equal(intervalMs, 60_000);
    assert.equal(points.length, 15);
    assert.deepEqual([total.ended.completed, total.ended.failed], [2, 1]);
    const sum = points.reduce((all, { ended }) => all + ended.completed + ended.failed, 0);
    assert.equal(sum, 3);
    assert.ok((total.duration?.p50Ms ?? 0) <= (total.duration?.p99Ms ?? -1));
    assert.deepEqual(
      pipelines.map((each) => [each.pipeline, each.ended.completed, each.ended.failed]),
      [
        ['bad', 0, 1],
        ['fine', 2, 0],
      ],
    );
    const only = await client.overview.trends({ pipeline: 'bad', rangeMs: 86_400_000 });
    assert.equal(only.intervalMs, 1_200_000);
    await assert.rejects(client.overview.trends({ release: 'v2' }), refusedWith('invalid-input'));
  },
};

const found: Case = {
  name: 'executions are found and counted by key, id, time, parent, code, or one text',
  async run(coordinator) {
    const client = await coordinator.client(['submit', 'operate'], 'ours');
    await coordinator.worker([bad], { project: 'ours' });
    const submit = async (name: string, key: string): Promise<string> =>
      (await client.executions.submit({ pipeline: name, key, input: 1 })).id;
    const first = await submit('unserved', 'order/17');
    const second = await submit('unserved', 'order/18');
    const failed = await submit('bad', 'bill/1');
    await client.executions.result(failed);
    type Filter = Parameters<typeof client.executions.list>[0];
    const ids = async (filter: Filter): Promise<readonly string[]> =>
      (await client.executions.list(filter)).items.map(({ id }) => id);
    assert.deepEqual(await ids({ key: 'order/17' }), [first]);
    assert.deepEqual(await ids({ keyPrefix: 'order/' }), [second, first]);
    assert.deepEqual(await ids({ q: 'order/' }), [second, first]);
    assert.deepEqual(await ids({ q: first }), [first]);
    assert.deepEqual(await ids({ idPrefix: first.slice(0, 8) }), [failed, second, first]);
    assert.deepEqual(await ids({ code: 'no-stock', topLevel: true }), [failed]);
    assert.deepEqual(await ids({ parent: failed }), []);
    assert.deepEqual(await ids({ staleOwner: true }), []);
    const { submittedAt } = await client.executions.read(second);
    const later = new Date(Date.parse(submittedAt) + 3_600_000).toISOString();
    const earlier = new Date(Date.parse(submittedAt) - 3_600_000).toISOString();
    const range = { submittedFrom: earlier, submittedTo: later };
    assert.deepEqual(await ids(range), [failed, second, first]);
    assert.deepEqual(await ids({ submittedFrom: later }), []);
    assert.deepEqual(await ids({ submittedTo: earlier }), []);
    assert.deepEqual(await client.executions.count(range), { count: 3, capped: false });
    const ended = { endedFrom: earlier, endedTo: later };
    assert.deepEqual(await ids(ended), [failed]);
    assert.deepEqual(await ids({ ...ended, sort: 'newest' }), [failed]);
    assert.deepEqual(await ids({ endedFrom: later }), []);
    assert.deepEqual(await client.executions.count(ended), { count: 1, capped: false });
    assert.deepEqual(await client.executions.count({ q: 'order/' }), { count: 2, capped: false });
    const several = client.executions.list({ key: 'a', keyPrefix: 'b' });
    await assert.rejects(several, refusedWith('invalid-input', 400));
    await assert.rejects(ids({ idPrefix: '0-' }), refusedWith('invalid-input', 400));
  },
};

const combined: Case = {
  name: 'executions are found by several attributes, release, worker and in three orders; bulk jobs take the same filter',
  async run(coordinator) {
    const client = await coordinator.client(['submit', 'operate'], 'ours');
    const submit = async (attributes: Record<string, string | number>): Promise<string> =>
      (await client.executions.submit({ pipeline: 'unserved', attributes, input: 1 })).id;
    const small = await submit({ total: 5, region: 'eu' });
    const large = await submit({ total: 500, region: 'eu' });
    const far = await submit({ total: 500, region: 'us' });
    type Filter = Parameters<typeof client.executions.list>[0];
    const ids = async (filter: Filter): Promise<readonly string[]> =>
      (await client.executions.list(filter)).items.map(({ id }) => id);
    const where = ['total>=100', 'total<=500', 'region=eu'];
    assert.deepEqual(await ids({ where }), [large]);
    assert.deepEqual(await ids({ where: ['region'], sort: 'oldest' }), [small, large, far]);
    assert.deepEqual(await ids({ where: ['total=500'], topLevel: true, q: large }), [large]);
    assert.deepEqual(await ids({ where, worker: 'ann' }), []);
    assert.deepEqual(await ids({ release: 'v2' }), []);
    for (const wrong of ['>=1', 'total>=x', 'total>1']) {
      await assert.rejects(ids({ where: [wrong] }), refusedWith('invalid-input', 400));
    }
    const filter = { where };
    assert.deepEqual(await client.executions.count(filter), { count: 1, capped: false });
    const { id } = await client.call<{ id: string }>('/v1/jobs/cancel', {
      method: 'POST',
      body: { filter, reason: 'Not wanted.' },
    });
    const { output } = await client.executions.result(id);
    assert.deepEqual(output, { seen: 1, outcomes: { done: 1 } });
    assert.deepEqual(await ids({ status: ['cancelled'] }), [large]);
    const first = await client.executions.list({ sort: 'ended', limit: 1 });
    assert.deepEqual(
      first.items.map((each) => each.id),
      [large],
    );
    const { cursor } = first;
    assert(cursor !== undefined);
    assert.deepEqual(await ids({ sort: 'ended', limit: 1, cursor }), []);
  },
};

const heartbeats: Case = {
  name: 'heartbeats show the sessions of the own project, with their refused writes in the range',
  async run(coordinator) {
    await coordinator.worker([fine], { project: 'ours' });
    const client = await coordinator.client(['operate', 'submit'], 'ours');
    const { id } = await client.executions.submit({ pipeline: 'fine' });
    await client.executions.result(id);
    const seen = await until(async () => (await client.sessions.heartbeats()).items[0]);
    assert.match(seen.cells, /^\.*o+$/);
    const [session] = (await client.sessions.list()).items;
    assert.deepEqual([seen.session, seen.project], [session?.id, 'ours']);
    await coordinator.store.executions.noteRefusals([
      {
        ...{ execution: id as ExecutionId, project: parseProject('ours'), verb: 'record' },
        ...{ fence: toFence(2 ** 40 + 1), newest: toFence(2 ** 40 + 2), why: 'superseded' },
        ...{ session: seen.session as SessionId, owner: seen.owner as Owner },
        ...{ count: 3, firstAgoMs: 0, lastAgoMs: 0, transport: 'http' },
      },
    ]);
    const marked = await until(async () => {
      const { items, ...about } = await client.sessions.heartbeats({ rangeMs: 900_000 });
      const [refused] = items[0]?.refused ?? [];
      return refused && { ...about, refused };
    });
    assert.deepEqual([marked.refused.execution, marked.refused.count], [id, 3]);
    assert.deepEqual([marked.isCut, marked.cellMs], [false, 10_000]);
    assert.ok(Date.parse(marked.observedSince ?? '') <= Date.parse(marked.refused.at));
    const to = new Date(Date.parse(marked.from) - 60_000).toISOString();
    assert.deepEqual((await client.sessions.heartbeats({ to })).items, []);
    const other = await coordinator.client(['operate'], 'theirs');
    assert.deepEqual((await other.sessions.heartbeats()).items, []);
    const submitter = await coordinator.client(['submit'], 'ours');
    await assert.rejects(submitter.sessions.heartbeats(), refusedWith('role-missing', 403));
  },
};

export const overviewCases: readonly Case[] = [
  heartbeats,
  counted,
  blocked,
  lapsed,
  trends,
  found,
  combined,
];
