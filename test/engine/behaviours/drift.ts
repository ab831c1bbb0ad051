import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Failure } from '../../../src/execution/failure.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

type Code = (ctx: Context) => Promise<unknown>;

let deploys = 0;

/** Runs `before` until it waits, replaces the code by `after`, and returns the execution's id. */
async function deploy(
  stage: Stage,
  before: Code,
  after: Code,
): Promise<{ id: string; fix(code: Code): Promise<void>; result(): Promise<unknown> }> {
  const holdfast = stage.holdfast();
  deploys += 1;
  const name = `changing ${deploys}`;
  const old = await stage.worker(holdfast, [pipeline({ name, run: before })]);
  const handle = await holdfast.submit(name, undefined);
  await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
  await old.stop();
  let worker = await stage.worker(holdfast, [pipeline({ name, run: after })]);
  await holdfast.signal(handle.id, { name: 'go' });
  return {
    id: handle.id,
    result: () => handle.result(),
    async fix(code) {
      await worker.stop();
      worker = await stage.worker(holdfast, [pipeline({ name, run: code })]);
      await holdfast.resume(handle.id);
    },
  };
}

const original: Code = async (ctx) => {
  await ctx.step('charge', () => 1);
  await ctx.receive('go');
  return ctx.step('ship', () => 'shipped');
};

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

/** Code that waits, and code that does not wait for the same again: one wait of every kind. */
const OPEN: readonly { readonly what: string; readonly open: string; before: Code; after: Code }[] =
  [
    {
      what: 'a sleep is renamed',
      open: 'sleep:cooling off#1',
      before: (ctx) => ctx.sleep(WEEK_MS, 'cooling off'),
      after: (ctx) => ctx.sleep(WEEK_MS, 'a week'),
    },
    {
      what: 'a sleep is replaced by a step',
      open: 'sleep:sleep#1',
      before: (ctx) => ctx.sleep(WEEK_MS),
      after: (ctx) => ctx.step('charge', () => assert.fail('charged too early')),
    },
    {
      what: 'code throws in place of a sleep',
      open: 'sleep:sleep#1',
      before: (ctx) => ctx.sleep(WEEK_MS),
      after: () => Promise.reject(new Error('a bad deploy')),
    },
    {
      what: 'a sleep is removed beside a signal',
      open: 'sleep:sleep#1',
      before: (ctx) => Promise.all([ctx.receive('never'), ctx.sleep(WEEK_MS)]),
      after: (ctx) => ctx.receive('never'),
    },
    {
      what: 'a signal is renamed',
      open: 'signal:paid#1',
      before: (ctx) => ctx.receive('paid'),
      after: (ctx) => ctx.receive('settled'),
    },
    {
      what: 'code returns in place of a signal',
      open: 'signal:paid#1',
      before: (ctx) => ctx.receive('paid'),
      after: async () => 'unpaid',
    },
    {
      what: 'a child is spawned and not waited for',
      open: 'result:child:nobody has it#1#1',
      before: async (ctx) => (await ctx.spawn('nobody has it', 1)).result(),
      after: async (ctx) => (await ctx.spawn('nobody has it', 1)).id,
    },
    {
      what: 'a step is renamed between two attempts',
      open: 'step:charge#1',
      before: (ctx) => ctx.step('charge', refuse, { retry: { initialMs: DAY_MS, maxMs: DAY_MS } }),
      after: (ctx) => ctx.step('bill', () => assert.fail('charged twice')),
    },
  ];

function refuse(): never {
  throw new Error('try again tomorrow');
}

const OPEN_CALLS: readonly Behaviour[] = OPEN.map(({ what, open, before, after }) => ({
  name: `X-46: the execution is blocked if ${what} while it waits`,
  async run(stage) {
    const changed = await deploy(stage, before, after);
    const holdfast = stage.holdfast();
    const { holds } = await stage.until(
      holdfast,
      changed.id,
      ({ holds: now, endedAt, seq }) => now.length > 0 || endedAt !== undefined || seq > 5,
    );
    assert.deepEqual(holds, ['blocked']);
    const { body = '{}' } = (await holdfast.history(changed.id)).at(-1) ?? {};
    assert.equal((JSON.parse(body) as { readonly expected?: string }).expected, open);
    await changed.fix(before);
    await stage.until(holdfast, changed.id, ({ status }) => status === 'waiting');
  },
}));

/** Children of a recorded call that differ from the code's children now. */
const CHILDREN: readonly { readonly what: string; readonly found: string; after: Code }[] = [
  {
    what: 'names another pipeline',
    found: 'children:pay#1 (2 of refund)',
    after: (ctx) => ctx.fanOut('refund', [1, 2], { name: 'pay' }),
  },
  {
    what: 'uses a template',
    found: 'children:pay#1 (2 of template charge)',
    after: (ctx) => ctx.fanOut({ template: 'charge' }, [{}, {}], { name: 'pay' }),
  },
  {
    what: 'has another number of children',
    found: 'children:pay#1 (3 of charge)',
    after: (ctx) => ctx.fanOut('charge', [1, 2, 3], { name: 'pay' }),
  },
];

const OTHER_CHILDREN: readonly Behaviour[] = CHILDREN.map(({ what, found, after }) => ({
  name: `X-46, X-87: a call of the same name that ${what} blocks the execution`,
  async run(stage) {
    const before: Code = async (ctx) => {
      const { ids } = await ctx.fanOut('charge', [1, 2], { name: 'pay' });
      await ctx.receive('go');
      return ids.length;
    };
    const changed = await deploy(stage, before, async (ctx) => {
      await after(ctx);
      await ctx.receive('go');
      return 'charged, and taken for something else';
    });
    const holdfast = stage.holdfast();
    const { holds } = await stage.until(
      holdfast,
      changed.id,
      ({ holds: now, endedAt }) => now.length > 0 || endedAt !== undefined,
    );
    assert.deepEqual(holds, ['blocked']);
    const { body = '{}' } = (await holdfast.history(changed.id)).at(-1) ?? {};
    const { expected, ...drift } = JSON.parse(body) as Record<string, unknown>;
    assert.deepEqual(
      [expected, drift['found'], drift['seq']],
      ['children:pay#1 (2 of charge)', found, 3],
    );
    await changed.fix(before);
    assert.equal(await changed.result(), 2);
  },
}));

export const DRIFT: readonly Behaviour[] = [
  ...OPEN_CALLS,
  ...OTHER_CHILDREN,
  {
    name: 'X-46: calls that were open beside an interrupted step are not drift',
    async run(stage) {
      const gate = door();
      let tries = 0;
      const code: Code = async (ctx) => {
        const slept = ctx.sleep(WEEK_MS, 'a');
        const both = ctx.receive('go').then(async (value) => {
          const late = ctx.sleep(1, 'b');
          await ctx.step('slow', () => {
            tries += 1;
            return tries === 1 ? gate.passed : undefined;
          });
          await late;
          return value;
        });
        return Promise.race([both, slept]);
      };
      const holdfast = stage.holdfast();
      const running = pipeline({ name: 'open beside', run: code });
      const first = await stage.worker(holdfast, [running]);
      const handle = await holdfast.submit(running, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await holdfast.signal(handle.id, { name: 'go', value: 'gone' });
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ kind }) => kind === 'timer-fired'),
      );
      await stage.crash(first);
      await stage.worker(holdfast, [running]);
      assert.equal(await handle.result(), 'gone');
      gate.open();
    },
  },
  {
    name: 'a renamed step blocks the execution and names both; the right code continues',
    async run(stage) {
      const changed = await deploy(stage, original, async (ctx) => {
        await ctx.step('bill', () => 1);
        await ctx.receive('go');
        return 'never';
      });
      const holdfast = stage.holdfast();
      const blocked = await stage.until(holdfast, changed.id, ({ holds }) =>
        holds.includes('blocked'),
      );
      assert.equal(blocked.status, 'queued');
      const last = (await holdfast.history(changed.id)).at(-1);
      assert.equal(last?.kind, 'blocked');
      assert.match(last?.body ?? '', /step:charge#1.*step:bill#1/);
      await changed.fix(original);
      assert.equal(await changed.result(), 'shipped');
    },
  },
  {
    name: 'a removed step blocks the execution, also when the code fails early',
    async run(stage) {
      const removed = await deploy(stage, original, async () => 'too early');
      const holdfast = stage.holdfast();
      await stage.until(holdfast, removed.id, ({ holds }) => holds.includes('blocked'));
      const failing = await deploy(stage, original, async () => {
        throw new Error('a bad deploy');
      });
      await stage.until(holdfast, failing.id, ({ holds }) => holds.includes('blocked'));
      await failing.fix(original);
      assert.equal(await failing.result(), 'shipped');
    },
  },
  {
    name: 'X-46: new code that throws at once blocks the execution; history and explanation have its error and line',
    async run(stage) {
      const throwing = await deploy(stage, original, async () => {
        throw Object.assign(new Error('PAY_URL is not set'), { code: 'no-setting' });
      });
      const holdfast = stage.holdfast();
      await stage.until(holdfast, throwing.id, ({ holds }) => holds.includes('blocked'));
      const { body = '{}' } = (await holdfast.history(throwing.id)).at(-1) ?? {};
      const { failure } = JSON.parse(body) as { readonly failure?: Failure };
      assert.equal(failure?.code, 'no-setting');
      assert.equal(failure.message, 'PAY_URL is not set');
      assert.match(failure.stack ?? '', /drift\.ts/);
      const explained = await holdfast.explain(throwing.id);
      assert.match(
        explained?.sentence ?? '',
        /^Blocked: History has step:charge#1 .*it threw no-setting: PAY_URL is not set \(\S*drift\.ts:\d+\)\)/,
      );
      await throwing.fix(original);
      assert.equal(await throwing.result(), 'shipped');
    },
  },
  {
    name: 'a step that was added after the recorded calls is not drift',
    async run(stage) {
      const added = await deploy(stage, original, async (ctx) => {
        await ctx.step('charge', () => 1);
        await ctx.receive('go');
        await ctx.step('new', () => 2);
        return ctx.step('ship', () => 'shipped anew');
      });
      assert.equal(await added.result(), 'shipped anew');
    },
  },
  {
    name: 'a checkpoint that was added before recorded calls blocks the execution, since it would forget them',
    async run(stage) {
      const added = await deploy(stage, original, async (ctx) => {
        await ctx.checkpoint({});
        return original(ctx);
      });
      const holdfast = stage.holdfast();
      const { holds } = await stage.until(
        holdfast,
        added.id,
        ({ holds: now, status }) => now.includes('blocked') || status === 'completed',
      );
      assert.deepEqual(holds, ['blocked']);
      const last = (await holdfast.history(added.id)).at(-1);
      assert.match(last?.body ?? '', /step:charge#1.*ctx\.checkpoint/);
      await added.fix(original);
      assert.equal(await added.result(), 'shipped');
    },
  },
  {
    name: 'a step that was interrupted beside a recorded one is not drift, however late the code calls it',
    async run(stage) {
      const gate = door();
      let slow = 0;
      const branching = pipeline({
        name: 'branching',
        async run(ctx) {
          const [first, second] = await Promise.all([
            ctx.step('slow', async () => {
              slow += 1;
              if (slow === 1) await gate.passed;
              return 'slow';
            }),
            // Longer than the grace after which the engine reports drift.
            new Promise((resolve) => setTimeout(resolve, 250)).then(() => ctx.step('b', () => 'b')),
          ]);
          return [first, second];
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [branching]);
      const handle = await holdfast.submit(branching, undefined);
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ name }) => name === 'b'),
      );
      await stage.crash(first);
      await stage.worker(holdfast, [branching]);
      assert.deepEqual(await handle.result(), ['slow', 'b']);
      gate.open();
    },
  },
  {
    name: 'steps in another order block the execution',
    async run(stage) {
      const two: Code = async (ctx) => {
        await ctx.step('a', () => 1);
        await ctx.step('b', () => 2);
        await ctx.receive('go');
        return 'two';
      };
      const swapped = await deploy(stage, two, async (ctx) => {
        await ctx.step('b', () => 2);
        await ctx.step('a', () => 1);
        await ctx.receive('go');
        return 'swapped';
      });
      const holdfast = stage.holdfast();
      await stage.until(holdfast, swapped.id, ({ holds }) => holds.includes('blocked'));
      await swapped.fix(two);
      assert.equal(await swapped.result(), 'two');
    },
  },
  {
    name: 'a spawn that was refused and caught is not a call, and not drift later',
    async run(stage) {
      const code: Code = async (ctx) => {
        const refused = await ctx
          .spawn('child', { when: () => 0 })
          .catch((error: Error) => error.name);
        await ctx.receive('go');
        return refused;
      };
      const same = await deploy(stage, code, code);
      assert.equal(await same.result(), 'InvalidInput');
    },
  },
  {
    name: 'large results reach the code in the order of history too',
    async run(stage) {
      const order: string[] = [];
      const code: Code = async (ctx) => {
        const big = ctx.step('big', () => 'x'.repeat(200_000)).then(() => order.push('big'));
        const small = ctx.step('small', async () => {
          await new Promise((resolve) => setTimeout(resolve, 40));
          return 's';
        });
        const noted = small.then(() => order.push('small'));
        await Promise.all([big, noted]);
        await ctx.receive('go');
      };
      const same = await deploy(stage, code, code);
      await same.result();
      assert.equal(order.length, 4);
      assert.deepEqual(order.slice(2), order.slice(0, 2));
    },
  },
];
