// Executions that are paused or blocked, and are cancelled in that state.

import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, type Stage, turns } from '../stage.ts';

type Code = (ctx: Context) => Promise<unknown>;

/** Cancels an execution that is about to be blocked, once, before its owner learns of it. */
function cancellingLate(stage: Stage): Holdfast {
  let isAsked = false;
  const holdfast: Holdfast = stage.holdfastWith((executions) => ({
    giveBack: async (request) => {
      if (request.blocked === true && !isAsked) {
        isAsked = true;
        const asked = await holdfast.cancel(request.id, { reason: 'not wanted' });
        assert.equal(asked.kind, 'forwarded');
      }
      return executions.giveBack(request);
    },
  }));
  return holdfast;
}

/** Waits with `before`, and is woken by a worker with `after`. */
async function redeploy(
  stage: Stage,
  holdfast: Holdfast,
  codes: { readonly before: Code; readonly after: Code },
) {
  const name = 'changing';
  const old = await stage.worker(holdfast, [pipeline({ name, run: codes.before })]);
  const handle = await holdfast.submit(name, undefined);
  await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
  await old.stop();
  const worker = await stage.worker(holdfast, [pipeline({ name, run: codes.after })]);
  await holdfast.signal(handle.id, { name: 'go' });
  return { ...handle, worker };
}

const renamed: Code = (ctx) => ctx.step('bill', () => 1);

function charging(log: string[]): Code {
  return async (ctx) => {
    await ctx.step('charge', () => log.push('charge'), {
      compensate: () => void log.push('refund'),
    });
    await ctx.receive('go');
    return 'shipped';
  };
}

const UNDONE_FOR_OLGA = /^Cancelled by olga \(ordered twice\)\. Its steps were undone at 2\S+Z\.$/;

export const HELD: readonly Behaviour[] = [
  {
    name: 'X-17, X-74: a cancel that comes while drift blocks the execution ends it',
    async run(stage) {
      const holdfast = cancellingLate(stage);
      const before: Code = async (ctx) => {
        await ctx.step('charge', () => 1);
        await ctx.receive('go');
      };
      const { id, result } = await redeploy(stage, holdfast, { before, after: renamed });
      await assert.rejects(result(), { status: 'cancelled', message: /not wanted/ });
      assert.deepEqual((await holdfast.read(id))?.holds, []);
    },
  },
  {
    name: 'X-17: a cancel forwarded to a worker that died ends the execution, though the next has other code',
    async run(stage) {
      const gate = door();
      let begun = 0;
      const name = 'changing';
      const before: Code = async (ctx) => {
        await ctx.step('charge', () => 1);
        await ctx.step('ship', () => {
          begun += 1;
          return gate.passed;
        });
      };
      const holdfast = stage.holdfast();
      // It would learn of the cancel with its next heartbeat.
      const first = await stage.worker(holdfast, [pipeline({ name, run: before })], {
        ttlMs: 60_000,
      });
      const { id, result } = await holdfast.submit(name, undefined);
      await stage.until(holdfast, id, () => begun === 1);
      assert.equal((await holdfast.cancel(id)).kind, 'forwarded');
      await stage.crash(first);
      await stage.worker(holdfast, [pipeline({ name, run: renamed })]);
      await assert.rejects(result(), { status: 'cancelled' });
      gate.open();
    },
  },
  {
    name: 'Y-2, Y-7: an execution that drifts and is cancelled cannot compensate, and does with the right code',
    async run(stage) {
      const log: string[] = [];
      const holdfast = cancellingLate(stage);
      const before = charging(log);
      const { id, result, worker } = await redeploy(stage, holdfast, { before, after: renamed });
      const held = await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
      assert.equal(held.compensating, true);
      const { sentence } = (await holdfast.explain(id)) ?? {};
      assert.match(sentence ?? '', /^Compensating\. Blocked: Its steps cannot be/);
      assert.match(sentence ?? '', /History has step:charge#1 .* step:bill#1/);
      await worker.stop();
      await stage.worker(holdfast, [pipeline({ name: 'changing', run: before })]);
      await holdfast.resume(id);
      await assert.rejects(result(), { status: 'compensated' });
      assert.deepEqual(log, ['charge', 'refund']);
    },
  },
  {
    name: 'Y-3: an execution that was paused while it ran compensates when it is cancelled',
    async run(stage) {
      const log: string[] = [];
      const gate = door();
      const paused = pipeline({
        name: 'paused',
        async run(ctx) {
          await ctx.step('charge', () => log.push('charge'), {
            compensate: () => void log.push('refund'),
          });
          await ctx.step('pack', () => {
            log.push('pack');
            return gate.passed;
          });
          await ctx.step('ship', () => log.push('ship'));
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [paused], { ttlMs: 600 });
      const { id, result } = await holdfast.submit(paused, undefined);
      await stage.until(holdfast, id, () => log.includes('pack'));
      assert.equal((await holdfast.pause(id)).kind, 'forwarded');
      gate.open();
      const held = await stage.until(holdfast, id, ({ holds }) => holds.includes('paused'));
      assert.equal(held.compensable, true);
      await holdfast.cancel(id);
      await holdfast.resume(id);
      await assert.rejects(result(), { status: 'compensated' });
      assert.deepEqual(log, ['charge', 'pack', 'refund']);
    },
  },
  {
    name: 'Y-3: an execution that was paused and cancelled while it ran pauses, however long its replay takes',
    async run(stage) {
      const log: string[] = [];
      const gate = door();
      const validate = async (value: unknown) => {
        await turns();
        return { value };
      };
      const slow = pipeline<unknown, unknown>({
        name: 'slow',
        input: { '~standard': { version: 1, vendor: 'test', validate } },
        run: (ctx) =>
          ctx.step(
            'charge',
            () => {
              log.push('charge');
              return gate.passed;
            },
            { compensate: () => void log.push('refund') },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [slow], { ttlMs: 600 });
      const { id, result } = await holdfast.submit(slow, 1);
      await stage.until(holdfast, id, () => log.length === 1);
      assert.equal((await holdfast.pause(id)).kind, 'forwarded');
      assert.equal((await holdfast.cancel(id)).kind, 'forwarded');
      await stage.untilHistory(holdfast, id, (events) =>
        events.some(({ kind }) => kind === 'cancel-requested'),
      );
      gate.open();
      await stage.until(holdfast, id, ({ holds }) => holds.includes('paused'));
      await holdfast.resume(id);
      await assert.rejects(result(), { status: 'compensated' });
      assert.deepEqual(log, ['charge', 'refund']);
    },
  },
  {
    name: 'Y-8: a cancel of a blocked execution waits for a resume, and explain names the command',
    async run(stage) {
      const log: string[] = [];
      const buggy = pipeline({
        name: 'buggy',
        async run(ctx) {
          await ctx.step('charge', () => log.push('charge'), {
            compensate: () => void log.push('refund'),
          });
          throw new TypeError('no such field');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [buggy]);
      const { id, result } = await holdfast.submit(buggy, undefined);
      await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
      await holdfast.cancel(id, { actor: 'olga', reason: 'ordered twice' });
      const blocked = await holdfast.explain(id);
      assert.equal(blocked?.code, 'blocked');
      assert.equal(
        blocked?.sentence,
        'Cancelled by olga (ordered twice) while it was blocked. Its steps are not undone yet.',
      );
      assert.match(
        blocked?.advice ?? '',
        new RegExp(`^Run holdfast resume ${id} to undo its steps`),
      );
      await holdfast.resume(id);
      await assert.rejects(result(), { status: 'compensated' });
      assert.deepEqual(log, ['charge', 'refund']);
      assert.match((await holdfast.explain(id))?.sentence ?? '', UNDONE_FOR_OLGA);
    },
  },
  {
    name: 'explain names the actor and the reason of a cancel that a worker received',
    async run(stage) {
      let isPacking = false;
      const packing = pipeline({
        name: 'packing',
        async run(ctx) {
          await ctx.step('charge', () => 1, { compensate: () => undefined });
          await ctx.step('pack', ({ signal }) => {
            isPacking = true;
            return new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason));
            });
          });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [packing], { ttlMs: 600 });
      const { id, result } = await holdfast.submit(packing, undefined);
      await stage.until(holdfast, id, () => isPacking);
      const cancelled = await holdfast.cancel(id, { actor: 'olga', reason: 'ordered twice' });
      assert.equal(cancelled.kind, 'forwarded');
      await assert.rejects(result(), { status: 'compensated' });
      assert.match((await holdfast.explain(id))?.sentence ?? '', UNDONE_FOR_OLGA);
    },
  },
  {
    name: 'Y-3: a cancel does not end an execution that is blocked because its history cannot be read',
    async run(stage) {
      const log: string[] = [];
      let isBroken = false;
      const holdfast = stage.holdfastWith((executions) => ({
        history: (query) =>
          isBroken ? Promise.reject(new Error('The page is gone.')) : executions.history(query),
      }));
      const run = charging(log);
      await stage.worker(holdfast, [pipeline({ name: 'broken', run })]);
      const { id, result } = await holdfast.submit('broken', undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      isBroken = true;
      await holdfast.signal(id, { name: 'go' });
      await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
      isBroken = false;
      assert.deepEqual(await holdfast.cancel(id), { kind: 'done', status: 'queued' });
      await holdfast.resume(id);
      await assert.rejects(result(), { status: 'compensated' });
      assert.deepEqual(log, ['charge', 'refund']);
    },
  },
];
