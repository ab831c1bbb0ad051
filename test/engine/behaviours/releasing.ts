import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import type { Handle, Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, pause, type Stage } from '../stage.ts';
import { cancelledByTheDead, neverEnding } from './cancelling.ts';

type Code = Pipeline<unknown, unknown>;

let pipelines = 0;

/** A pipeline with a unique name, in as many builds as given. */
function builds(
  ...codes: readonly ((ctx: Context, input: unknown) => Promise<unknown>)[]
): readonly Code[] {
  pipelines += 1;
  const name = `released ${pipelines}`;
  return codes.map((run) => pipeline({ name, run }));
}

const buildOf = (name: string) => ({ name, digest: `sha256:${name}` });

async function register(holdfast: Holdfast, code: Code, name: string): Promise<void> {
  const build = { ...buildOf(name), artifact: 'image' };
  const answer = await holdfast.releases.register({ pipeline: code, ...build });
  assert.equal(answer.kind, 'registered', JSON.stringify(answer));
}

async function activate(holdfast: Holdfast, code: Code, name: string): Promise<void> {
  await register(holdfast, code, name);
  const answer = await holdfast.releases.activate(code.name, name, { actor: 'olga' });
  assert.equal(answer.kind, 'changed', JSON.stringify(answer));
}

function workerOf(stage: Stage, code: Code, name: string) {
  return stage.worker(stage.holdfast(), [code], { release: buildOf(name), probeMs: 50 });
}

const waiting =
  (word: string, step = 'first') =>
  async (ctx: Context): Promise<unknown> => {
    await ctx.step(step, () => 1);
    await ctx.receive('go');
    return ctx.step('last', () => word);
  };

async function parked(stage: Stage, holdfast: Holdfast, code: Code) {
  const handle = await holdfast.submit(code, undefined);
  await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
  return handle;
}

const OPEN = {
  'await:approve#1': (ctx: Context) => ctx.await('approve'),
  'sleep:sleep#1': (ctx: Context) => ctx.sleep(86_400_000),
  'signal:paid#1': (ctx: Context) => ctx.receive('paid'),
};

export const RELEASING: readonly Behaviour[] = [
  {
    name: 'while a new release takes over, open executions end on the old one, which can then be retired',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1, v2] = builds(waiting('old'), waiting('new', 'other'));
      assert(v1 !== undefined && v2 !== undefined);
      await activate(holdfast, v1, 'v1');
      await workerOf(stage, v1, 'v1');
      const old = await parked(stage, holdfast, v1);
      await activate(holdfast, v2, 'v2');
      await workerOf(stage, v2, 'v2');
      const fresh = await parked(stage, holdfast, v1);
      const states = async () =>
        (await holdfast.releases.list(v1.name)).map(({ name, state, pinned }) => [
          name,
          state,
          pinned,
        ]);
      assert.deepEqual(await states(), [
        ['v2', 'active', 1],
        ['v1', 'draining', 1],
      ]);
      const early = await holdfast.releases.retire(v1.name, 'v1');
      assert.equal(early.kind, 'refused');
      for (const { id } of [old, fresh]) await holdfast.signal(id, { name: 'go' });
      assert.deepEqual([await old.result(), await fresh.result()], ['old', 'new']);
      assert.deepEqual((await states()).at(-1), ['v1', 'drained', 0]);
      assert.equal((await holdfast.releases.retire(v1.name, 'v1')).kind, 'changed');
      const log = await holdfast.releases.log(v1.name);
      assert.deepEqual(
        log.map(({ action, actor }) => [action, actor]),
        [
          ['retire', 'anonymous'],
          ['activate', 'olga'],
          ['activate', 'olga'],
        ],
      );
    },
  },
  {
    name: 'RE-10: a preflight replays an execution whose history begins with a recorded cancel',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1, v2] = builds(neverEnding, neverEnding);
      assert(v1 !== undefined && v2 !== undefined);
      await activate(holdfast, v1, 'v1');
      const release = buildOf('v1');
      await cancelledByTheDead(stage, holdfast, { pipelines: [v1], release, probeMs: 50 });
      await register(holdfast, v2, 'v2');
      await workerOf(stage, v2, 'v2');
      const found = await holdfast.releases.preflight(v1.name, 'v2');
      assert(found.kind === 'replayed', JSON.stringify(found));
      assert.deepEqual([found.replayed, found.broken], [1, []]);
    },
  },
  {
    name: 'RE-10, RE-7: a preflight names the execution and step that would break, and activation needs force',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1, v2, v3] = builds(waiting('a'), waiting('b', 'renamed'), waiting('c'));
      assert(v1 !== undefined && v2 !== undefined && v3 !== undefined);
      await activate(holdfast, v1, 'v1');
      await workerOf(stage, v1, 'v1');
      const { id } = await parked(stage, holdfast, v1);
      const other = await parked(stage, holdfast, v1);
      const before = await holdfast.history(id);
      for (const [code, name] of [
        [v2, 'v2'],
        [v3, 'v3'],
      ] as const) {
        await register(holdfast, code, name);
        await workerOf(stage, code, name);
      }
      const found = await holdfast.releases.preflight(v1.name, 'v2');
      assert(found.kind === 'replayed', JSON.stringify(found));
      assert.deepEqual([found.breaking, found.open, found.replayed], [true, 2, 2]);
      assert.equal(found.against, 'v1');
      const broken = found.broken.find((each) => each.execution === id);
      assert.match(broken?.why ?? '', /step:first#1 at event \d+, but the code has step:renamed#1/);
      assert.equal(broken?.seq, before.find(({ kind }) => kind === 'step-completed')?.seq);
      const refused = await holdfast.releases.activate(v1.name, 'v2');
      assert(refused.kind === 'refused' && refused.why === 'release-breaks');
      assert.match(refused.breaks.join(' '), /2 of 2 .*step:first#1/);
      // A preflight of one of them does not cover the other.
      const some = await holdfast.releases.preflight(v1.name, 'v2', { sample: 1 });
      assert(some.kind === 'replayed' && some.brokenCount === 2 && some.replayed === 2);
      await assert.rejects(holdfast.releases.preflight(v1.name, 'v2', { sample: 0 }), /sample/);
      // The preflight changed nothing.
      assert.deepEqual(await holdfast.history(id), before);
      const fine = await holdfast.releases.preflight(v1.name, 'v3', { sample: 1 });
      assert(fine.kind === 'replayed');
      assert.deepEqual([fine.breaking, fine.open, fine.replayed], [false, 2, 1]);
      assert.equal((await holdfast.releases.activate(v1.name, 'v3')).kind, 'changed');
      const forced = { force: true, reason: 'they will be cancelled', actor: 'olga' };
      assert.equal((await holdfast.releases.activate(v1.name, 'v2', forced)).kind, 'changed');
      const [entry] = await holdfast.releases.log(v1.name);
      assert.deepEqual([entry?.forced, entry?.reason], [true, 'they will be cancelled']);
      for (const each of [id, other.id]) await holdfast.signal(each, { name: 'go' });
      assert.equal(await other.result(), 'a');
    },
  },
  ...Object.entries(OPEN).map(([open, asking]) => ({
    name: `RE-10: code that does not wait for ${open} would break, although it is still open`,
    async run(stage: Stage) {
      const holdfast = stage.holdfast();
      const [v1, v2] = builds(asking, async (ctx) => ctx.receive('go'));
      assert(v1 !== undefined && v2 !== undefined);
      await activate(holdfast, v1, 'v1');
      await workerOf(stage, v1, 'v1');
      const { id } = await parked(stage, holdfast, v1);
      await register(holdfast, v2, 'v2');
      await workerOf(stage, v2, 'v2');
      const found = await holdfast.releases.preflight(v1.name, 'v2');
      assert(found.kind === 'replayed', JSON.stringify(found));
      assert.deepEqual([found.broken.length, found.broken[0]?.execution], [1, id]);
      assert.match(found.broken[0]?.why ?? '', new RegExp(`^History has ${open} at event \\d+,`));
    },
  })),
  {
    name: 'a preflight of an unknown release, or of one without a worker, is refused',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1] = builds(waiting('a'));
      assert(v1 !== undefined);
      await holdfast.submit(v1, undefined);
      await register(holdfast, v1, 'v1');
      const unserved = await holdfast.releases.preflight(v1.name, 'v1', { waitMs: 50 });
      assert(unserved.kind === 'refused');
      assert.equal(unserved.why, 'no-worker');
      const unknown = await holdfast.releases.preflight(v1.name, 'v9');
      assert(unknown.kind === 'refused');
      assert.equal(unknown.why, 'release-unknown');
    },
  },
  {
    name: 'a repinned execution continues with the other release, whose code fits its history',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1, v2] = builds(waiting('old'), waiting('new'));
      assert(v1 !== undefined && v2 !== undefined);
      await activate(holdfast, v1, 'v1');
      await workerOf(stage, v1, 'v1');
      const handle = await parked(stage, holdfast, v1);
      await register(holdfast, v2, 'v2');
      await workerOf(stage, v2, 'v2');
      const operation = { from: 'v1', actor: 'olga', reason: 'hotfix' };
      const repinned = await holdfast.releases.repin(handle.id, 'v2', operation);
      assert.equal(repinned.kind, 'repinned', JSON.stringify(repinned));
      await holdfast.signal(handle.id, { name: 'go' });
      assert.equal(await handle.result(), 'new');
      const { items } = await holdfast.audit.list({ action: 'repin' });
      assert.deepEqual([items[0]?.actor, items[0]?.reason], ['olga', 'hotfix']);
    },
  },
  {
    name: 'RE-8, RE-17: a repin to code that would break, or was not checked, is refused unless forced',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1, v2] = builds(waiting('old'), waiting('new', 'renamed'));
      assert(v1 !== undefined && v2 !== undefined);
      await activate(holdfast, v1, 'v1');
      await workerOf(stage, v1, 'v1');
      const { id } = await parked(stage, holdfast, v1);
      await register(holdfast, v2, 'v2');
      const alone = await holdfast.releases.repin(id, 'v2', { waitMs: 50 });
      assert(alone.kind === 'refused');
      assert.equal(alone.why, 'repin-unchecked');
      await workerOf(stage, v2, 'v2');
      const refused = await holdfast.releases.repin(id, 'v2');
      assert(refused.kind === 'refused' && refused.why === 'repin-breaks', JSON.stringify(refused));
      assert.match(refused.because, /step:first#1 at event \d+, but the code has step:renamed#1/);
      assert.equal((await holdfast.read(id))?.release, 'v1');
      const unsaid = await holdfast.releases.repin(id, 'v2', { force: true });
      assert(unsaid.kind === 'refused');
      assert.equal(unsaid.why, 'force-without-reason');
      const forced = { force: true, reason: 'to see it blocked', actor: 'olga' };
      assert.equal((await holdfast.releases.repin(id, 'v2', forced)).kind, 'repinned');
      assert.equal((await holdfast.read(id))?.release, 'v2');
    },
  },
  {
    name: 'a worker whose digest differs from its release reports it and gets no pinned execution',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1] = builds(waiting('a'));
      assert(v1 !== undefined);
      await activate(holdfast, v1, 'v1');
      const { id } = await holdfast.submit(v1, undefined);
      const release = { name: 'v1', digest: 'sha256:other' };
      await stage.worker(holdfast, [v1], { release, probeMs: 50 });
      const isReported = () =>
        stage.reports.some((each) => each.kind === 'trouble' && /another digest/.test(each.cause));
      while (!isReported()) await pause(5);
      assert.equal((await holdfast.read(id))?.status, 'queued');
      // Such a worker does not run preflights for other executions either.
      await register(holdfast, v1, 'v2');
      await stage.worker(stage.holdfast(), [v1], { release: { ...release, name: 'v2' } });
      const found = await holdfast.releases.preflight(v1.name, 'v2', { waitMs: 300 });
      assert.equal(found.kind === 'refused' && found.why, 'no-worker');
      await workerOf(stage, v1, 'v1');
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
    },
  },
  {
    name: 'RE-11: a worker that polls rarely still announces that it takes work',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1] = builds(waiting('a'));
      assert(v1 !== undefined);
      await activate(holdfast, v1, 'v1');
      const seldom = { release: buildOf('v1'), probeMs: 20, pollMs: 3_600_000 };
      const worker = await stage.worker(holdfast, [v1], seldom);
      const proved = async (): Promise<number> => {
        const all = await holdfast.releases.workers();
        return all.find(({ session }) => session === worker.session)?.provedAt ?? 0;
      };
      const times = new Set<number>();
      while (times.size < 5) {
        times.add(await proved());
        await pause(5);
      }
    },
  },
  {
    name: 'RE-12: a submit without a live worker is refused if the caller wants that, and waits otherwise',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1] = builds(waiting('a'));
      assert(v1 !== undefined);
      await activate(holdfast, v1, 'v1');
      const refused = holdfast.submit(v1, undefined, { ifNoWorker: 'refuse' });
      await assert.rejects(refused, /No live worker runs pipeline .* in release "v1"/);
      const { id } = await holdfast.submit(v1, undefined, { ifNoWorker: 'wait' });
      assert.equal((await holdfast.explain(id))?.code, 'no-worker');
      await stage.worker(stage.holdfast(), [v1], { release: buildOf('v1') });
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      const { id: next } = await holdfast.submit(v1, undefined, { ifNoWorker: 'refuse' });
      await stage.until(holdfast, next, ({ status }) => status === 'waiting');
    },
  },
  {
    name: 'RE-12: a worker without a release counts as a worker for unpinned executions',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [plain] = builds(waiting('a'));
      assert(plain !== undefined);
      const asked = { ifNoWorker: 'refuse' } as const;
      await assert.rejects(
        holdfast.submit(plain, undefined, asked),
        /No live worker runs pipeline/,
      );
      const worker = await stage.worker(stage.holdfast(), [plain]);
      const isThere = async () => {
        const all = await holdfast.releases.workers();
        return all.some(({ session, state }) => session === worker.session && state === 'ready');
      };
      while (!(await isThere())) await pause(5);
      const { id } = await holdfast.submit(plain, undefined, asked);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
    },
  },
  {
    name: 'RE-13: adopting changed code repins executions that fit, and the others stay with a reason',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [first, second] = builds(waiting('old'), waiting('new', 'renamed'));
      assert(first !== undefined && second !== undefined);
      const old = await holdfast.releases.adopt([first], { source: 'one', actor: 'dev' });
      assert.deepEqual([old.repinned, old.broken], [0, []]);
      const worker = await stage.worker(holdfast, [first], { release: old.release, probeMs: 20 });
      const parkedOne = await parked(stage, holdfast, first);
      await worker.stop();
      const fresh = await holdfast.submit(first, undefined);
      const next = await holdfast.releases.adopt([second], { source: 'two', actor: 'dev' });
      assert.equal(next.repinned, 1);
      assert.deepEqual(
        next.broken.map(({ execution }) => execution),
        [parkedOne.id],
      );
      assert.equal((await holdfast.read(fresh.id))?.release, next.release.name);
      const explained = await holdfast.explain(parkedOne.id);
      assert.equal(explained?.code, 'no-worker');
      assert.match(explained?.sentence ?? '', /is incompatible\. History has .*, but the code has/);
      await stage.worker(holdfast, [second], { release: next.release });
      await holdfast.signal(fresh.id, { name: 'go' });
      assert.equal(await fresh.result(), 'new');
      // The old code again: the executions left behind continue.
      const back = await holdfast.releases.adopt([first], { source: 'one', actor: 'dev' });
      assert.equal(back.release.name, old.release.name);
      await stage.worker(holdfast, [first], { release: back.release });
      await holdfast.signal(parkedOne.id, { name: 'go' });
      assert.equal(await parkedOne.result(), 'old');
    },
  },
  {
    name: 'RE-13: an execution submitted while code is adopted is not left with a release without workers',
    async run(stage) {
      const holdfast = stage.holdfast();
      let late: Promise<Handle<unknown>> | undefined;
      const [first, second] = builds(waiting('old'), async (ctx) => {
        // The preflight replays it now.
        late ??= holdfast.submit(second?.name ?? '', undefined);
        return waiting('new')(ctx);
      });
      assert(first !== undefined && second !== undefined);
      await holdfast.releases.adopt([first], { source: 'one' });
      await holdfast.submit(first, undefined);
      const next = await holdfast.releases.adopt([second], { source: 'two' });
      assert.deepEqual([next.repinned, next.broken], [1, []]);
      const { id } = (await late) ?? { id: '' };
      assert.equal((await holdfast.read(id))?.release, next.release.name);
    },
  },
  {
    name: 'RE-5: a successor is pinned to the active release, so that the old one drains',
    async run(stage) {
      const holdfast = stage.holdfast();
      const turning = (build: string) => async (ctx: Context, input: unknown) => {
        const rounds = (input as readonly string[] | undefined) ?? [];
        await ctx.receive('go');
        if (rounds.length === 2) return [...rounds, build];
        return ctx.continueAsNew([...rounds, build]);
      };
      const [v1, v2] = builds(turning('v1'), turning('v2'));
      assert(v1 !== undefined && v2 !== undefined);
      await activate(holdfast, v1, 'v1');
      await workerOf(stage, v1, 'v1');
      const { id, result } = await parked(stage, holdfast, v1);
      await activate(holdfast, v2, 'v2');
      await workerOf(stage, v2, 'v2');
      // Messages that it does not receive go to the successor.
      for (let round = 1; round <= 3; round += 1) await holdfast.signal(id, { name: 'go' });
      assert.deepEqual(await result(), ['v1', 'v2', 'v2']);
      const [old] = (await holdfast.releases.list(v1.name)).filter(({ name }) => name === 'v1');
      assert.equal(old?.state, 'drained');
    },
  },
  {
    name: 'a dead letter names its release, and a re-drive can choose one',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [v1, v2] = builds(
        (ctx) =>
          ctx.step('charge', () => Promise.reject(new Error('bug')), { retry: { attempts: 1 } }),
        (ctx) => ctx.step('charge', () => 'fixed'),
      );
      assert(v1 !== undefined && v2 !== undefined);
      await activate(holdfast, v1, 'v1');
      await workerOf(stage, v1, 'v1');
      const { id, result } = await holdfast.submit(v1, undefined);
      await assert.rejects(result());
      assert.equal((await holdfast.repair.deadLetter(id))?.release, 'v1');
      await register(holdfast, v2, 'v2');
      await workerOf(stage, v2, 'v2');
      const again = await holdfast.repair.redrive(id, { release: 'v2' });
      assert.equal(await holdfast.result(again.id), 'fixed');
      assert.equal((await holdfast.read(again.id))?.release, 'v2');
    },
  },
];
