// Workers with a wrong release, and executions that no worker takes. Warnings and explain name the
// fix.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, pause } from '../stage.ts';

type Code = Pipeline<unknown, unknown>;

const code = (name: string, step = 'first'): Code =>
  pipeline({
    name,
    async run(ctx) {
      await ctx.step(step, () => 1);
      return ctx.receive('go');
    },
  });

const buildOf = (name: string) => ({ name, digest: `sha256:${name}` });

async function register(holdfast: Holdfast, of: Code, name: string): Promise<void> {
  const build = { pipeline: of, artifact: 'image', ...buildOf(name) };
  assert.equal((await holdfast.releases.register(build)).kind, 'registered');
}

export const REFUSED_WORKERS: readonly Behaviour[] = [
  {
    name: 'RE-9: a worker that announces a wrong release warns once, and explain names it and the fix',
    async run(stage) {
      const holdfast = stage.holdfast();
      const own = code('pretended');
      await register(holdfast, own, 'v1');
      await holdfast.releases.activate(own.name, 'v1');
      const { id } = await holdfast.submit(own, undefined);
      const warnings: string[] = [];
      const onWarning = ({ name, message }: Error): void => {
        if (name === 'HoldfastWarning') warnings.push(message);
      };
      process.on('warning', onWarning);
      const release = { name: 'v1', digest: 'sha256:forged' };
      const options = { release, probeMs: 10, owner: 'eve' };
      await stage.worker(stage.holdfast(), [own], options);
      while (warnings.length === 0) await pause(5);
      const announced = async () => (await holdfast.releases.workers())[0];
      const first = (await announced())?.provedAt ?? 0;
      // The worker has announced itself again since.
      while (((await announced())?.provedAt ?? 0) <= first + 20) await pause(5);
      process.off('warning', onWarning);
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] ?? '', /gets no pinned executions: Release "v1".*another digest/);
      const alone = await holdfast.explain(id);
      assert.equal(alone?.code, 'no-worker');
      assert.match(alone?.sentence ?? '', /or whose release was refused: eve\./);
      assert.equal(alone?.advice, 'Start a worker with that release.');
      await register(holdfast, own, 'v2');
      const explained = await holdfast.explain(id);
      assert.ok(
        explained?.advice?.endsWith(`holdfast releases repin ${id} v2.`),
        explained?.advice,
      );
    },
  },
  {
    name: 'RE-8: explain shows how to repin a blocked, pinned execution if there is another release',
    async run(stage) {
      const holdfast = stage.holdfast();
      const own = code('drifting');
      await register(holdfast, own, 'v1');
      await holdfast.releases.activate(own.name, 'v1');
      const options = { release: buildOf('v1'), probeMs: 50 };
      const old = await stage.worker(stage.holdfast(), [own], options);
      const { id } = await holdfast.submit(own, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await old.stop();
      await stage.worker(stage.holdfast(), [code('drifting', 'renamed')], options);
      await holdfast.signal(id, { name: 'go' });
      await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
      const alone = await holdfast.explain(id);
      assert.equal(
        alone?.advice,
        `Deploy compatible code as a new release, then repin the execution to it: holdfast releases repin ${id} <release>. If the cause is gone, resume.`,
      );
      await register(holdfast, own, 'v2');
      const explained = await holdfast.explain(id);
      assert.equal(explained?.code, 'blocked');
      assert.ok(
        explained?.advice?.endsWith(`holdfast releases repin ${id} v2.`),
        explained?.advice,
      );
    },
  },
  {
    name: 'RE-8: explain proposes no release older than the one that began it, and prefers one with workers',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [own, renamed] = [code('renewed'), code('renewed', 'renamed')];
      await register(holdfast, own, 'v1');
      await register(holdfast, own, 'v2');
      await holdfast.releases.activate(own.name, 'v2');
      const options = { release: buildOf('v2'), probeMs: 50 };
      const old = await stage.worker(stage.holdfast(), [own], options);
      const { id } = await holdfast.submit(own, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await old.stop();
      await stage.worker(stage.holdfast(), [renamed], options);
      await holdfast.signal(id, { name: 'go' });
      await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
      const advice = async (): Promise<string> => (await holdfast.explain(id))?.advice ?? '';
      assert.doesNotMatch(await advice(), /releases repin \S+ v1/);
      await register(holdfast, own, 'v3');
      await register(holdfast, own, 'v4');
      assert.match(await advice(), /releases repin \S+ v4/);
      await stage.worker(stage.holdfast(), [own], { release: buildOf('v3'), probeMs: 50 });
      const announced = async () => (await holdfast.releases.workers()).map((each) => each.release);
      while (!(await announced()).includes('v3')) await pause(5);
      assert.match(await advice(), /releases repin \S+ v3/);
      assert.equal((await holdfast.releases.repin(id, 'v3')).kind, 'repinned');
      await stage.until(holdfast, id, ({ status }) => status === 'completed');
    },
  },
  {
    name: 'RE-4: a deactivated release pins no new execution, and a roll-back returns to it',
    async run(stage) {
      const holdfast = stage.holdfast();
      const own = code('let go');
      await stage.worker(stage.holdfast(), [own]);
      assert.equal((await holdfast.releases.deactivate(own.name)).kind, 'no-change');
      await register(holdfast, own, 'v1');
      await holdfast.releases.activate(own.name, 'v1');
      const by = { actor: 'ann', reason: 'one build is enough' };
      const late = await holdfast.releases.deactivate(own.name, { ...by, expected: 0 });
      assert(late.kind === 'refused' && late.why === 'rollout-changed');
      const done = await holdfast.releases.deactivate(own.name, { ...by, expected: 1 });
      assert.deepEqual(done, { kind: 'changed', rollout: { version: 2, previous: 'v1' } });
      const { id } = await holdfast.submit(own, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      assert.equal((await holdfast.read(id))?.release, undefined);
      const [entry] = await holdfast.releases.log(own.name);
      const { action, name, actor, reason } = entry ?? {};
      assert.deepEqual([action, name, actor, reason], ['deactivate', 'v1', 'ann', by.reason]);
      const back = await holdfast.releases.rollBack(own.name);
      assert.deepEqual(back, { kind: 'changed', rollout: { version: 3, active: 'v1' } });
    },
  },
];
