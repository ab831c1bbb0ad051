import assert from 'node:assert/strict';
import { addAbortListener } from 'node:events';
import type { Context } from '../../../src/engine/context.ts';
import type { Handle, Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { WorkerOptions } from '../../../src/engine/worker/worker-options.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

export const neverEnding = (ctx: Context): Promise<void> =>
  ctx.step('long', () => new Promise(() => undefined));

/** Submits the worker's pipeline and cancels it. The worker dies once it has recorded that. */
export async function cancelledByTheDead(
  stage: Stage,
  holdfast: Holdfast,
  { pipelines, ...options }: WorkerOptions,
): Promise<Handle<unknown>> {
  const recorded = door();
  const dying = stage.holdfastWith((executions) => ({
    async record(request) {
      const reply = await executions.record(request);
      if (request.events.some(({ kind }) => kind === 'cancel-requested')) {
        worker.crash();
        recorded.open();
      }
      return reply;
    },
  }));
  const worker = await stage.worker(dying, pipelines, { ttlMs: 600, ...options });
  const handle = await holdfast.submit(pipelines[0]?.name ?? '', undefined);
  await stage.until(holdfast, handle.id, ({ status }) => status === 'running');
  assert.equal((await holdfast.cancel(handle.id)).kind, 'forwarded');
  await recorded.passed;
  await stage.crash(worker);
  return handle;
}

export const CANCELLING: readonly Behaviour[] = [
  {
    name: 'a queued or waiting execution is cancelled at once',
    async run(stage) {
      const waiting = pipeline({ name: 'waiting', run: (ctx) => ctx.receive('never') });
      const holdfast = stage.holdfast();
      const queued = await holdfast.submit(waiting, undefined);
      assert.equal((await holdfast.cancel(queued.id)).kind, 'done');
      await assert.rejects(queued.result(), { name: 'ExecutionFailed', status: 'cancelled' });
      await stage.worker(holdfast, [waiting]);
      const parked = await holdfast.submit(waiting, undefined);
      await stage.until(holdfast, parked.id, ({ status }) => status === 'waiting');
      assert.equal(
        (await holdfast.cancel(parked.id, { actor: 'olga', reason: 'typo' })).kind,
        'done',
      );
      await assert.rejects(parked.result(), { name: 'ExecutionFailed', status: 'cancelled' });
      const again = await holdfast.cancel(parked.id);
      assert.equal(again.kind, 'refused');
    },
  },
  {
    name: 'a cancel of a running execution aborts its steps, and it ends as cancelled',
    async run(stage) {
      let wasAborted = false;
      const working = pipeline({
        name: 'working',
        run: (ctx) =>
          ctx.step(
            'long',
            ({ signal }) =>
              new Promise<void>((_, reject) => {
                signal.addEventListener('abort', () => {
                  wasAborted = true;
                  reject(signal.reason);
                });
              }),
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [working], { ttlMs: 600 });
      const handle = await holdfast.submit(working, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'running');
      assert.equal((await holdfast.cancel(handle.id)).kind, 'forwarded');
      await assert.rejects(handle.result(), { name: 'ExecutionFailed', status: 'cancelled' });
      assert.ok(wasAborted);
    },
  },
  {
    name: 'X-17: a cancel that a worker recorded before it died ends the execution, even if no call has settled',
    async run(stage) {
      const long = pipeline({ name: 'long', run: neverEnding });
      const holdfast = stage.holdfast();
      const { result } = await cancelledByTheDead(stage, holdfast, { pipelines: [long] });
      await stage.worker(holdfast, [long]);
      await assert.rejects(result(), { status: 'cancelled' });
    },
  },
  {
    name: 'X-119: an abandoned child outlives its parent, and its parent can wait for it',
    async run(stage) {
      const child = pipeline({ name: 'child', run: (ctx) => ctx.receive<string>('go') });
      const parent = pipeline({
        name: 'parent',
        async run(ctx, waits: boolean) {
          const spawned = await ctx.spawn(child, undefined, { onParentEnd: 'abandon' });
          return waits ? spawned.result() : spawned.id;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, child]);
      const left = (await (await holdfast.submit(parent, false)).result()) as string;
      await stage.store.executions.maintain({ limit: 100 });
      const waiting = await holdfast.submit(parent, true);
      await stage.until(holdfast, waiting.id, ({ status }) => status === 'waiting');
      const [own] = await stage.store.executions.children({ parent: waiting.id, limit: 10 });
      for (const id of [left, own?.id ?? '']) {
        await holdfast.signal(id, { name: 'go', value: 'done' });
        assert.equal(await holdfast.result(id), 'done');
      }
      assert.equal(await waiting.result(), 'done');
    },
  },
  {
    name: 'cancelling a parent cancels its children',
    async run(stage) {
      const child = pipeline({ name: 'child', run: (ctx) => ctx.receive('never') });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const children = await ctx.fanOut(child, [1, 2, 3]);
          return children.results();
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, child]);
      const handle = await holdfast.submit(parent, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      const children = await stage.store.executions.children({ parent: handle.id, limit: 10 });
      for (const { id } of children) {
        await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      }
      await holdfast.cancel(handle.id);
      await stage.store.executions.maintain({ limit: 100 });
      for (const { id } of children) {
        await stage.until(holdfast, id, ({ status }) => status === 'cancelled');
      }
    },
  },
  {
    name: 'promises that the code has not awaited yet do not stop the process',
    async run(stage) {
      const child = pipeline({ name: 'child', run: (ctx) => ctx.receive('never') });
      const late = pipeline({
        name: 'late',
        async run(ctx) {
          const spawned = await ctx.spawn(child, undefined);
          const result = spawned.result();
          const mapped = ctx.map('m', [1], { run: () => new Promise<number>(() => undefined) });
          await ctx.receive('never');
          return [await result, await mapped];
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [late, child], { ttlMs: 600 });
      const handle = await holdfast.submit(late, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'running');
      await holdfast.cancel(handle.id);
      await assert.rejects(handle.result(), { status: 'cancelled' });
    },
  },
  {
    name: 'an abort listener that throws is reported to the observer, and stops nothing',
    async run(stage) {
      const calls: string[] = [];
      const removed = (): void => void calls.push('removed');
      const listening = pipeline({
        name: 'listening',
        async run(ctx) {
          assert.equal(ctx.signal, ctx.signal);
          ctx.signal.onabort = () => {
            throw new Error('of onabort');
          };
          await ctx.step('long', ({ signal }) => {
            signal.addEventListener('abort', async () => {
              throw new Error('of the step, later');
            });
            signal.addEventListener('abort', {
              handleEvent() {
                throw null;
              },
            });
            signal.addEventListener('abort', removed);
            signal.removeEventListener('abort', removed);
            signal.addEventListener('abort', function (this: AbortSignal, event) {
              calls.push(`${event.type} ${this === signal}`);
            });
            return new Promise<void>((_, reject) => {
              addAbortListener(signal, () => reject(signal.reason));
            });
          });
        },
      });
      const holdfast = stage.holdfast();
      const worker = await stage.worker(holdfast, [listening], { ttlMs: 600 });
      const handle = await holdfast.submit(listening, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'running');
      await holdfast.cancel(handle.id);
      await assert.rejects(handle.result(), { name: 'ExecutionFailed', status: 'cancelled' });
      await worker.stop();
      assert.deepEqual(calls, ['abort true']);
      const troubles = stage.reports.flatMap((each) => (each.kind === 'trouble' ? [each] : []));
      assert.deepEqual(troubles.map(({ cause }) => cause.split('\n')[0]).sort(), [
        'Error: of onabort',
        'Error: of the step, later',
        'null',
      ]);
      assert.match(troubles[0]?.what ?? '', new RegExp(`signal .*${handle.id}`));
    },
  },
];
