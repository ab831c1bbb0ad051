// Code that changes under open executions, with `ctx.patched`.

import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour, Stage } from '../stage.ts';

type Code = (ctx: Context) => Promise<unknown>;

let deploys = 0;

interface Deployed {
  readonly id: string;
  /** Sends the signal `go`, after which the execution waits again or ends. */
  go(): Promise<void>;
  deploy(code: Code): Promise<void>;
  isWaiting(signal: string): Promise<void>;
  result(): Promise<unknown>;
}

async function start(stage: Stage, code: Code): Promise<Deployed> {
  const holdfast = stage.holdfast();
  deploys += 1;
  const name = `patched ${deploys}`;
  let worker = await stage.worker(holdfast, [pipeline({ name, run: code })]);
  const handle = await holdfast.submit(name, undefined);
  const { id } = handle;
  return {
    id,
    result: () => handle.result(),
    go: async () => void (await holdfast.signal(id, { name: 'go' })),
    async deploy(next) {
      await stage.crash(worker);
      worker = await stage.worker(holdfast, [pipeline({ name, run: next })]);
    },
    isWaiting: (signal) =>
      stage.untilHistory(holdfast, id, (events) => {
        const last = events.findLast(({ kind }) => kind === 'parked')?.body ?? '';
        return last.includes(`signal:${signal}#`);
      }),
  };
}

const old: Code = async (ctx) => {
  await ctx.step('charge', () => 1);
  await ctx.receive('go');
  await ctx.step('ship', () => undefined);
  await ctx.receive('done');
  return 'old';
};

const both: Code = async (ctx) => {
  await ctx.step('charge', () => 1);
  if (ctx.patched('checked')) await ctx.step('check', () => undefined);
  await ctx.receive('go');
  await ctx.step('ship', () => undefined);
  await ctx.receive('done');
  return ctx.patched('named') ? 'new' : 'old';
};

const onlyNew: Code = async (ctx) => {
  await ctx.step('charge', () => 1);
  await ctx.step('check', () => undefined);
  await ctx.receive('go');
  await ctx.step('ship', () => undefined);
  await ctx.receive('done');
  return 'newest';
};

async function calls(stage: Stage, id: string): Promise<readonly string[]> {
  const events = await stage.holdfast().history(id);
  return events
    .filter(({ kind }) => kind === 'step-completed')
    .map(({ body }) => (JSON.parse(body ?? '{}') as { key: string }).key);
}

export const PATCHING: readonly Behaviour[] = [
  {
    name: 'X-131: an execution that is past a patch stays on the old branch, and takes later patches',
    async run(stage) {
      const execution = await start(stage, old);
      await execution.isWaiting('go');
      await execution.deploy(both);
      await execution.go();
      await execution.isWaiting('done');
      await execution.deploy(both);
      await stage.holdfast().signal(execution.id, { name: 'done' });
      assert.equal(await execution.result(), 'new');
      assert.deepEqual(await calls(stage, execution.id), ['step:charge#1', 'step:ship#1']);
    },
  },
  {
    name: 'X-131: a new execution takes the patch, in every replay, also once the call is removed',
    async run(stage) {
      const execution = await start(stage, both);
      await execution.isWaiting('go');
      await execution.deploy(both);
      await execution.go();
      await execution.isWaiting('done');
      await execution.deploy(onlyNew);
      await stage.holdfast().signal(execution.id, { name: 'done' });
      assert.equal(await execution.result(), 'newest');
      const expected = ['step:charge#1', 'step:check#1', 'step:ship#1'];
      assert.deepEqual(await calls(stage, execution.id), expected);
    },
  },
  {
    name: 'X-131: an execution that needs the old branch is blocked by code without it',
    async run(stage) {
      const execution = await start(stage, old);
      await execution.isWaiting('go');
      await execution.deploy(onlyNew);
      await execution.go();
      const holdfast = stage.holdfast();
      const { holds } = await stage.until(
        holdfast,
        execution.id,
        ({ holds: held }) => held.length > 0,
      );
      assert.deepEqual(holds, ['blocked']);
      await execution.deploy(both);
      await holdfast.resume(execution.id);
      await execution.isWaiting('done');
      assert.deepEqual(await calls(stage, execution.id), ['step:charge#1', 'step:ship#1']);
    },
  },
  {
    name: 'X-131: a recorded step after the place counts, without any open call',
    async run(stage) {
      const holdfast = stage.holdfast();
      const code =
        (isNew: boolean): Code =>
        async (ctx) => {
          await ctx.step('charge', () => 1);
          const isPatched = isNew && ctx.patched('checked');
          await ctx.step(isPatched ? 'check' : 'ship', () => undefined);
          return ctx.step('last', () => (isNew ? isPatched : new Promise(() => undefined)));
        };
      const execution = await start(stage, code(false));
      await stage.untilHistory(
        holdfast,
        execution.id,
        (events) => events.filter(({ kind }) => kind === 'step-completed').length === 2,
      );
      await execution.deploy(code(true));
      assert.equal(await execution.result(), false);
    },
  },
  {
    name: 'X-131: each call of a loop, and each checkpoint, decides for itself',
    async run(stage) {
      const loop =
        (isNew: boolean): Code =>
        async (ctx) => {
          const before = (ctx.restored as string[] | undefined) ?? [];
          const taken: string[] = [];
          for (let n = 0; n < 2; n += 1) {
            taken.push(isNew && ctx.patched('round') ? 'new' : 'old');
            await ctx.receive(n === 0 && before.length === 0 ? 'go' : 'done');
          }
          if (before.length === 0) await ctx.checkpoint(taken);
          return before.length === 0 ? taken : [...before, ...taken];
        };
      const execution = await start(stage, loop(false));
      await execution.isWaiting('go');
      await execution.deploy(loop(true));
      await execution.go();
      await execution.isWaiting('done');
      await stage.holdfast().signal(execution.id, { name: 'done' });
      assert.deepEqual(await execution.result(), ['old', 'new']);
    },
  },
  {
    name: 'X-131: results that arrive together do not send a new execution to the old branch',
    async run(stage) {
      const code: Code = async (ctx) => {
        const branch = async (name: string): Promise<boolean> => {
          await ctx.step(name, () => undefined);
          const isPatched = ctx.patched(name);
          await ctx.step(`${name} ${isPatched}`, () => undefined);
          return isPatched;
        };
        const taken = await Promise.all(['a', 'b', 'c'].map(branch));
        await ctx.receive('go');
        return taken;
      };
      const execution = await start(stage, code);
      await execution.isWaiting('go');
      await execution.deploy(code);
      await execution.go();
      assert.deepEqual(await execution.result(), [true, true, true]);
    },
  },
  {
    name: 'X-131: a patch inside a step is refused',
    async run(stage) {
      const execution = await start(stage, async (ctx) => {
        const refused = ctx.step('ask', () => ctx.patched('inside'), { retry: { attempts: 1 } });
        return refused.catch((error: Error) => error.message);
      });
      assert.match(String(await execution.result()), /patch:inside#1 was called inside a step/);
    },
  },
];
