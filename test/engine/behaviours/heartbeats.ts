// Heartbeats of long steps.

import assert from 'node:assert/strict';
import type { StepContext } from '../../../src/engine/context.ts';
import { StepFailed } from '../../../src/engine/failures.ts';
import { hostStep, pipeline, remoteStep } from '../../../src/engine/pipeline.ts';
import { aesCodec } from '../../../src/engine/values/aes-codec.ts';
import { type Behaviour, door } from '../stage.ts';

interface Position {
  readonly row: number;
}

const NOW: { readonly initialMs: 1 } = { initialMs: 1 };

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

export const HEARTBEATS: readonly Behaviour[] = [
  {
    name: 'X-98: a silent attempt is given up, and the next one gets the last details',
    async run(stage) {
      const seen: unknown[] = [];
      const late: unknown[] = [];
      const over = door();
      const copying = pipeline({
        name: 'copying',
        run: (ctx) =>
          ctx.step(
            'copy',
            async (step: StepContext<Position>) => {
              seen.push([step.attempt, step.heartbeatDetails]);
              if (step.attempt === 2) return 'second';
              step.heartbeat({ row: 7 });
              step.heartbeat();
              late.push((await aborted(step.signal)) as Error);
              // The attempt is over: neither a heartbeat nor a result of it counts.
              try {
                step.heartbeat({ row: 8 });
              } catch (error) {
                late.push(error);
              }
              over.open();
              return 'first';
            },
            { heartbeatTimeoutMs: 40, retry: NOW },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [copying]);
      const handle = await holdfast.submit(copying, undefined);
      assert.equal(await handle.result(), 'second');
      await over.passed;
      assert.deepEqual(seen, [
        [1, undefined],
        [2, { row: 7 }],
      ]);
      const [reason, refusal] = late as Error[];
      assert.match(reason?.message ?? '', /"copy" sent no heartbeat for 40 ms/);
      assert.equal(refusal, reason);
      const failed = (await holdfast.history(handle.id)).filter(
        ({ kind }) => kind === 'step-failed',
      );
      assert.equal(failed.length, 1);
      assert.match(failed[0]?.body ?? '', /"category":"unknown","code":"step-silent"/);
      assert.equal((await holdfast.read(handle.id))?.heartbeats, undefined);
    },
  },
  {
    name: 'X-98: heartbeats keep an attempt alive for longer than the limit of silence',
    async run(stage) {
      let attempts = 0;
      const copying = pipeline({
        name: 'copying',
        run: (ctx) =>
          ctx.step(
            'copy',
            async (step) => {
              attempts += 1;
              const until = performance.now() + 900;
              while (performance.now() < until) {
                step.heartbeat();
                await new Promise((resolve) => setImmediate(resolve));
              }
              return step.signal.aborted;
            },
            { heartbeatTimeoutMs: 300 },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [copying]);
      const handle = await holdfast.submit(copying, undefined);
      assert.equal(await handle.result(), false);
      assert.equal(attempts, 1);
    },
  },
  {
    name: 'X-97: after a crash, another worker’s attempt gets the details, and the row shows them before',
    async run(stage) {
      const seen: unknown[] = [];
      const gate = door();
      const copying = pipeline({
        name: 'copying',
        run: (ctx) =>
          ctx.step('copy', async (step: StepContext<Position>) => {
            seen.push(step.heartbeatDetails);
            if (seen.length > 1) return step.heartbeatDetails?.row;
            step.heartbeat({ row: 41 });
            step.heartbeat({ row: 42 });
            await gate.passed;
            return -1;
          }),
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [copying]);
      const handle = await holdfast.submit(copying, undefined);
      const shown = await stage.until(
        holdfast,
        handle.id,
        ({ heartbeats }) => heartbeats !== undefined,
      );
      const [beat] = shown.heartbeats ?? [];
      assert.deepEqual([beat?.key, beat?.attempt], ['step:copy#1', 1]);
      assert.ok(Math.abs((beat?.at ?? 0) - (shown.claimedAt ?? 0)) < 60_000);
      assert.deepEqual(await holdfast.decode(beat?.details as never), { row: 42 });
      const why = await holdfast.explain(handle.id);
      assert.match(why?.sentence ?? '', /step:copy#1, attempt 1, sent its last heartbeat at /);
      await stage.crash(first);
      await stage.worker(holdfast, [copying]);
      assert.equal(await handle.result(), 42);
      gate.open();
      assert.deepEqual(seen, [undefined, { row: 42 }]);
      assert.equal((await holdfast.read(handle.id))?.heartbeats, undefined);
      const kinds = (await holdfast.history(handle.id)).map(({ kind }) => kind);
      assert.equal(kinds.filter((kind) => kind === 'step-completed').length, 1);
    },
  },
  {
    name: 'X-97: details pass through the codec, and survive a retry that parks the execution',
    async run(stage) {
      const codec = aesCodec([{ id: 'k', key: new Uint8Array(32).fill(7) }]);
      const seen: unknown[] = [];
      const copying = pipeline({
        name: 'copying',
        run: (ctx) =>
          ctx.step(
            'copy',
            async (step: StepContext<{ at: Date }>) => {
              seen.push(step.heartbeatDetails);
              if (step.attempt === 2) return;
              step.heartbeat({ at: new Date(86_400_000) });
              throw new Error('again');
            },
            { retry: { initialMs: 200, jitter: 0 } },
          ),
      });
      const holdfast = stage.holdfast({ codec, parkAfterMs: 20 });
      await stage.worker(holdfast, [copying]);
      const handle = await holdfast.submit(copying, undefined);
      await handle.result();
      assert.deepEqual(seen, [undefined, { at: new Date(86_400_000) }]);
      const kinds = (await holdfast.history(handle.id)).map(({ kind }) => kind);
      assert.ok(kinds.includes('parked'), kinds.join());
    },
  },
  {
    name: 'X-98: a heartbeat after the end of its attempt is refused, and so are details that cannot be stored',
    async run(stage) {
      const refused: unknown[] = [];
      const asked = door();
      const sloppy = pipeline({
        name: 'sloppy',
        async run(ctx) {
          await ctx.step('sloppy', (step) => {
            for (const wrong of [() => 1, 'x'.repeat(16_384)]) {
              try {
                step.heartbeat(wrong);
              } catch (error) {
                refused.push(error);
              }
            }
            setImmediate(() => {
              try {
                step.heartbeat();
              } catch (error) {
                refused.push(error);
              }
              asked.open();
            });
          });
          await ctx.step('wait', () => asked.passed);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [sloppy]);
      const handle = await holdfast.submit(sloppy, undefined);
      await handle.result();
      const [unstorable, large, late] = refused as (Error & { readonly code?: string })[];
      assert.match(unstorable?.message ?? '', /heartbeat details of step "sloppy"/);
      assert.match(large?.message ?? '', /have 16386 bytes, and at most 16384 can be stored/);
      assert.equal(late?.code, 'attempt-over');
      assert.equal((await holdfast.read(handle.id))?.heartbeats, undefined);
    },
  },
  {
    name: 'X-99: a long step that continues from its details is never quarantined for lost workers',
    async run(stage) {
      const rows: number[] = [];
      let isDone = false;
      const copying = pipeline({
        name: 'copying',
        run: (ctx) =>
          ctx.step('copy', async (step: StepContext<Position>) => {
            const row = (step.heartbeatDetails?.row ?? 0) + 1;
            step.heartbeat({ row });
            rows.push(row);
            if (isDone) return row;
            await aborted(step.signal);
            return 0;
          }),
      });
      const holdfast = stage.holdfast({ maxClaimsWithoutProgress: 3 });
      const handle = await holdfast.submit(copying, undefined);
      for (let row = 1; row <= 5; row += 1) {
        const worker = await stage.worker(holdfast, [copying]);
        await stage.until(holdfast, handle.id, ({ heartbeats, status }) => {
          assert.equal(status === 'quarantined', false);
          return JSON.stringify(heartbeats ?? []).includes(`row\\":${row}}`);
        });
        if (row === 5) isDone = true;
        await stage.crash(worker);
      }
      await stage.worker(holdfast, [copying]);
      assert.equal(await handle.result(), 6);
      assert.deepEqual(rows, [1, 2, 3, 4, 5, 6]);
    },
  },
  {
    name: 'X-99: a step that begins anew in each claim is quarantined, although it sends other details',
    async run(stage) {
      let begun = 0;
      const restarting = pipeline({
        name: 'restarting',
        run: (ctx) =>
          ctx.step('copy', async (step: StepContext<Position>) => {
            begun += 1;
            step.heartbeat({ row: begun });
            await aborted(step.signal);
          }),
      });
      const holdfast = stage.holdfast({ maxClaimsWithoutProgress: 3 });
      const handle = await holdfast.submit(restarting, undefined);
      for (let death = 1; death <= 3; death += 1) {
        const worker = await stage.worker(holdfast, [restarting]);
        const { claimsWithoutProgress } = await stage.until(holdfast, handle.id, ({ heartbeats }) =>
          JSON.stringify(heartbeats ?? []).includes(`row\\":${death}}`),
        );
        assert.equal(claimsWithoutProgress, death - 1);
        await stage.crash(worker);
      }
      await stage.worker(holdfast, [restarting]);
      await assert.rejects(handle.result(), { name: 'ExecutionFailed', status: 'quarantined' });
      assert.equal(begun, 3);
    },
  },
  {
    name: 'X-98: hosted steps, items of a map and compensations send heartbeats too',
    async run(stage) {
      const silent = remoteStep<number, number>({ name: 'silent' });
      const hosted = hostStep(
        silent,
        async (value, step) => {
          if (step.attempt > 1) return value + Number(step.heartbeatDetails);
          step.heartbeat(40);
          await aborted(step.signal);
          return 0;
        },
        { heartbeatTimeoutMs: 40, retry: NOW },
      );
      const undone: unknown[] = [];
      const all = pipeline({
        name: 'all',
        async run(ctx) {
          const answer = await ctx.call(silent, 2);
          const mapped = await ctx
            .map('each', [1, 2], {
              heartbeatTimeoutMs: 40,
              retry: { ...NOW, attempts: 1 },
              run: (item, step) => (item === 1 ? item : aborted(step.signal).then(() => 0)),
            })
            .catch((error: unknown) => (error as StepFailed).failure.code);
          await ctx.step('book', () => 'b', {
            compensate: {
              heartbeatTimeoutMs: 40,
              retry: NOW,
              async run(_, undo) {
                undone.push([undo.attempt, undo.heartbeatDetails]);
                if (undo.attempt > 1) return;
                undo.heartbeat('half');
                await aborted(undo.signal);
              },
            },
          });
          throw new StepFailed('made up', {
            category: 'permanent',
            code: 'made-up',
            message: JSON.stringify([answer, mapped]),
          });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [all, hosted]);
      const handle = await holdfast.submit(all, undefined);
      await assert.rejects(handle.result(), /\[42,"step-silent"\]/);
      assert.deepEqual(undone, [
        [1, undefined],
        [2, 'half'],
      ]);
    },
  },
];
