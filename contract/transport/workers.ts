// Guarantees for pipelines, with the engine at the other end of the transport.

import assert from 'node:assert/strict';
import type { ChildFailed } from '../../src/engine/failures.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { hostStep, pipeline, remoteStep } from '../../src/engine/pipeline.ts';
import { aesCodec } from '../../src/engine/values/aes-codec.ts';
import type { Schema } from '../../src/engine/values/schema.ts';
import type { SessionId } from '../../src/lease/names.ts';
import type { WorkKind } from '../../src/protocol/messages/work-messages.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { openWorker, type RemoteWorkerOptions } from '../../src/worker/open-worker.ts';
import { kindsOf, PIPELINE } from '../execution/worker.ts';
import { faultyTransport, type TransportFault } from '../testing/faulty-transport.ts';
import type { TransportCase, TransportHarness } from './contract-case.ts';
import { handlerAnywhere } from './fake-endpoint.ts';

const TEXT: Schema<string> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'string' ? { value } : { issues: [{ message: 'must be text' }] },
  },
};

interface Working {
  readonly session: SessionId;
  stop(): Promise<void>;
}

interface WorkerParts extends Pick<RemoteWorkerOptions, 'pipelines' | 'codec' | 'ttlMs'> {
  /** Injects a fault into some messages or calls, by their number. */
  readonly plan?: (nth: number) => TransportFault | undefined;
}

interface Stage {
  readonly holdfast: Holdfast;
  work(
    pipelines: RemoteWorkerOptions['pipelines'],
    options?: Omit<WorkerParts, 'pipelines'>,
  ): Promise<Working>;
}

async function openWorking(harness: TransportHarness, given: WorkerParts): Promise<Working> {
  const { plan, ...options } = given;
  const transport = await harness.transport();
  const { endpoint } = harness;
  if (endpoint === undefined) {
    const faulted = plan === undefined ? transport : faultyTransport(transport, sparing(plan));
    return openWorker({ pollMs: 50, stopGraceMs: 0, ...options, transport: faulted });
  }
  const { pipelines, codec } = options;
  const handler = handlerAnywhere({
    pipelines,
    signing: endpoint.signing,
    ...(codec && { codec }),
    ...(harness.withoutConnection === true ? {} : { coordinator: { transport } }),
  });
  return endpoint.addHandler(handler, plan);
}

/** Spares messages that no worker repeats. */
function sparing(
  plan: NonNullable<WorkerParts['plan']>,
): (nth: number, kind: WorkKind) => TransportFault | undefined {
  return (nth, kind) => (kind === 'greet' || kind === 'openSession' ? undefined : plan(nth));
}

/** Sets up a submitting client, and workers that stop at the end. */
async function staged(
  harness: TransportHarness,
  play: (stage: Stage) => Promise<void>,
  codec?: Pick<RemoteWorkerOptions, 'codec'>,
): Promise<void> {
  const workers: Working[] = [];
  const holdfast = new Holdfast({ store: harness.store, ...codec });
  try {
    await play({
      holdfast,
      async work(pipelines, options = {}) {
        for (const { name } of pipelines) {
          assert.ok(transportPipelines.includes(name), `transportPipelines lacks "${name}"`);
        }
        const worker = await openWorking(harness, { ...options, pipelines });
        workers.push(worker);
        return worker;
      },
    });
  } finally {
    await Promise.all(workers.map((each) => each.stop()));
    await holdfast.close();
  }
}

const sum = remoteStep<readonly number[], number>({ name: 'sum' });
const hosted = hostStep(sum, (numbers) => numbers.reduce((total, each) => total + each, 0));
const caller = pipeline({
  name: 'caller',
  run: (ctx, input: readonly number[]) => ctx.call(sum, input),
});

/**
 * The names of the pipelines that the cases run. A coordinator that calls workers must call them
 * for these.
 */
export const transportPipelines: readonly string[] = [
  ...[PIPELINE, 'three', 'slow', 'two-step', 'waits', 'family', 'large', 'fails', 'fails once'],
  ...['parent', 'listening', 'cart', caller.name, hosted.name],
];

const three = pipeline({
  name: 'three',
  async run(ctx, input: { readonly n: number }) {
    const one = await ctx.step('one', () => input.n + 1);
    const two = await ctx.step('two', () => one * 2);
    return ctx.step('three', () => two + 1);
  },
});

const THREE_KINDS = ['submitted', 'claimed', ...Array(3).fill('step-completed'), 'completed'];

/** Injects a fault into some messages, by their number. */
function shaky(name: string, plan: (nth: number) => TransportFault | undefined): TransportCase {
  return {
    upholds: 'M-1, M-2, M-12',
    name: `executions complete, each step recorded once, while ${name}`,
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        let faults = 0;
        const counted = (nth: number): TransportFault | undefined => {
          const fault = plan(nth);
          if (fault !== undefined) faults += 1;
          return fault;
        };
        await work([three], { plan: counted });
        const handles = await Promise.all(
          Array.from({ length: 6 }, (_, n) => holdfast.submit(three, { n })),
        );
        const results = await Promise.all(handles.map((each) => each.result()));
        assert.deepEqual(results, [3, 5, 7, 9, 11, 13]);
        for (const { id } of handles) {
          const kinds = await kindsOf(harness.store, id);
          assert.equal(kinds.filter((kind) => kind === 'step-completed').length, 3);
          assert.equal(kinds.at(-1), 'completed');
        }
        assert.ok(faults > 0, 'something happened');
      }),
  };
}

/** `passed` resolves when the gate opens. */
function gate(): { readonly passed: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}

const takeovers: readonly TransportCase[] = [
  {
    upholds: 'M-12, X-98',
    name: 'a silent attempt is given up, and the next one gets its details',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const slow = pipeline({
          name: 'slow',
          run: (ctx) =>
            ctx.step(
              'only',
              async (step) => {
                if (step.attempt > 1) return step.heartbeatDetails;
                step.heartbeat({ row: 7 });
                await new Promise((resolve) => step.signal.addEventListener('abort', resolve));
                return 'late';
              },
              { heartbeatTimeoutMs: 50, retry: { initialMs: 1 } },
            ),
        });
        await work([slow]);
        const handle = await holdfast.submit(slow, undefined);
        assert.deepEqual(await handle.result(), { row: 7 });
        const kinds = await kindsOf(harness.store, handle.id);
        assert.equal(kinds.filter((kind) => kind === 'step-failed').length, 1);
      }),
  },
  {
    upholds: 'M-12, X-97',
    name: 'the successor of a frozen worker gets the details of its last heartbeat',
    needs: 'heartbeats',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const thawed = gate();
        const seen: unknown[] = [];
        const slow = pipeline({
          name: 'slow',
          run: (ctx) =>
            ctx.step('only', async (step) => {
              seen.push(step.heartbeatDetails);
              if (seen.length > 1) return 'the second';
              step.heartbeat({ row: 7 });
              await thawed.passed;
              return 'the first';
            }),
        });
        const first = await work([slow]);
        const handle = await holdfast.submit(slow, undefined);
        while ((await holdfast.read(handle.id))?.heartbeats === undefined) {
          await systemTimers.pause(5);
        }
        const by = { kind: 'operator', actor: 'olga', reason: 'frozen' } as const;
        await harness.store.sessions.end({ id: first.session, by });
        await work([slow]);
        assert.equal(await handle.result(), 'the second');
        assert.deepEqual(seen, [undefined, { row: 7 }]);
        assert.equal((await holdfast.read(handle.id))?.heartbeats, undefined);
        thawed.open();
        await first.stop();
      }),
  },
  {
    upholds: 'M-12, X-106',
    name: 'a block yields its lease when it parks, and takes it again under a higher fence',
    needs: 'leases',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const fences: number[] = [];
        const slow = pipeline({
          name: 'slow',
          run: (ctx) =>
            ctx.lease('stock/17', async (lease) => {
              await ctx.step('first', () => fences.push(lease.fence));
              await ctx.receive('go');
              return ctx.step('second', () => {
                lease.assertHeld();
                fences.push(lease.fence);
                return 'done';
              });
            }),
        });
        await work([slow]);
        const { id, result } = await holdfast.submit(slow, undefined);
        while ((await holdfast.read(id))?.status !== 'waiting') await systemTimers.pause(5);
        const exits = async (): Promise<readonly string[]> => {
          const page = await harness.store.leases.events({ after: 0, limit: 1_000 });
          const events = page.kind === 'events' ? page.events : [];
          return events.flatMap((event) => (event.kind === 'ended' ? event.exit : []));
        };
        while ((await exits()).length === 0) await systemTimers.pause(5);
        await holdfast.signal(id, { name: 'go' });
        assert.equal(await result(), 'done');
        assert.equal(fences.length, 2);
        assert.ok((fences[1] ?? 0) > (fences[0] ?? 0), 'a higher fence');
        while ((await exits()).length < 2) await systemTimers.pause(5);
        assert.deepEqual(await exits(), ['yielded', 'finished']);
        assert.equal((await kindsOf(harness.store, id)).at(-2), 'lease-ended');
      }),
  },
  {
    upholds: 'M-12, X-107',
    name: 'blocks of two executions exclude each other, and the second waits for the first',
    needs: 'leases',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        let inside = 0;
        const slow = pipeline({
          name: 'slow',
          run: (ctx) =>
            ctx.lease('stock/17', (lease) =>
              ctx.step('only', async () => {
                lease.assertHeld();
                inside += 1;
                assert.equal(inside, 1, 'alone');
                await systemTimers.pause(20);
                inside -= 1;
                return lease.fence;
              }),
            ),
        });
        await work([slow]);
        const handles = await Promise.all(
          Array.from({ length: 3 }, () => holdfast.submit(slow, undefined)),
        );
        const fences = await Promise.all(handles.map((each) => each.result()));
        assert.equal(new Set(fences).size, 3);
      }),
  },
  {
    upholds: 'M-3, M-12',
    name: 'a frozen worker is replaced, and its writes after it thaws are refused',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const frozen = gate();
        const thawed = gate();
        const fences: number[] = [];
        const slow = pipeline({
          name: 'slow',
          run: (ctx) =>
            ctx.step('only', async ({ fence }) => {
              fences.push(fence);
              if (fences.length > 1) return 'the second';
              frozen.open();
              await thawed.passed;
              return 'the first';
            }),
        });
        const first = await work([slow]);
        const handle = await holdfast.submit(slow, undefined);
        await frozen.passed;
        const by = { kind: 'operator', actor: 'olga', reason: 'frozen' } as const;
        await harness.store.sessions.end({ id: first.session, by });
        await work([slow]);
        assert.equal(await handle.result(), 'the second');
        thawed.open();
        await first.stop();
        assert.equal(await handle.result(), 'the second');
        assert.ok((fences[1] ?? 0) > (fences[0] ?? 0), 'a higher fence');
      }),
  },
  {
    upholds: 'M-9, M-12',
    name: 'drain in flight: another worker continues after the finished step, which does not run again',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const reached = gate();
        let firsts = 0;
        const twoStep = pipeline({
          name: 'two-step',
          async run(ctx) {
            await ctx.step('first', () => {
              firsts += 1;
            });
            return ctx.step('second', async ({ signal }) => {
              if (firsts > 1 || reachedOnce) return 'done';
              reachedOnce = true;
              reached.open();
              await new Promise((resolve) => signal.addEventListener('abort', resolve));
              throw signal.reason;
            });
          },
        });
        let reachedOnce = false;
        const first = await work([twoStep]);
        const handle = await holdfast.submit(twoStep, undefined);
        await reached.passed;
        await first.stop();
        await work([twoStep]);
        assert.equal(await handle.result(), 'done');
        assert.equal(firsts, 1);
      }),
  },
  {
    upholds: 'M-9, M-12',
    name: 'cancel in flight: the step’s signal aborts, and the execution ends as cancelled',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const reached = gate();
        const waits = pipeline({
          name: 'waits',
          run: (ctx) =>
            ctx.step('long', async ({ signal }) => {
              reached.open();
              await new Promise((resolve) => signal.addEventListener('abort', resolve));
              throw signal.reason;
            }),
        });
        await work([waits], { ttlMs: 2_000 });
        const handle = await holdfast.submit(waits, undefined);
        await reached.passed;
        await holdfast.cancel(handle.id);
        await assert.rejects(handle.result());
        assert.equal((await holdfast.read(handle.id))?.status, 'cancelled');
      }),
  },
];

async function firstAwait(holdfast: Holdfast): Promise<string> {
  for (;;) {
    const { items } = await holdfast.awaits.list();
    if (items[0] !== undefined) return items[0].id;
    await new Promise<void>((resolve) => systemTimers.soon(resolve));
  }
}

export const workerCases: readonly TransportCase[] = [
  {
    upholds: 'M-12',
    name: 'an execution of three steps completes, with the same history as on any worker',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        await work([three]);
        const handle = await holdfast.submit(three, { n: 1 });
        assert.equal(await handle.result(), 5);
        assert.deepEqual(await kindsOf(harness.store, handle.id), THREE_KINDS);
      }),
  },
  {
    upholds: 'M-12',
    name: 'children, signals and awaits work',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const family = pipeline({
          name: 'family',
          async run(ctx, input: { readonly n: number }) {
            const child = await ctx.spawn(three, { n: input.n });
            const answer = await ctx.await<string>('approval');
            return { answer, out: await child.result() };
          },
        });
        await work([family, three]);
        const handle = await holdfast.submit(family, { n: 1 });
        await holdfast.awaits.answer(await firstAwait(holdfast), 'yes');
        const { answer, out } = await handle.result();
        assert.deepEqual([answer.kind, out], ['answered', 5]);
      }),
  },
  {
    upholds: 'M-12',
    name: 'the worker that hosts a remote step runs it, and the caller gets its result',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        await work([caller, hosted]);
        assert.equal(await (await holdfast.submit(caller, [1, 2, 3])).result(), 6);
      }),
  },
  {
    upholds: 'M-7, M-12',
    name: 'a value that is too large for a row is sent by reference',
    needs: 'references',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const large = pipeline({
          name: 'large',
          async run(ctx, input: { readonly text: string }) {
            const twice = await ctx.step('twice', () => input.text.repeat(2));
            return { length: twice.length, twice };
          },
        });
        await work([large]);
        const handle = await holdfast.submit(large, { text: 'x'.repeat(700_000) });
        assert.equal((await handle.result()).length, 1_400_000);
      }),
  },
  {
    upholds: 'M-6, M-12',
    name: 'a coordinator without the codec’s keys passes on values that it cannot read',
    run(harness) {
      const codec = aesCodec([{ id: 'a', key: new Uint8Array(32) }]);
      return staged(
        harness,
        async ({ holdfast, work }) => {
          await work([three], { codec });
          const handle = await holdfast.submit(three, { n: 1 });
          assert.equal(await handle.result(), 5);
          const record = await harness.store.executions.read(handle.id);
          assert.doesNotMatch(String(record?.input), /"n"/);
        },
        { codec },
      );
    },
  },
  {
    upholds: 'M-12, X-125, X-126',
    name: 'a remote parent signals and cancels its children, and finds one by its key',
    needs: 'references',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const listening = pipeline({ name: 'listening', run: (ctx) => ctx.receive('word') });
        const parent = pipeline({
          name: 'parent',
          async run(ctx) {
            const listener = await ctx.spawn(listening, undefined, { key: 'heard' });
            const taken = await ctx.spawn(listening, undefined, { key: 'heard' });
            const none = await taken.result().catch((error: ChildFailed) => error.failure?.code);
            await listener.signal('word', 'hello');
            const left = await ctx.spawn(listening, undefined);
            await left.cancel();
            const end = await left.result().catch((error: ChildFailed) => error.status);
            return [await listener.result(), none, end];
          },
        });
        await work([parent, listening]);
        const handle = await holdfast.submit(parent, undefined);
        assert.deepEqual(await handle.result(), ['hello', 'key-in-use', 'cancelled']);
        assert.equal((await holdfast.read('key:heard'))?.parent?.id, handle.id);
      }),
  },
  {
    upholds: 'M-12, X-127, X-128, X-129, X-130',
    name: 'a remote worker replies to updates, publishes values and answers queries',
    needs: 'references',
    run: (harness) =>
      staged(harness, async ({ work }) => {
        const cart = pipeline({
          name: 'cart',
          messages: { add: TEXT },
          queries: ['items'],
          async run(ctx) {
            const items: string[] = [];
            ctx.onQuery('items', () => items);
            while (items.length < 2) {
              const update = await ctx.receive<string>('add', { update: true });
              items.push(update.value);
              await ctx.publish('count', items.length);
              await update.reply(items.length);
            }
            return items;
          },
        });
        const holdfast = new Holdfast({ store: harness.store, relayAnswersMs: 30_000 });
        try {
          await work([cart]);
          const { id } = await holdfast.submit(cart, undefined);
          const add = (value: unknown, key: string) =>
            holdfast.update(id, { name: 'add', value, key, timeoutMs: 30_000 });
          const first = { kind: 'replied', key: 'a', value: 1 };
          assert.deepEqual(await add('tent', 'a'), first);
          assert.deepEqual(await add('tent', 'a'), first);
          assert.equal((await add(17, 'b')).kind, 'rejected');
          assert.deepEqual(await holdfast.query(id, { name: 'items' }), ['tent']);
          assert.equal(await holdfast.published(id, 'count'), 1);
          assert.equal((await add('stove', 'c')).kind, 'replied');
          assert.deepEqual(await holdfast.result(id), ['tent', 'stove']);
        } finally {
          await holdfast.close();
        }
      }),
  },
  {
    upholds: 'M-12',
    name: 'a failed step is tried again, and its execution fails when the attempts run out',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        let tries = 0;
        const fails = pipeline({
          name: 'fails',
          retry: { attempts: 2, initialMs: 1 },
          run: (ctx, input: { readonly recovers: boolean }) =>
            ctx.step('fails', () => {
              tries += 1;
              if (input.recovers && tries > 1) return tries;
              throw new Error('as asked');
            }),
        });
        await work([fails]);
        assert.equal(await (await holdfast.submit(fails, { recovers: true })).result(), 2);
        await assert.rejects((await holdfast.submit(fails, { recovers: false })).result());
      }),
  },
  {
    upholds: 'M-12, X-133',
    name: 'an execution whose step failed for good is tried again, with the results of its other steps',
    run: (harness) =>
      staged(harness, async ({ holdfast, work }) => {
        const ran: string[] = [];
        const fails = pipeline({
          name: 'fails once',
          executionRetry: { attempts: 2, initialMs: 1 },
          async run(ctx) {
            ctx.setAttributes({ stage: 'begun' });
            await ctx.step('first', () => void ran.push('first'));
            const run = (): string => {
              ran.push('second');
              if (ran.length === 2) throw new Error('as asked');
              return 'done';
            };
            return ctx.step('second', run, { retry: { attempts: 1 } });
          },
        });
        await work([fails]);
        const { id, result } = await holdfast.submit(fails, undefined);
        assert.equal(await result(), 'done');
        assert.deepEqual(ran, ['first', 'second', 'second']);
        assert.deepEqual((await holdfast.read(id))?.attributes, { stage: 'begun' });
      }),
  },
  shaky('every fifth reply is lost', (nth) => (nth % 5 === 0 ? 'reply-lost' : undefined)),
  shaky('every fourth message is lost', (nth) => (nth % 4 === 0 ? 'lost' : undefined)),
  shaky('every other message is delivered twice', (nth) => (nth % 2 === 0 ? 'doubled' : undefined)),
  ...takeovers,
];
