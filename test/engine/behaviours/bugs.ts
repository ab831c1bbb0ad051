// a bug in the code ends no execution.

import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { type PipelineOptions, pipeline } from '../../../src/engine/pipeline.ts';
import { InvalidInput } from '../../../src/support/fault.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

type Code = (ctx: Context) => Promise<unknown>;
type Rule = NonNullable<PipelineOptions<unknown, unknown>['isBug']>;

/** The state of an execution of that code: its hold, or its status. */
async function leftBy(stage: Stage, run: Code, isBug?: Rule) {
  const holdfast = stage.holdfast();
  const code = pipeline({ name: 'mistaken', run, ...(isBug && { isBug }) });
  const worker = await stage.worker(holdfast, [code]);
  const { id, result } = await holdfast.submit(code, undefined);
  const { status, holds } = await stage.until(
    holdfast,
    id,
    ({ holds: now, endedAt }) => now.length > 0 || endedAt !== undefined,
  );
  return { holdfast, worker, id, result, left: holds[0] ?? status };
}

const mistake: Code = async () => (undefined as unknown as { readonly id: string }).id;

const LEFT: readonly { readonly what: string; left: string; run: Code; isBug?: Rule }[] = [
  { what: 'a TypeError of the code', left: 'blocked', run: mistake },
  {
    what: 'a ReferenceError of the code',
    left: 'blocked',
    run: () => Promise.reject(new ReferenceError('total is not defined')),
  },
  {
    what: 'any other error of the code',
    left: 'failed',
    run: () => Promise.reject(new Error('out of stock')),
  },
  {
    what: 'a TypeError of a step',
    left: 'failed',
    run: (ctx) =>
      ctx.step('call', () => Promise.reject(new TypeError('fetch failed')), {
        retry: { attempts: 1 },
      }),
  },
  {
    what: 'a TypeError of the schema that checks an argument',
    left: 'failed',
    run: (ctx) => ctx.spawn(child(throwing), undefined),
  },
  {
    what: 'an input that the schema of a child refuses',
    left: 'failed',
    run: (ctx) => ctx.spawn(child(refusing), undefined),
  },
  {
    what: 'an invalid argument inside a step',
    left: 'failed',
    run: (ctx) => ctx.step('nap', () => ctx.sleep(Number.NaN), { retry: { attempts: 1 } }),
  },
  {
    what: 'an InvalidInput that the code itself throws',
    left: 'failed',
    run: () => Promise.reject(new InvalidInput('The order has no lines.')),
  },
  {
    what: 'a RangeError of the code',
    left: 'failed',
    run: () => Promise.reject(new RangeError('too many items')),
  },
  {
    what: 'a checkpoint of a function',
    left: 'blocked',
    run: (ctx) => ctx.checkpoint(() => 1),
  },
  {
    what: 'an invalid argument that the rule does not count as a bug',
    left: 'failed',
    run: (ctx) => ctx.sleep(Number.NaN),
    isBug: () => false,
  },
  {
    what: 'a TypeError that the rule does not count as a bug',
    left: 'failed',
    run: mistake,
    isBug: () => false,
  },
  {
    what: 'an error that the rule counts as a bug',
    left: 'blocked',
    run: () => Promise.reject(new RangeError('no such index')),
    isBug: (error) => error instanceof RangeError,
  },
  {
    what: 'a rule that throws',
    left: 'blocked',
    run: () => Promise.reject(new Error('out of stock')),
    isBug: () => {
      throw new Error('a mistake in the rule');
    },
  },
];

type Validate = NonNullable<PipelineOptions<unknown, unknown>['input']>['~standard']['validate'];

function child(validate: Validate) {
  const input = { '~standard': { version: 1 as const, vendor: 'test', validate } };
  return pipeline({ name: 'child', run: () => 1, input });
}

const throwing: Validate = () => {
  throw new TypeError('a schema that cannot validate this');
};

const refusing: Validate = () => ({ issues: [{ message: 'must be an order' }] });

/** Calls that refuse their arguments, some at once and some with their promise. */
const INVALID: readonly { readonly call: string; run: Code }[] = [
  { call: 'ctx.sleep(NaN)', run: (ctx) => ctx.sleep(Number(undefined)) },
  { call: 'ctx.sleep(-5)', run: (ctx) => ctx.sleep(-5) },
  { call: 'ctx.sleepUntil(an invalid Date)', run: (ctx) => ctx.sleepUntil(new Date('soon')) },
  { call: 'ctx.step(7)', run: (ctx) => ctx.step(7 as never, () => 1) },
  {
    call: 'ctx.step with an unknown option',
    run: (ctx) => ctx.step('s', () => 1, { retry: { maxAttempts: 2 } as never }),
  },
  { call: 'ctx.step without a function', run: (ctx) => ctx.step('s', undefined as never) },
  { call: 'ctx.map without items', run: (ctx) => ctx.map('m', 1 as never, { run: () => 1 }) },
  { call: 'ctx.transaction(7)', run: (ctx) => ctx.transaction(7 as never, () => 1) },
  { call: 'ctx.receive(7)', run: (ctx) => ctx.receive(7 as never) },
  {
    call: 'ctx.receive with a wrong option',
    run: (ctx) => ctx.receive('m', { timeoutMs: Number.NaN }),
  },
  {
    call: 'ctx.spawn with an unknown option',
    run: (ctx) => ctx.spawn('child', 1, { delay: 1 } as never),
  },
  { call: 'ctx.spawn of a function', run: (ctx) => ctx.spawn('child', () => 1) },
  { call: 'ctx.fanOut without inputs', run: (ctx) => ctx.fanOut('child', 1 as never) },
  { call: 'ctx.call of no remote step', run: (ctx) => ctx.call(undefined as never, 1) },
  { call: 'ctx.await(7)', run: (ctx) => ctx.await(7 as never) },
  { call: 'ctx.attach(7)', run: (ctx) => ctx.attach(7 as never, 'text') },
  { call: 'ctx.log(7)', run: async (ctx) => ctx.log(7 as never) },
  { call: 'ctx.progress of a function', run: async (ctx) => ctx.progress(() => 1) },
];

export const BUGS: readonly Behaviour[] = [
  ...LEFT.map(({ what, left: expected, run, isBug }) => ({
    name: `X-47, X-88: ${what} leaves the execution ${expected}`,
    async run(stage: Stage) {
      const { left } = await leftBy(stage, run, isBug);
      assert.equal(left, expected);
    },
  })),
  ...INVALID.map(({ call, run }) => ({
    name: `X-47: the invalid ${call} blocks the execution and undoes nothing`,
    async run(stage: Stage) {
      const done: string[] = [];
      const { holdfast, id, left } = await leftBy(stage, async (ctx) => {
        await ctx.step('charge', () => done.push('charge'), {
          compensate: () => done.push('refund'),
        });
        await run(ctx);
      });
      assert.equal(left, 'blocked');
      const { body = '{}' } = (await holdfast.history(id)).at(-1) ?? {};
      const { why, failure } = JSON.parse(body) as { why: string; failure: { code: string } };
      assert.match(why, /^The code threw outside a step, .*resume/);
      assert.equal(failure.code, 'invalid-input');
      assert.deepEqual(done, ['charge']);
    },
  })),
  {
    name: 'X-47: a bug compensates nothing and waits for running steps; the right code continues from there',
    async run(stage) {
      const gate = door();
      const done: string[] = [];
      const charge = (ctx: Context) =>
        ctx.step('charge', () => done.push('charge'), { compensate: () => done.push('refund') });
      const ship = (ctx: Context) =>
        ctx.step('ship', async () => {
          await gate.passed;
          done.push('ship');
        });
      const { holdfast, worker, id, result, left } = await leftBy(stage, async (ctx) => {
        await charge(ctx);
        const shipped = ship(ctx);
        queueMicrotask(() => gate.open());
        await mistake(ctx);
        await shipped;
      });
      assert.equal(left, 'blocked');
      const { body = '{}' } = (await holdfast.history(id)).at(-1) ?? {};
      const blocked = JSON.parse(body) as { why: string; failure: { code: string; stack: string } };
      assert.match(
        blocked.why,
        /^The code threw outside a step, .* TypeError: Cannot read .* \(\S*bugs\.ts:\d+\)\. .*resume/,
      );
      assert.equal(blocked.failure.code, 'TypeError');
      assert.match(blocked.failure.stack, /bugs\.ts/);
      await worker.stop();
      const fixed: Code = async (ctx) => {
        await Promise.all([charge(ctx), ship(ctx)]);
        return 'shipped';
      };
      await stage.worker(holdfast, [pipeline({ name: 'mistaken', run: fixed })]);
      assert.equal((await holdfast.resume(id)).kind, 'done');
      assert.equal(await result(), 'shipped');
      assert.deepEqual(done, ['charge', 'ship']);
    },
  },
  {
    name: 'X-47: a blocked execution that is cancelled compensates its steps with the code that ran them',
    async run(stage) {
      const done: string[] = [];
      const { holdfast, id, left } = await leftBy(stage, async (ctx) => {
        await ctx.step('charge', () => done.push('charge'), {
          compensate: () => done.push('refund'),
        });
        await mistake(ctx);
      });
      assert.equal(left, 'blocked');
      await holdfast.cancel(id, { reason: 'not wanted' });
      await holdfast.resume(id);
      await stage.until(holdfast, id, ({ endedAt }) => endedAt !== undefined);
      assert.deepEqual(done, ['charge', 'refund']);
    },
  },
];
