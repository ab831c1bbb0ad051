import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { Behaviour, Stage } from '../stage.ts';

type Code = Pipeline<unknown, unknown>;

let pipelines = 0;

/** Two builds that name their first step differently on request. */
function builds(): { readonly v1: Code; readonly v2: Code } {
  pipelines += 1;
  const name = `repinned by many ${pipelines}`;
  const build = (word: string, step: (input: unknown) => string): Code =>
    pipeline({
      name,
      async run(ctx: Context, input: unknown) {
        await ctx.step(step(input), () => 1);
        await ctx.receive('go');
        await ctx.step('middle', () => 1);
        await ctx.receive('end');
        return ctx.step('last', () => word);
      },
    });
  const v2 = build('new', (input) => (input === 'breaks' ? 'renamed' : 'first'));
  return { v1: build('old', () => 'first'), v2 };
}

const buildOf = (name: string) => ({ name, digest: `sha256:${name}` });

async function register(holdfast: Holdfast, code: Code, name: string): Promise<void> {
  const build = { pipeline: code, ...buildOf(name), artifact: 'image' };
  assert.equal((await holdfast.releases.register(build)).kind, 'registered');
}

function workerOf(stage: Stage, code: Code, name: string) {
  return stage.worker(stage.holdfast(), [code], { release: buildOf(name), probeMs: 50 });
}

/** As many executions as `inputs` wait on v1; v2 is registered. */
async function opened(stage: Stage, inputs: readonly unknown[]) {
  const holdfast = stage.holdfast();
  const { v1, v2 } = builds();
  await register(holdfast, v1, 'v1');
  await holdfast.releases.activate(v1.name, 'v1', { actor: 'olga' });
  await workerOf(stage, v1, 'v1');
  const handles = await Promise.all(inputs.map((input) => holdfast.submit(v1, input)));
  for (const { id } of handles) {
    await stage.until(holdfast, id, ({ status }) => status === 'waiting');
  }
  await register(holdfast, v2, 'v2');
  const filter = { pipeline: v1.name, release: 'v1' };
  return { holdfast, v1, v2, ids: handles.map(({ id }) => id), filter };
}

async function releasesOf(holdfast: Holdfast, ids: readonly ExecutionId[]) {
  return Promise.all(ids.map(async (id) => (await holdfast.read(id))?.release));
}

async function outcomesOf(holdfast: Holdfast, job: ExecutionId) {
  const items = await holdfast.bulk.items(job);
  return new Map(items.map(({ target, outcome }) => [target, outcome]));
}

async function bothSignals(holdfast: Holdfast, id: ExecutionId): Promise<void> {
  for (const name of ['go', 'end']) await holdfast.signal(id, { name });
}

export const REPINNING_MANY: readonly Behaviour[] = [
  {
    name: 'RE-8, Y-23, RE-18: a bulk repin goes in pages, skips executions that would break, and stores each outcome',
    async run(stage) {
      const inputs = Array.from({ length: 130 }, (_, n) => (n % 40 === 7 ? 'breaks' : n));
      const { holdfast, v2, ids, filter } = await opened(stage, inputs);
      const other = await holdfast.submit(v2, 1, { release: 'v2' });
      await workerOf(stage, v2, 'v2');
      const dry = await holdfast.bulk.repin({ filter, to: 'v2', dryRun: true });
      const counted = { seen: 130, outcomes: { 'would-repin': 126, 'repin-breaks': 4 } };
      assert.deepEqual(await dry.result(), counted);
      assert.deepEqual(new Set(await releasesOf(holdfast, ids)), new Set(['v1']));
      assert.deepEqual(await holdfast.bulk.items(dry.id), []);
      const asked = { filter, to: 'v2', actor: 'olga', reason: 'v1 is slow', key: 'tuesday' };
      const job = await holdfast.bulk.repin(asked);
      const outcomes = { repinned: 126, 'repin-breaks': 4 };
      assert.deepEqual(await job.result(), { seen: 130, outcomes });
      assert.equal((await holdfast.bulk.repin(asked)).id, job.id);
      const isBroken = (n: number): boolean => inputs[n] === 'breaks';
      const expected = ids.map((id, n) => [id, isBroken(n) ? 'repin-breaks' : 'repinned'] as const);
      assert.deepEqual(await outcomesOf(holdfast, job.id), new Map(expected.toSorted()));
      assert.deepEqual(
        await releasesOf(holdfast, ids),
        inputs.map((_, n) => (isBroken(n) ? 'v1' : 'v2')),
      );
      for (const id of [...ids, other.id]) await bothSignals(holdfast, id);
      const results = await Promise.all(ids.map((id) => holdfast.result(id)));
      assert.deepEqual(
        results,
        inputs.map((_, n) => (isBroken(n) ? 'old' : 'new')),
      );
      const moved = (await holdfast.history(ids[0] ?? '')).find(({ kind }) => kind === 'moved');
      const body = JSON.parse(moved?.body ?? '{}') as { readonly by?: string };
      assert.deepEqual(body, { by: 'olga', reason: 'v1 is slow', job: job.id });
    },
  },
  {
    name: 'J-1: a bulk repin leaves one audit record, a dry run leaves none',
    async run(stage) {
      const { holdfast, v2, filter } = await opened(stage, [1, 2]);
      await workerOf(stage, v2, 'v2');
      await (await holdfast.bulk.repin({ filter, to: 'v2', dryRun: true })).result();
      const job = await holdfast.bulk.repin({
        filter,
        to: 'v2',
        actor: 'olga',
        reason: 'asked for',
      });
      await job.result();
      const { items } = await holdfast.audit.list({ action: 'bulk-repin' });
      const own = items.filter(({ target }) => target.id === job.id);
      assert.deepEqual(
        own.map(({ actor, reason, after }) => [actor, reason, after?.['to']]),
        [['olga', 'asked for', 'v2']],
      );
      assert.deepEqual(own[0]?.after?.['filter'], filter);
    },
  },
  {
    name: 'RE-8, RE-18: without a worker of the release the job waits, holds no worker and names the release; then it continues',
    async run(stage) {
      const { holdfast, v1, v2, ids, filter } = await opened(stage, [1, 2, 3]);
      const job = await holdfast.bulk.repin({ filter, to: 'v2', actor: 'olga' });
      await stage.until(holdfast, job.id, ({ status }) => status === 'waiting');
      const explained = await holdfast.explain(job.id);
      assert.match(JSON.stringify(explained), /holdfast\.replay\/v2\//);
      await workerOf(stage, v2, 'v2');
      assert.deepEqual(await job.result(), { seen: 3, outcomes: { repinned: 3 } });
      assert.deepEqual(await releasesOf(holdfast, ids), ['v2', 'v2', 'v2']);
      assert.equal((await holdfast.releases.list(v1.name)).at(-1)?.pinned, 0);
    },
  },
  {
    name: 'RE-8, RE-18: a job skips executions that moved on, ended or were repinned after its check; another job takes the rest',
    async run(stage) {
      const { holdfast, v1, v2, ids, filter } = await opened(stage, [1, 2, 3, 4]);
      const [idle, onward, over, elsewhere] = ids;
      assert(idle && onward && over && elsewhere);
      await register(holdfast, v1, 'v3');
      const job = await holdfast.bulk.repin({ filter, to: 'v2', actor: 'olga' });
      await stage.until(holdfast, job.id, ({ status }) => status === 'waiting');
      const before = (await holdfast.read(onward))?.seq ?? 0;
      await holdfast.signal(onward, { name: 'go' });
      await bothSignals(holdfast, over);
      assert.equal(await holdfast.result(over), 'old');
      const asked = { force: true, reason: 'it must', actor: 'ann' };
      assert.equal((await holdfast.releases.repin(elsewhere, 'v3', asked)).kind, 'repinned');
      await stage.until(
        holdfast,
        onward,
        ({ status, seq }) => status === 'waiting' && seq > before,
      );
      await workerOf(stage, v2, 'v2');
      assert.equal((await job.result()).seen, 4);
      const expected: [ExecutionId, string][] = [
        [idle, 'repinned'],
        [onward, 'execution-went-on'],
        [over, 'already-ended'],
        [elsewhere, 'pinned-elsewhere'],
      ];
      assert.deepEqual(await outcomesOf(holdfast, job.id), new Map(expected));
      const again = await holdfast.bulk.repin({ filter, to: 'v2', actor: 'olga' });
      assert.deepEqual(await again.result(), { seen: 1, outcomes: { repinned: 1 } });
      assert.deepEqual(await releasesOf(holdfast, ids), ['v2', 'v2', 'v1', 'v3']);
    },
  },
  {
    name: 'RE-8: a bulk repin to a missing, retired or current release is refused, and no job starts',
    async run(stage) {
      const { holdfast, v1, filter } = await opened(stage, []);
      await register(holdfast, v1, 'old');
      await holdfast.releases.retire(v1.name, 'old');
      for (const [to, expected] of [
        ['v9', { code: 'release-unknown' }],
        ['old', { code: 'release-retired' }],
        ['v1', /there is nothing to do/],
      ] as const) {
        await assert.rejects(holdfast.bulk.repin({ filter, to }), expected);
      }
    },
  },
];
