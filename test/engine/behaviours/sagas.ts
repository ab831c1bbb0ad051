import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, pause } from '../stage.ts';
import { UNDOING } from './undoing.ts';

/** Charges, reserves two at once, and then fails, waits or goes wrong, as the test chooses. */
function order(log: string[], end: (ctx: Context) => Promise<unknown>) {
  return pipeline<undefined, unknown>({
    name: 'order',
    async run(ctx) {
      await ctx.step('charge', () => logged(log, 'charge', { payment: 7 }), {
        compensate: (output, { outcome }) =>
          logged(log, `refund ${JSON.stringify(output)} ${outcome}`, undefined),
      });
      await ctx.map('reserve', ['a', 'b'], { run: (item) => logged(log, `reserve ${item}`, item) });
      await ctx.step('pack', () => logged(log, 'pack', 1), {
        compensate: { run: () => logged(log, 'unpack', undefined) },
      });
      return end(ctx);
    },
  });
}

function logged<Value>(log: string[], what: string, value: Value): Value {
  log.push(what);
  return value;
}

const FORWARD = ['charge', 'reserve a', 'reserve b', 'pack'];
const BACK = ['unpack', 'refund {"payment":7} done'];

export const SAGAS: readonly Behaviour[] = [
  ...UNDOING,
  {
    name: 'Y-4: finished steps are compensated in reverse when the code fails, and the cause is kept (Y-6)',
    async run(stage) {
      const log: string[] = [];
      const failing = order(log, () => Promise.reject(new Error('no stock')));
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, undefined);
      await assert.rejects(handle.result(), {
        name: 'ExecutionFailed',
        status: 'compensated',
        message: /is compensated: no stock$/,
      });
      assert.deepEqual(log, [...FORWARD, ...BACK]);
      const kinds = (await holdfast.history(handle.id)).map(({ kind }) => kind);
      assert.deepEqual(kinds.slice(-5), [
        ...['compensating', 'claimed', 'step-completed', 'step-completed', 'compensated'],
      ]);
      assert.equal(await holdfast.repair.deadLetter(handle.id), undefined);
    },
  },
  {
    name: 'Y-1: a step that gave up after an attempt with a possible effect is compensated, as unknown',
    async run(stage) {
      const log: string[] = [];
      const ship = (effect?: 'none') => (ctx: Context) =>
        ctx.step(
          'ship',
          () => {
            throw Object.assign(new Error('no answer'), effect === undefined ? {} : { effect });
          },
          {
            retry: { attempts: 2, initialMs: 1 },
            compensate: (output, { outcome }) =>
              logged(log, `recall ${output} ${outcome}`, undefined),
          },
        );
      const holdfast = stage.holdfast();
      const unclear = order(log, ship());
      await stage.worker(holdfast, [unclear]);
      const handle = await holdfast.submit(unclear, undefined);
      await assert.rejects(handle.result(), { status: 'compensated' });
      assert.deepEqual(log, [...FORWARD, 'recall undefined unknown', ...BACK]);
      await holdfast.close();

      log.length = 0;
      const harmless = order(log, ship('none'));
      const other = stage.holdfast();
      await stage.worker(other, [harmless]);
      const second = await other.submit(harmless, undefined);
      await assert.rejects(second.result(), { status: 'compensated' });
      assert.deepEqual(log, [...FORWARD, ...BACK]);
    },
  },
  {
    name: 'Y-3: a cancelled waiting execution compensates first, and a second cancel changes nothing',
    async run(stage) {
      const log: string[] = [];
      const waiting = order(log, (ctx) => ctx.receive('go'));
      const holdfast = stage.holdfast();
      const worker = await stage.worker(holdfast, [waiting]);
      const handle = await holdfast.submit(waiting, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await worker.stop();
      assert.deepEqual(await holdfast.cancel(handle.id), { kind: 'done', status: 'queued' });
      assert.equal((await holdfast.cancel(handle.id)).kind, 'no-change');
      assert.equal((await holdfast.read(handle.id))?.compensating, true);
      await stage.worker(holdfast, [waiting]);
      await assert.rejects(handle.result(), { status: 'compensated' });
      assert.deepEqual(log, [...FORWARD, ...BACK]);
    },
  },
  {
    name: 'Y-4: on a cancel, a running step ends first and is compensated too',
    async run(stage) {
      const log: string[] = [];
      const running = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      const working = order(log, (ctx) =>
        ctx.step(
          'long',
          async () => {
            running.resolve();
            await go.promise;
            return logged(log, 'long', 1);
          },
          { compensate: () => logged(log, 'undo long', undefined) },
        ),
      );
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [working], { ttlMs: 600 });
      const handle = await holdfast.submit(working, undefined);
      await running.promise;
      assert.equal((await holdfast.cancel(handle.id)).kind, 'forwarded');
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ kind }) => kind === 'cancel-requested'),
      );
      go.resolve();
      await assert.rejects(handle.result(), { status: 'compensated' });
      assert.deepEqual(log, [...FORWARD, 'long', 'undo long', ...BACK]);
    },
  },
  {
    name: 'Y-5: a compensation that fails for good quarantines, and a re-drive that compensates repairs it',
    async run(stage) {
      const log: string[] = [];
      let isBroken = true;
      const failing = pipeline<undefined, never>({
        name: 'failing',
        async run(ctx) {
          await ctx.step('a', () => 1, { compensate: () => logged(log, 'undo a', undefined) });
          await ctx.step('b', () => 2, { compensate: () => logged(log, 'undo b', undefined) });
          await ctx.step('c', () => 3, {
            compensate: {
              retry: { attempts: 2, initialMs: 1 },
              run: () => {
                if (isBroken) throw new Error('bank is closed');
                log.push('undo c');
              },
            },
          });
          throw new Error('no');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, undefined);
      await assert.rejects(handle.result(), { status: 'quarantined' });
      assert.deepEqual(log, []);
      const letter = await holdfast.repair.deadLetter(handle.id);
      assert.equal(letter?.step, 'undo:step:c#1');
      assert.equal(letter?.attempts, 2);
      const command = `holdfast redrive ${handle.id} --mode compensate`;
      assert.equal(
        (await holdfast.explain(handle.id))?.advice,
        `Fix the cause, then retry the compensation: ${command}.`,
      );
      await assert.rejects(holdfast.repair.redrive(handle.id), (fault: Error) =>
        fault.message.endsWith(`Retry the compensation: ${command}.`),
      );
      isBroken = false;
      const again = await holdfast.repair.redrive(handle.id, { mode: 'compensate', actor: 'olga' });
      await assert.rejects(holdfast.result(again.id), { status: 'compensated' });
      await assert.rejects(holdfast.repair.redrive(again.id), {
        message:
          /Its steps were undone, so it cannot continue from them\. Submit the work again\.$/,
      });
      assert.deepEqual(log, ['undo c', 'undo b', 'undo a']);
      assert.equal((await holdfast.repair.deadLetter(handle.id))?.redrivenBy, again.id);
    },
  },
  {
    name: 'Y-5: an operator skips a compensation with a reason, or has it tried at once',
    async run(stage) {
      const log: string[] = [];
      const open = new Set<string>();
      const undo = (name: string) => ({
        retry: { initialMs: 60_000, jitter: 0 },
        run: () => {
          if (!open.has(name)) throw new Error(`${name} is closed`);
          log.push(`undo ${name}`);
        },
      });
      const failing = pipeline<undefined, never>({
        name: 'failing',
        async run(ctx) {
          await ctx.step('a', () => 1, { compensate: undo('a') });
          await ctx.step('b', () => 2, { compensate: undo('b') });
          throw new Error('no');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const { id } = await holdfast.submit(failing, undefined);
      await stage.until(
        holdfast,
        id,
        ({ status, compensating }) => compensating && status === 'waiting',
      );
      await holdfast.repair.skipCompensation(id, 'b', {
        reason: 'refunded by hand',
        actor: 'olga',
      });
      await stage.untilHistory(holdfast, id, (events) =>
        events.some(({ kind, name }) => kind === 'step-failed' && name === 'a'),
      );
      open.add('a');
      await holdfast.repair.retryCompensation(id, 'a');
      await assert.rejects(holdfast.result(id), { status: 'compensated' });
      assert.deepEqual(log, ['undo a']);
      await assert.rejects(async () => holdfast.repair.skipCompensation(id, 'a', { reason: '' }), {
        name: 'InvalidInput',
      });
    },
  },
  {
    name: 'Y-5: an execution whose code lost a registered compensation is quarantined, with that reason',
    async run(stage) {
      const old = pipeline<undefined, unknown>({
        name: 'changing',
        async run(ctx) {
          await ctx.step('a', () => 1, { compensate: () => undefined });
          return ctx.receive('never');
        },
      });
      const changed = pipeline<undefined, unknown>({
        name: 'changing',
        async run(ctx) {
          await ctx.step('a', () => 1);
          return ctx.receive('never');
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [old]);
      const { id } = await holdfast.submit(old, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await first.stop();
      await holdfast.cancel(id);
      await stage.worker(holdfast, [changed]);
      await assert.rejects(holdfast.result(id), {
        status: 'quarantined',
        message: /no compensation for step:a#1/,
      });
      const history = await holdfast.history(id);
      assert.ok(!history.some(({ kind }) => kind === 'compensated'));
      assert.ok(!history.some(({ body }) => body?.includes('"key":"undo:') === true));
      assert.equal((await holdfast.repair.deadLetter(id))?.status, 'quarantined');
    },
  },
  {
    name: 'if a worker is lost while it compensates, the next one compensates the rest, once',
    async run(stage) {
      const log: string[] = [];
      const stuck = Promise.withResolvers<void>();
      let isFirst = true;
      const failing = pipeline<undefined, never>({
        name: 'failing',
        async run(ctx) {
          await ctx.step('a', () => 1, {
            compensate: async () => {
              if (isFirst) {
                isFirst = false;
                stuck.resolve();
                await new Promise(() => undefined);
              }
              log.push('undo a');
            },
          });
          await ctx.step('b', () => 2, { compensate: () => logged(log, 'undo b', undefined) });
          throw new Error('no');
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [failing], { ttlMs: 600 });
      const handle = await holdfast.submit(failing, undefined);
      await stuck.promise;
      first.crash();
      await stage.worker(holdfast, [failing], { ttlMs: 600 });
      await assert.rejects(handle.result(), { status: 'compensated' });
      assert.deepEqual(log, ['undo b', 'undo a']);
    },
  },
  {
    name: 'a passed deadline compensates the finished steps, without a deadline',
    async run(stage) {
      const log: string[] = [];
      const waiting = order(log, (ctx) => ctx.receive('go'));
      const holdfast = stage.holdfast();
      const worker = await stage.worker(holdfast, [waiting]);
      const handle = await holdfast.submit(waiting, undefined, { deadlineMs: 400 });
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await worker.stop();
      while ((await holdfast.read(handle.id))?.compensating !== true) {
        await stage.store.executions.maintain({ limit: 10 });
        await pause(20);
      }
      await stage.worker(holdfast, [waiting]);
      await assert.rejects(handle.result(), {
        status: 'compensated',
        message: /Not ended by its deadline/,
      });
      assert.deepEqual(log, [...FORWARD, ...BACK]);
    },
  },
  {
    name: 'Y-3: an execution that is paused while it runs, then cancelled, compensates',
    async run(stage) {
      const log: string[] = [];
      const { passed, open } = door();
      const busy = order(log, async (ctx) => {
        await ctx.step('wrap', () => passed);
        return ctx.receive('never');
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [busy]);
      const handle = await holdfast.submit(busy, undefined);
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ name }) => name === 'pack'),
      );
      await holdfast.pause(handle.id);
      open();
      const paused = await stage.until(holdfast, handle.id, ({ holds }) => holds.length > 0);
      assert.deepEqual([paused.status, paused.compensable], ['queued', true]);
      await holdfast.cancel(handle.id);
      await holdfast.resume(handle.id);
      await assert.rejects(handle.result(), { status: 'compensated' });
      assert.deepEqual(log, [...FORWARD, ...BACK]);
    },
  },
  {
    name: 'after a step with a compensation, checkpoint and continueAsNew are refused',
    async run(stage) {
      const forgetful = (how: 'checkpoint' | 'continueAsNew') =>
        pipeline<undefined, unknown>({
          name: how,
          async run(ctx) {
            await ctx.step('a', () => 1, { compensate: () => undefined });
            return how === 'checkpoint' ? ctx.checkpoint({}) : ctx.continueAsNew(undefined);
          },
        });
      const pipelines = [forgetful('checkpoint'), forgetful('continueAsNew')];
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, pipelines);
      for (const each of pipelines) {
        const handle = await holdfast.submit(each, undefined);
        await assert.rejects(handle.result(), {
          status: 'compensated',
          message: /ctx\.checkpoint/,
        });
      }
    },
  },
];
