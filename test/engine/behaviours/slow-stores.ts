// Slow stores, and what happens while they answer.

import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import { Fault, OutcomeUnknown } from '../../../src/support/fault.ts';
import { type Behaviour, door, pause, turns } from '../stage.ts';

/** The first poll for a fresh execution comes after 100 ms. */
const AFTER_POLL_MS = 150;

export const SLOW_STORES: readonly Behaviour[] = [
  {
    name: 'a caller without wakeups gets a result, also after a poll without callers',
    async run(stage) {
      const echo = pipeline({ name: 'echo', run: (_, value: number) => value });
      const caller = stage.holdfastWith(() => ({ onWakeup: () => () => undefined }));
      const worker = await stage.worker(caller, [echo]);
      // It ends in this process, so its poll finds no caller.
      assert.equal(await (await caller.submit(echo, 1)).result(), 1);
      await pause(AFTER_POLL_MS);
      await worker.stop();
      await stage.worker(stage.holdfast(), [echo]);
      assert.equal(await (await caller.submit(echo, 2)).result(), 2);
    },
  },
  {
    name: 'a result that need not be durable yet does not overtake one that is being written',
    async run(stage) {
      const work = door();
      const winners: string[] = [];
      const racing = pipeline({
        name: 'racing',
        checkpoint: { every: 'time', ms: 60_000 },
        async run(ctx) {
          const winner = await Promise.race([
            ctx.step('work', () => work.passed.then(() => 'work')),
            ctx.sleep(1).then(() => 'time'),
          ]);
          winners.push(winner);
          await ctx.receive('go');
          return ctx.step(`after ${winner}`, () => winner);
        },
      });
      const holdfast = stage.holdfastWith((executions) => ({
        record: async (request) => {
          if (request.events.some(({ kind }) => kind === 'timer-fired')) {
            work.open();
            await turns();
          }
          return executions.record(request);
        },
      }));
      await stage.worker(holdfast, [racing]);
      const { id, result } = await holdfast.submit(racing, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await holdfast.signal(id, { name: 'go' });
      assert.equal(await result(), 'time');
      assert.deepEqual(new Set(winners), new Set(['time']), 'the same in the replay');
    },
  },
  {
    name: 'X-23: a transaction whose answer was lost is found again, whatever is recorded beside it',
    async run(stage) {
      const beside = door();
      let runs = 0;
      const both = pipeline({
        name: 'both',
        run: (ctx) =>
          Promise.all([
            ctx.transaction('write', (() => {
              runs += 1;
              return 'written';
            }) as never),
            ctx.step('beside', () => beside.passed.then(() => 'recorded')),
          ]),
      });
      let isLost = false;
      const holdfast = stage.holdfastWith((executions) => ({
        transact: async (request) => {
          const answer = await executions.transact(request);
          if (isLost) return answer;
          isLost = true;
          beside.open();
          await turns();
          throw new OutcomeUnknown('The connection broke.');
        },
      }));
      await stage.worker(holdfast, [both]);
      const { id, result } = await holdfast.submit(both, undefined);
      assert.deepEqual(await result(), ['written', 'recorded']);
      assert.equal(runs, 1);
      const steps = (await holdfast.history(id)).filter(({ kind }) => kind === 'step-completed');
      assert.deepEqual(
        steps.map(({ name }) => name),
        ['write', 'beside'],
      );
    },
  },
  {
    name: 'a deadline that passes during a refused park still ends the execution',
    async run(stage) {
      const late = pipeline({
        name: 'late',
        async run(ctx) {
          await ctx.receive('go');
          await ctx.step('endless', () => new Promise<never>(() => undefined));
        },
      });
      const holdfast = stage.holdfastWith((executions) => ({
        park: async (request) => {
          await holdfast.signal(request.id, { name: 'go' });
          const { deadlineAt = 0 } = (await holdfast.read(request.id)) ?? {};
          while (Date.now() < deadlineAt + 20) await pause(5);
          return executions.park(request);
        },
      }));
      await stage.worker(holdfast, [late]);
      const { result } = await holdfast.submit(late, undefined, { deadlineMs: 300 });
      await assert.rejects(result(), {
        status: 'failed',
        message: /deadline of the execution has passed/,
      });
    },
  },
  {
    name: 'a store that fails when a running execution reads messages blocks only that execution',
    async run(stage) {
      const { passed, open } = door();
      const waiting = pipeline({
        name: 'waiting',
        run: (ctx) => ctx.step('wait', () => passed.then(() => 'done')),
      });
      let failures = 0;
      const holdfast = stage.holdfastWith((executions) => ({
        inbox: async (query) => {
          failures += 1;
          if (failures > 1) return executions.inbox(query);
          throw new Fault('store-rejected', 'No such statement.');
        },
      }));
      await stage.worker(holdfast, [waiting], { ttlMs: 600 });
      const { id, result } = await holdfast.submit(waiting, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'running');
      assert.equal((await holdfast.signal(id, { name: 'any' })).kind, 'forwarded');
      await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
      const last = (await holdfast.history(id)).at(-1);
      assert.match(last?.body ?? '', /No such statement/);
      open();
      await holdfast.resume(id);
      assert.equal(await result(), 'done');
    },
  },
  {
    name: 'submitOrSignal submits nothing when its signal cannot be sent',
    async run(stage) {
      const holdfast = stage.holdfast();
      const bad = [
        { name: 'x'.repeat(1_000) },
        { name: 'a', value: () => 1 },
        { name: '' },
        undefined,
      ];
      for (const signal of bad) {
        const options = { key: 'cart/7', signal: signal as { readonly name: string } };
        await assert.rejects(holdfast.submitOrSignal('cart', {}, options), {
          code: /invalid|large/,
        });
      }
      assert.deepEqual((await holdfast.list()).items, []);
    },
  },
  ...(['claim', 'announce'] as const).map(
    (when): Behaviour => ({
      name: `X-17: a cancel whose notice comes while its execution is being claimed is seen, during ${when}`,
      async run(stage) {
        const { sessions } = stage.store;
        let heartbeats = 0;
        const heartbeat: typeof sessions.heartbeat = async (request) => {
          const answer = await sessions.heartbeat(request);
          heartbeats += 1;
          return answer;
        };
        let claimed: ExecutionId | undefined;
        let isCancelled = false;
        const cancelled = async (): Promise<void> => {
          if (claimed === undefined || isCancelled) return;
          isCancelled = true;
          assert.equal((await holdfast.cancel(claimed)).kind, 'forwarded');
          // The notice reaches the worker before its execution does.
          for (const before = heartbeats; heartbeats < before + 2; ) await pause(5);
        };
        const holdfast = stage.holdfastWith(
          (executions) => ({
            claim: async (request) => {
              const answer = await executions.claim(request);
              claimed ??= answer.kind === 'claimed' ? answer.claims[0]?.execution.id : undefined;
              if (when === 'claim') await cancelled();
              return answer;
            },
            announce: async (request) => {
              if (when === 'announce') await cancelled();
              return executions.announce(request);
            },
          }),
          { sessions: { ...sessions, heartbeat } },
        );
        const endless = pipeline({
          name: 'endless',
          run: (ctx) => ctx.step('endless', () => new Promise<never>(() => undefined)),
        });
        const { result } = await holdfast.submit(endless, undefined);
        await stage.worker(holdfast, [endless], { ttlMs: 600 });
        await assert.rejects(result(), { status: 'cancelled' });
      },
    }),
  ),
  {
    name: 'a worker that stops yields at once, also while it waits for the answer to its last claim',
    async run(stage) {
      const gate = door();
      const answered = door();
      let begun = 0;
      const two = pipeline({
        name: 'two',
        async run(ctx) {
          await ctx.step('first', async () => {
            begun += 1;
            await gate.passed;
          });
          return ctx.step('second', () => 'moved');
        },
      });
      let waiting = 0;
      const holdfast = stage.holdfastWith((executions) => ({
        claim: async (request) => {
          if (begun > 0) {
            waiting += 1;
            await answered.passed;
          }
          return executions.claim(request);
        },
      }));
      const first = await stage.worker(holdfast, [two]);
      const { id, result } = await holdfast.submit(two, undefined);
      await stage.until(holdfast, id, () => waiting > 0);
      const stopping = first.stop();
      gate.open();
      const parted = await stage.until(holdfast, id, ({ status }) => status !== 'running');
      answered.open();
      await stopping;
      assert.equal(parted.status, 'queued');
      await stage.worker(stage.holdfast(), [two]);
      assert.equal(await result(), 'moved');
      assert.equal(begun, 1);
    },
  },
];
