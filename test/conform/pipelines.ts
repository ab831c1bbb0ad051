// The pipelines of the conformance runner in TypeScript, as the protocol page describes them.

import { setTimeout as pause } from 'node:timers/promises';
import { openSession, pipeline } from '../../src/index.ts';
import { openCoordinator } from '../../src/worker/open-coordinator.ts';

const echo = pipeline({ name: 'conform-echo', run: async (_ctx, input: unknown) => input });

const steps = pipeline({
  name: 'conform-steps',
  async run(ctx, input: { readonly n: number }) {
    const one = await ctx.step('one', () => input.n + 1);
    const { value, key } = await ctx.step('two', ({ idempotencyKey }) => ({
      value: one * 2,
      key: idempotencyKey,
    }));
    return { one, two: value, key };
  },
});

const retry = pipeline({
  name: 'conform-retry',
  retry: { attempts: 3, initialMs: 100 },
  run: (ctx, input: { readonly failures: number }) =>
    ctx.step('flaky', ({ attempt }) => {
      if (attempt <= input.failures) throw new Error(`Attempt ${attempt} fails.`);
      return attempt;
    }),
});

const parallel = pipeline({
  name: 'conform-parallel',
  run: (ctx) =>
    Promise.all([
      ctx.step('a', () => pause(100, 1)),
      ctx.step('b', () => 2),
      ctx.step('c', () => 3),
    ]),
});

const sleep = pipeline({
  name: 'conform-sleep',
  async run(ctx, input: { readonly ms: number }) {
    await ctx.sleep(input.ms, 'nap');
    return 'slept';
  },
});

const signal = pipeline({ name: 'conform-signal', run: (ctx) => ctx.receive('go') });

const question = pipeline({
  name: 'conform-question',
  async run(ctx, input: { readonly amount: number; readonly timeoutMs?: number }) {
    const { amount, timeoutMs } = input;
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    const answer = await ctx.await<string>('approval', { request: { amount }, ...options });
    return { status: answer.kind, value: answer.kind === 'answered' ? answer.value : null };
  },
});

const child = pipeline({
  name: 'conform-child',
  run: async (ctx, input: { readonly n: number }) => (await ctx.spawn(steps, input)).result(),
});

const large = pipeline({
  name: 'conform-large',
  async run(ctx, input: { readonly text: string }) {
    const text = await ctx.step('repeat', () => input.text.repeat(2));
    return { length: text.length, text };
  },
});

const slow = pipeline({
  name: 'conform-slow',
  async run(ctx, input: { readonly ms: number }) {
    await ctx.step('work', ({ signal }) => pause(input.ms, null, { signal }));
    return ctx.step('after', () => 'done');
  },
});

const attributes = pipeline({
  name: 'conform-attributes',
  async run(ctx) {
    ctx.setAttributes({ stage: 'packing', hold: true });
    await ctx.step('pack', () => null);
    ctx.setAttributes({ stage: 'packed', hold: null });
    return ctx.attributes;
  },
});

/** Holds a lease through the coordinator that the worker is connected to. */
async function holdOnce(at: CoordinatorAddress, given: LeaseInput) {
  const store = await openCoordinator({ ...at, stream: false });
  try {
    await using session = await openSession({ store, owner: 'conform', ttlMs: 3_000 });
    const got = await session.acquire(given.key, { wait: true });
    if (got.kind !== 'acquired') throw new Error(`The lease was not granted: ${got.kind}.`);
    const { restored, fence } = got.lease;
    await got.lease.checkpoint(given.text);
    await got.lease.release('finished');
    return { fence, found: restored === undefined ? null : Buffer.from(restored.bytes).toString() };
  } finally {
    await store.close();
  }
}

interface LeaseInput {
  readonly key: string;
  readonly text: string;
}

const leaseAt = (at: CoordinatorAddress) =>
  pipeline({
    name: 'conform-lease',
    run: (ctx, input: LeaseInput) => ctx.step('hold', () => holdOnce(at, input)),
  });

interface CoordinatorAddress {
  readonly url: string;
  readonly key?: string;
}

export function conformPipelines(at: CoordinatorAddress) {
  return [
    ...[echo, steps, retry, parallel, sleep, signal, question, child, large, slow],
    attributes,
    leaseAt(at),
  ];
}
