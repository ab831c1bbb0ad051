// One scenario for each answer of `explain`, through the public API. A code without a scenario does
// not compile.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { ExplainCode } from '../../../src/execution/explain.ts';
import { remoteStep } from '../../../src/index.ts';
import { type Behaviour, door, pause, type Stage } from '../stage.ts';
import { REFUSED_WORKERS } from './refused-workers.ts';

interface Explained {
  readonly id: string;
  /** The Holdfast that explains. Default: the one of the scenario. */
  readonly by?: Holdfast;
  readonly expected: RegExp;
  readonly advises?: RegExp;
}

type Scenario = (stage: Stage, holdfast: Holdfast) => Promise<Explained>;

const HOUR_MS = 3_600_000;

const receiving = pipeline({ name: 'receiving', run: (ctx) => ctx.receive('go') });
const sleeping = pipeline({ name: 'sleeping', run: (ctx) => ctx.sleep(HOUR_MS, 'night') });
const parent = pipeline({
  name: 'parent',
  run: async (ctx) => (await ctx.spawn(receiving, undefined)).result(),
});
const both = pipeline({
  name: 'both',
  run: async (ctx) => {
    const children = [await ctx.spawn(receiving, undefined), await ctx.spawn(receiving, undefined)];
    await Promise.all(children.map((child) => child.result()));
  },
});
const calling = pipeline({
  name: 'calling',
  run: (ctx) => ctx.call(remoteStep({ name: 'score' }), undefined),
});
const asking = pipeline({
  name: 'asking',
  run: (ctx) => ctx.await('approval', { assignee: 'chef', timeoutMs: HOUR_MS }),
});
const working = pipeline({
  name: 'working',
  run: (ctx) => ctx.step('long', () => new Promise(() => undefined)),
});
const alone = pipeline({ name: 'alone', run: () => 1 });
const stuck = pipeline({ name: 'stuck', run: () => 1 });
const failing = pipeline({
  name: 'failing',
  run: () => Promise.reject(new Error('no such order')),
});

/** Submitted, and parked at the first wait of its code. */
async function parked(
  stage: Stage,
  holdfast: Holdfast,
  of: Pipeline<unknown, unknown>,
): Promise<string> {
  await stage.worker(holdfast, of === receiving ? [of] : [of, receiving]);
  const { id } = await holdfast.submit(of, undefined);
  await stage.until(holdfast, id, ({ status }) => status === 'waiting');
  return id;
}

/** Submitted, and run by a worker whose process then dies. */
async function orphaned(stage: Stage, holdfast: Holdfast, isKnown: boolean): Promise<string> {
  const worker = await stage.worker(holdfast, [working], { owner: 'ann', ttlMs: 500 });
  const { id } = await holdfast.submit(working, undefined);
  await stage.until(holdfast, id, ({ status }) => status === 'running');
  if (isKnown) await stage.crash(worker);
  else worker.crash();
  return id;
}

const SCENARIOS: Readonly<Record<ExplainCode, Scenario>> = {
  ended: async (stage, holdfast) => {
    await stage.worker(holdfast, [failing]);
    const { id, result } = await holdfast.submit(failing, undefined);
    await assert.rejects(result());
    return {
      id,
      expected: /^Failed at .+: no such order \(\S+explaining\.ts:\d+\)$/,
      advises: /^Fix the cause, then re-drive\.$/,
    };
  },
  paused: async (_, holdfast) => {
    const { id } = await holdfast.submit(receiving, undefined);
    await holdfast.pause(id, { actor: 'olga', reason: 'the kitchen burns' });
    return {
      ...{ id, expected: /^Paused by olga at 2\S+Z: the kitchen burns$/ },
      advises: /^Resume it/,
    };
  },
  blocked: async (stage, holdfast) => {
    const code = (step: string) =>
      pipeline<undefined, unknown>({
        name: 'changing',
        async run(ctx) {
          await ctx.step(step, () => 1);
          return ctx.receive('go');
        },
      });
    const old = await stage.worker(holdfast, [code('charge')]);
    const { id } = await holdfast.submit('changing', undefined);
    await stage.until(holdfast, id, ({ status }) => status === 'waiting');
    await old.stop();
    await stage.worker(holdfast, [code('bill')]);
    await holdfast.signal(id, { name: 'go' });
    await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
    return { id, expected: /^Blocked: .*step:charge#1/, advises: /^Deploy compatible code/ };
  },
  'no-worker': async (_, holdfast) => {
    const build = { name: 'v1', artifact: 'image', digest: 'sha256:v1' };
    await holdfast.releases.register({ pipeline: alone, ...build });
    await holdfast.releases.activate('alone', 'v1');
    const { id } = await holdfast.submit(alone, undefined);
    return {
      id,
      expected: /pinned to release "v1" of pipeline "alone"; no worker/,
      advises: /^Start/,
    };
  },
  'workers-stuck': async (stage, holdfast) => {
    const build = { name: 'v1', digest: 'sha256:v1' };
    await holdfast.releases.register({ pipeline: stuck, artifact: 'image', ...build });
    await holdfast.releases.activate('stuck', 'v1');
    let claims = 0;
    // The first claim returns. After that the claim loop hangs while the heartbeat goes on.
    const hanging = stage.holdfastWith(({ claim }) => ({
      claim: (request) => {
        claims += 1;
        return claims === 1 ? claim(request) : new Promise(() => undefined);
      },
    }));
    const options = { release: build, probeMs: 20, owner: 'ann' };
    const worker = await stage.worker(hanging, [stuck], options);
    while (claims < 2) await pause(5);
    const { id } = await holdfast.submit(stuck, undefined);
    while ((await holdfast.explain(id))?.code !== 'workers-stuck') await pause(5);
    // The hanging loop could not be stopped.
    worker.crash();
    return { id, expected: /are alive but not claiming: ann\.$/, advises: /^Check what/ };
  },
  'concurrency-limit': async (stage, holdfast) => {
    const concurrency = { key: 'one', limit: 1 };
    await stage.worker(holdfast, [receiving]);
    const first = await holdfast.submit(receiving, undefined, { concurrency });
    await stage.until(holdfast, first.id, ({ status }) => status === 'waiting');
    const { id } = await holdfast.submit(receiving, undefined, { concurrency });
    return { id, expected: /a slot of concurrency key "one"/, advises: /ends\.$/ };
  },
  'rate-limited': async (stage, holdfast) => {
    const rate = { key: 'slow', limit: 1, perMs: HOUR_MS };
    await stage.worker(holdfast, [receiving]);
    const first = await holdfast.submit(receiving, undefined, { rate });
    await stage.until(holdfast, first.id, ({ status }) => status === 'waiting');
    const { id } = await holdfast.submit(receiving, undefined, { rate });
    await stage.until(holdfast, id, ({ hasSlot }) => hasSlot);
    return { id, expected: /^Rate limited by key "slow" until / };
  },
  retrying: async (stage, holdfast) => {
    const failingOften = pipeline({
      name: 'failing often',
      executionRetry: { initialMs: 600_000, maxMs: 600_000 },
      run() {
        throw new Error('not yet');
      },
    });
    await stage.worker(holdfast, [failingOften]);
    const { id } = await holdfast.submit(failingOften, undefined);
    await stage.untilHistory(holdfast, id, (events) => events.at(-1)?.kind === 'given-back');
    return { id, expected: /^Attempt 1 failed: not yet .*The execution runs again at 2\S+\.$/ };
  },
  delayed: async (_, holdfast) => {
    const { id } = await holdfast.submit(receiving, undefined, { delayMs: HOUR_MS });
    return { id, expected: /^Scheduled to start at / };
  },
  ready: async (_, holdfast) => {
    const { id } = await holdfast.submit(receiving, undefined);
    return {
      id,
      expected: /^Ready since .+, waiting for a worker that serves pipeline "receiving"\.$/,
      advises: /^Start a worker/,
    };
  },
  running: async (stage, holdfast) => {
    await stage.worker(holdfast, [working], { owner: 'ann', stopGraceMs: 10 });
    const { id } = await holdfast.submit(working, undefined);
    await stage.until(holdfast, id, ({ status }) => status === 'running');
    return { id, expected: /^Running on ann since / };
  },
  'owner-overdue': async (stage, holdfast) => {
    const id = await orphaned(stage, holdfast, false);
    while ((await holdfast.explain(id))?.code === 'running') await pause(20);
    return { id, expected: /^Worker ann missed its heartbeats/ };
  },
  'owner-gone': async (stage, holdfast) => {
    const id = await orphaned(stage, holdfast, true);
    return { id, expected: /^Worker ann is gone/, advises: /^Start a worker/ };
  },
  'waiting-for-answer': async (stage, holdfast) => ({
    id: await parked(stage, holdfast, asking),
    expected: /^Waiting for an answer to "approval" from chef, until /,
    advises: /^Answer, extend/,
  }),
  'waiting-for-children': async (stage, holdfast) => ({
    id: await parked(stage, holdfast, parent),
    expected: /^Waiting for child [-0-9a-f]{36} of pipeline "receiving" to end\.$/,
    advises: /^Check why this child does not progress: explain [-0-9a-f]{36}\.$/,
  }),
  'waiting-for-signal': async (stage, holdfast) => ({
    id: await parked(stage, holdfast, receiving),
    expected: /^Waiting for signal "go"\.$/,
    advises: /^Send the signal/,
  }),
  'waiting-for-time': async (stage, holdfast) => ({
    id: await parked(stage, holdfast, sleeping),
    expected: /^Sleeping until .+ \(night\)\.$/,
  }),
  'waiting-for-circuit': async (stage, holdfast) => {
    const calling = pipeline({
      name: 'calling',
      run: (ctx) =>
        ctx.step('call', () => Promise.reject(new Error('down')), {
          circuit: { name: 'bank', failuresMax: 1 },
          retry: { initialMs: 1, jitter: 0 },
        }),
    });
    return {
      id: await parked(stage, holdfast, calling),
      expected: /^Step "call" waits\. Circuit "bank" is open: .+down/,
      advises: /^Repair the service/,
    };
  },
  'waiting-for-lease': async (stage, holdfast) => {
    // The same execution holds it, in another branch of its code.
    const twice = pipeline({
      name: 'twice',
      run: (ctx) => {
        const hold = (): Promise<void> =>
          ctx.lease('stock', () => ctx.step('hold', () => new Promise<void>(() => undefined)));
        return Promise.all([hold(), hold()]);
      },
    });
    await stage.worker(holdfast, [twice], { stopGraceMs: 0 });
    const { id } = await holdfast.submit(twice, undefined);
    await stage.until(
      holdfast,
      id,
      ({ heartbeats = [] }) =>
        heartbeats.length === 2 && JSON.stringify(heartbeats).includes('fence'),
    );
    return {
      id,
      expected: /^Waiting for lease "stock", held by execution \S+ of pipeline "twice" on .+ since/,
      advises: /^Check why that execution/,
    };
  },
  'waiting-for-message': async (stage, holdfast) => {
    const id = await parked(stage, holdfast, parent);
    // The store hides the child, which no real store does.
    const by = stage.holdfastWith(() => ({ children: async () => [] }));
    return {
      id,
      by,
      expected: /^Waiting for result:child:receiving.+, but nothing pending/,
      advises: /^Check the history/,
    };
  },
};

const ofEachCode = Object.entries(SCENARIOS).map(
  ([code, scenario]): Behaviour => ({
    name: `explain: ${code}`,
    async run(stage) {
      const holdfast = stage.holdfast();
      const { id, by = holdfast, expected, advises } = await scenario(stage, holdfast);
      const explained = await by.explain(id);
      assert.equal(explained?.code, code, explained?.sentence);
      assert.match(explained.sentence, expected);
      assert.match(explained.advice ?? '', advises ?? /^$/);
    },
  }),
);

/** It has a child, and waits for something else. */
const loose = pipeline({
  name: 'loose',
  async run(ctx, what: unknown) {
    await ctx.spawn(receiving, undefined);
    await (what === 'time' ? ctx.sleep(HOUR_MS, 'night') : ctx.receive('go'));
  },
});

export const EXPLAINING: readonly Behaviour[] = [
  ...REFUSED_WORKERS,
  ...ofEachCode,
  {
    name: 'explain: an execution does not wait for an open child unless the code waits for it',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [loose, receiving]);
      for (const [what, expected] of [
        ['time', /^Sleeping until .+ \(night\)\.$/],
        ['signal', /^Waiting for signal "go"\.$/],
      ] as const) {
        const { id } = await holdfast.submit(loose, what);
        await stage.until(holdfast, id, ({ status }) => status === 'waiting');
        const explained = await holdfast.explain(id);
        assert.match(explained?.sentence ?? '', expected);
      }
    },
  },
  {
    name: 'explain: an execution that waits for a child without a worker names the child and the pipeline to start',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, both, calling]);
      for (const [of, expected, name] of [
        [parent, /^Waiting for child (\S+) of pipeline "receiving" to end\.$/, 'receiving'],
        [
          both,
          /^Waiting for 2 children to end; the first is (\S+) of pipeline "receiving"\.$/,
          'receiving',
        ],
        [calling, /^Waiting for child (\S+) of pipeline "score" to end\.$/, 'score'],
      ] as const) {
        const { id } = await holdfast.submit(of, undefined);
        await stage.until(holdfast, id, ({ status }) => status === 'waiting');
        const explained = await holdfast.explain(id);
        const [, child = ''] = expected.exec(explained?.sentence ?? '') ?? [];
        assert.equal((await holdfast.read(child))?.parent?.id, id, explained?.sentence);
        assert.equal(
          explained?.advice,
          `No worker serves pipeline "${name}", so this child cannot start. Start a worker for it.`,
        );
      }
    },
  },
  {
    name: 'explain: a pause of a running execution is explained with its last actor and reason',
    async run(stage) {
      const holdfast = stage.holdfast();
      const { passed, open } = door();
      const busy = pipeline({
        name: 'busy',
        async run(ctx) {
          await ctx.step('long', () => passed);
          return ctx.receive('go');
        },
      });
      await stage.worker(holdfast, [busy]);
      const { id } = await holdfast.submit(busy, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'running');
      await holdfast.pause(id, { actor: 'olga', reason: 'the kitchen burns' });
      open();
      await stage.until(holdfast, id, ({ holds }) => holds.includes('paused'));
      const first = await holdfast.explain(id);
      assert.match(first?.sentence ?? '', /^Paused by olga at 2\S+Z: the kitchen burns$/);
      await holdfast.resume(id, { actor: 'ben' });
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await holdfast.pause(id, { actor: 'ann' });
      const second = await holdfast.explain(id);
      assert.match(second?.sentence ?? '', /^Paused by ann at 2\S+Z\.$/);
    },
  },
  {
    name: 'explain: the awaited signal is found however often the execution was paused since',
    async run(stage) {
      const holdfast = stage.holdfast();
      const id = await parked(stage, holdfast, receiving);
      for (let time = 0; time < 30; time += 1) {
        await holdfast.pause(id);
        await holdfast.resume(id);
      }
      const explained = await holdfast.explain(id);
      assert.equal(explained?.sentence, 'Waiting for signal "go".');
    },
  },
];
