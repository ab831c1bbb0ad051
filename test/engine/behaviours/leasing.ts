// Blocks of `ctx.lease`.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { ProjectName } from '../../../src/execution/names.ts';
import { storedKeyOf } from '../../../src/features/leases/model.ts';
import { memoryMarks } from '../../../src/guards/marks.ts';
import type { Fence } from '../../../src/lease/fence.ts';
import { openSession, type Session } from '../../../src/lease/live-session.ts';
import type { LeaseKey } from '../../../src/lease/names.ts';
import { revokeLease } from '../../../src/lease/operate.ts';
import type { LeaseInspection } from '../../../src/lease/port.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

const STOCK = 'stock/17';

function stored(resource: string): LeaseKey {
  return storedKeyOf('default' as ProjectName, resource);
}

function inspect(stage: Stage, resource: string = STOCK): Promise<LeaseInspection> {
  return stage.store.leases.inspect(stored(resource));
}

async function untilLease(
  stage: Stage,
  isReached: (lease: LeaseInspection) => boolean,
  resource: string = STOCK,
): Promise<LeaseInspection> {
  for (;;) {
    const found = await inspect(stage, resource);
    if (isReached(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Another holder of the same lease, which is not an execution. */
async function outsider(stage: Stage, resource: string = STOCK): Promise<Session> {
  const session = await openSession({ store: stage.store, owner: 'outsider' });
  const outcome = await session.acquire(stored(resource), { wait: true, timeoutMs: 20_000 });
  assert.equal(outcome.kind, 'acquired');
  return session;
}

async function kindsOf(holdfast: Holdfast, id: string): Promise<readonly string[]> {
  return (await holdfast.history(id)).map(({ kind }) => kind);
}

async function untilExplained(holdfast: Holdfast, id: string, pattern: RegExp): Promise<string> {
  for (;;) {
    const { code, sentence = '' } = (await holdfast.explain(id)) ?? {};
    if (code === 'waiting-for-lease' && pattern.test(sentence)) return sentence;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const LEASING: readonly Behaviour[] = [
  {
    name: 'X-106: blocks of one lease never overlap, and their fences rise',
    async run(stage) {
      let inside = 0;
      const fences: Fence[] = [];
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, async (lease) => {
            assert.equal(lease.key, STOCK);
            return ctx.step('reserve', async () => {
              lease.assertHeld(10);
              assert.ok(lease.remainingMs() > 0);
              inside += 1;
              assert.equal(inside, 1);
              await new Promise((resolve) => setImmediate(resolve));
              inside -= 1;
              fences.push(lease.fence);
              return lease.fence;
            });
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      await stage.worker(holdfast, [reserve]);
      const handles = await Promise.all(
        Array.from({ length: 8 }, () => holdfast.submit(reserve, undefined)),
      );
      const results = await Promise.all(handles.map((handle) => handle.result()));
      assert.deepEqual([...results].sort(), fences);
      assert.deepEqual(
        fences,
        [...fences].sort((one, other) => one - other),
      );
      const { state, record } = await inspect(stage);
      assert.deepEqual([state, record?.end?.exit], ['free', 'finished']);
      const kinds = await kindsOf(holdfast, handles[0]?.id ?? '');
      assert.deepEqual(kinds, [
        ...['submitted', 'claimed', 'step-completed', 'lease-ended', 'completed'],
      ]);
      assert.equal((await holdfast.read(handles[0]?.id ?? ''))?.heartbeats, undefined);
    },
  },
  {
    name: 'X-106: a park inside the block yields the lease, and waking takes it under a higher fence',
    async run(stage) {
      const fences: Fence[] = [];
      let steps = 0;
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, async (lease) => {
            await ctx.step('first', () => {
              steps += 1;
              fences.push(lease.fence);
            });
            await ctx.receive('go');
            await ctx.step('second', () => {
              lease.assertHeld();
              fences.push(lease.fence);
            });
            return 'done';
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      const { record } = await untilLease(stage, ({ state }) => state === 'free');
      assert.equal(record?.end?.exit, 'yielded');
      const other = await outsider(stage);
      const [between] = other.leases;
      await other.close();
      await holdfast.signal(handle.id, { name: 'go' });
      assert.equal(await handle.result(), 'done');
      assert.equal(steps, 1);
      const [before = 0, after = 0] = fences;
      assert.ok(before < (between?.fence ?? 0) && (between?.fence ?? 0) < after);
      assert.equal((await inspect(stage)).record?.end?.exit, 'finished');
    },
  },
  {
    name: 'X-112: a replay enters a block that has ended without its lease',
    async run(stage) {
      const gate = door();
      const results: unknown[] = [];
      const reserve = pipeline({
        name: 'reserve',
        run: async (ctx) => {
          const inBlock = await ctx.lease(STOCK, async (lease) => {
            lease.assertHeld();
            const value = await ctx.step('inside', () => 7);
            return [value, lease.fence > 0];
          });
          results.push(inBlock);
          await ctx.step('after', async () => {
            if (results.length === 1) await gate.passed;
          });
          return inBlock;
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ kind }) => kind === 'lease-ended'),
      );
      const other = await outsider(stage);
      await stage.crash(first);
      await stage.worker(holdfast, [reserve]);
      assert.deepEqual(await handle.result(), [7, true]);
      gate.open();
      assert.deepEqual(results, [
        [7, true],
        [7, true],
      ]);
      await other.close();
    },
  },
  {
    name: 'X-107: after a crash in the block, the successor has a higher fence, and a guard refuses the old one',
    async run(stage) {
      const marks = memoryMarks();
      const fences: Fence[] = [];
      const gate = door();
      const late = Promise.withResolvers<string>();
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, (lease) =>
            ctx.step('write', async () => {
              const { key, fence } = lease;
              const nth = fences.push(fence);
              if (nth === 1) await gate.passed;
              const entered = await marks.enter({ key, fence });
              if (nth === 1) late.resolve(entered.kind);
              if (entered.kind === 'entered') await entered.leave();
              return entered.kind;
            }),
          ),
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await untilLease(stage, ({ state }) => state === 'held');
      while (fences.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await stage.crash(first);
      await stage.worker(holdfast, [reserve]);
      assert.equal(await handle.result(), 'entered');
      gate.open();
      assert.equal(await late.promise, 'stale');
      const [stale = 0, current = 0] = fences;
      assert.ok(current > stale);
    },
  },
  {
    name: 'X-107: an execution that loses the lease is given back, and tries again under a higher fence',
    async run(stage) {
      const fences: Fence[] = [];
      const reasons: unknown[] = [];
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, (lease) =>
            ctx.step('write', async (step) => {
              if (fences.push(lease.fence) > 1) return 'done';
              await new Promise((resolve) => step.signal.addEventListener('abort', resolve));
              reasons.push(step.signal.reason, lease.signal.aborted);
              assert.throws(() => lease.assertHeld(), /stock\/17/);
              throw new Error('stopped');
            }),
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await untilLease(stage, ({ state }) => state === 'held');
      while (fences.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      const term = { key: stored(STOCK), fence: fences[0] ?? 0 };
      await revokeLease({ store: stage.store, ...term, actor: 'olga', reason: 'test' });
      assert.equal(await handle.result(), 'done');
      const [before = 0, after = 0] = fences;
      assert.ok(after > before);
      const [reason, isAborted] = reasons;
      assert.match(String(reason), /the lease was lost.*olga/);
      assert.equal(isAborted, true);
      const back = (await holdfast.history(handle.id)).find(({ kind }) => kind === 'given-back');
      assert.match(back?.body ?? '', /"why":"lease-lost","abandoned":true/);
      assert.equal((await holdfast.read(handle.id))?.status, 'completed');
    },
  },
  {
    name: 'X-107: a block goes on after a lapse, under the same fence, if no successor has entered',
    async run(stage) {
      let attempts = 0;
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, (lease) =>
            ctx.step('write', async () => {
              attempts += 1;
              const { fence } = lease;
              // The event loop stands still, so no heartbeat is sent.
              while (lease.remainingMs() > 0);
              assert.throws(() => lease.assertHeld(), /lapsed/);
              while (lease.remainingMs() <= 0) {
                await new Promise((resolve) => setTimeout(resolve, 5));
              }
              return fence === lease.fence;
            }),
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve], { ttlMs: 600 });
      const handle = await holdfast.submit(reserve, undefined);
      assert.equal(await handle.result(), true);
      assert.equal(attempts, 1);
      assert.equal((await kindsOf(holdfast, handle.id)).includes('given-back'), false);
    },
  },
  {
    name: 'X-106: an execution that stops or is cancelled in the block releases the lease',
    async run(stage) {
      const entered = door();
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, async () => {
            await ctx.step('first', () => entered.open());
            await ctx.sleep(60_000);
          }),
      });
      const holdfast = stage.holdfast({ parkAfterMs: 60_000 });
      const worker = await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await entered.passed;
      assert.equal((await inspect(stage)).state, 'held');
      await worker.stop();
      const { record } = await inspect(stage);
      assert.equal(record?.end?.exit, 'yielded');
      await stage.worker(holdfast, [reserve]);
      await untilLease(stage, ({ state }) => state === 'held');
      await holdfast.cancel(handle.id);
      const cancelled = await stage.until(
        holdfast,
        handle.id,
        ({ endedAt }) => endedAt !== undefined,
      );
      assert.equal(cancelled.status, 'cancelled');
      await untilLease(stage, ({ state }) => state === 'free');
    },
  },
  {
    name: 'P2, X-106: a cancel keeps the lease for as long as a running step has asserted it',
    async run(stage) {
      const [entered, leaving] = [door(), door()];
      let assertedUntilMs = 0;
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, (lease) =>
            ctx.step('act', async () => {
              lease.assertHeld(1_000);
              assertedUntilMs = performance.now() + 1_000;
              entered.open();
              await leaving.passed;
            }),
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve], { ttlMs: 3_000 });
      const { id } = await holdfast.submit(reserve, undefined);
      await entered.passed;
      await holdfast.cancel(id);
      await stage.until(holdfast, id, ({ endedAt }) => endedAt !== undefined);
      const other = await outsider(stage);
      assert.ok(performance.now() >= assertedUntilMs - 1, 'the other one entered too early');
      leaving.open();
      await other.close();
    },
  },
  {
    name: 'X-106: a block that throws releases the lease as failed, and the code gets the error',
    async run(stage) {
      const reserve = pipeline({
        name: 'reserve',
        run: async (ctx) => {
          const caught = await ctx
            .lease(STOCK, async () => {
              await ctx.step(
                'inside',
                () => {
                  throw new Error('sold out');
                },
                { retry: { attempts: 1 } },
              );
            })
            .catch((error: Error) => error.message);
          await ctx.sleep(200);
          return caught;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      assert.match(String(await handle.result()), /sold out/);
      const { record } = await inspect(stage);
      assert.deepEqual([record?.end?.exit, record?.fence], ['failed', record?.end && record.fence]);
      assert.equal(
        (await kindsOf(holdfast, handle.id)).filter((kind) => kind === 'lease-ended').length,
        1,
      );
    },
  },
  {
    name: 'X-47: a bug in the block blocks the execution, and fixed code continues in the block',
    async run(stage) {
      let isFixed = false;
      let first = 0;
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, async () => {
            await ctx.step('first', () => {
              first += 1;
            });
            if (!isFixed) throw new TypeError('a bug');
            return ctx.step('second', () => 'fixed');
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await stage.until(holdfast, handle.id, ({ holds }) => holds.includes('blocked'));
      await untilLease(stage, ({ state }) => state === 'free');
      isFixed = true;
      await holdfast.resume(handle.id);
      assert.equal(await handle.result(), 'fixed');
      assert.equal(first, 1);
    },
  },
  {
    name: 'X-112: a block of the same lease inside a block is refused',
    async run(stage) {
      const nested = pipeline({
        name: 'nested',
        isBug: () => false,
        run: (ctx) => ctx.lease(STOCK, () => ctx.lease(STOCK, () => 'never')),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [nested]);
      const handle = await holdfast.submit(nested, undefined);
      await assert.rejects(handle.result(), /would wait for itself/);
      const { state } = await inspect(stage);
      assert.equal(state, 'free');
    },
  },
  {
    name: 'X-106: blocks in parallel and after each other replay in the same order',
    async run(stage) {
      let runs = 0;
      const order: string[][] = [];
      const both = pipeline({
        name: 'both',
        run: async (ctx) => {
          runs += 1;
          const seen: string[] = [];
          order.push(seen);
          const branch = async (name: string): Promise<void> => {
            await ctx.lease(`stock/${name}`, () => ctx.step(`in ${name}`, () => name));
            seen.push(name);
            seen.push(await ctx.step('same', () => name));
          };
          await Promise.all(['a', 'b', 'c'].map(branch));
          await ctx.receive('go');
          return runs;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [both]);
      const handle = await holdfast.submit(both, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await holdfast.signal(handle.id, { name: 'go' });
      assert.equal(await handle.result(), 2);
      assert.deepEqual(order[1], order[0]);
    },
  },
  {
    name: 'X-113: explain names the holder of a lease that an execution waits for',
    async run(stage) {
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) => ctx.lease(STOCK, () => ctx.step('only', () => 'done')),
      });
      const other = await outsider(stage);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await untilExplained(holdfast, handle.id, /lease "stock\/17", held by outsider since/);
      await other.close();
      assert.equal(await handle.result(), 'done');
    },
  },
  {
    name: 'X-108, X-113: a wait parks, and explain names the deadlock, which ends by itself',
    async run(stage) {
      const met = { a: door(), b: door() };
      const cross = pipeline({
        name: 'cross',
        run: (ctx, [one, other]: readonly ['a' | 'b', 'a' | 'b']) =>
          ctx.lease(one, async () => {
            await ctx.step('met', async () => {
              met[one].open();
              await met[other].passed;
            });
            return ctx.lease(other, () => ctx.step('both', () => `${one}${other}`));
          }),
      });
      const holdfast = stage.holdfast({ parkAfterMs: 40 });
      await stage.worker(holdfast, [cross]);
      const first = await holdfast.submit(cross, ['a', 'b'] as const);
      const second = await holdfast.submit(cross, ['b', 'a'] as const);
      const sentence = await untilExplained(holdfast, first.id, /^Deadlock/);
      assert.ok(
        sentence.startsWith(
          `Deadlock: it waits for lease "b" of ${second.id}, which waits for lease "a" of this execution.`,
        ),
        sentence,
      );
      assert.deepEqual([await first.result(), await second.result()], ['ab', 'ba']);
      const kinds = [
        ...(await kindsOf(holdfast, first.id)),
        ...(await kindsOf(holdfast, second.id)),
      ];
      assert.ok(kinds.includes('parked') || kinds.includes('given-back'));
    },
  },
  {
    name: 'X-107: an execution that wakes in its block gives its claim back while others hold the lease',
    async run(stage) {
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, async () => {
            await ctx.step('first', () => 1);
            await ctx.receive('go');
            return ctx.step('second', () => 'done');
          }),
      });
      const holdfast = stage.holdfast({ parkAfterMs: 20 });
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      const other = await outsider(stage);
      await holdfast.signal(handle.id, { name: 'go' });
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ kind, body }) => kind === 'given-back' && /lease-busy/.test(body ?? '')),
      );
      await untilExplained(holdfast, handle.id, /held by outsider/);
      await other.close();
      assert.equal(await handle.result(), 'done');
    },
  },
  {
    name: 'X-112: a re-drive repeats the failed step of a block under the lease',
    async run(stage) {
      const held: boolean[] = [];
      const reserve = pipeline({
        name: 'reserve',
        run: (ctx) =>
          ctx.lease(STOCK, async (lease) => {
            await ctx.step('first', () => 1);
            return ctx.step(
              'second',
              () => {
                if (held.push(lease.remainingMs() > 0) === 1) throw new Error('sold out');
                return 'done';
              },
              { retry: { attempts: 1 } },
            );
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await assert.rejects(handle.result(), /sold out/);
      const again = await holdfast.repair.redrive(handle.id);
      assert.equal(await holdfast.result(again.id), 'done');
      assert.deepEqual(held, [true, true]);
    },
  },
  {
    name: 'X-112: steps of a block are undone without its lease',
    async run(stage) {
      const undone: unknown[] = [];
      const reserve = pipeline({
        name: 'reserve',
        run: async (ctx) => {
          await ctx.lease(STOCK, () =>
            ctx.step('take', () => 7, { compensate: (output) => void undone.push(output) }),
          );
          const other = await outsider(stage);
          try {
            await ctx.step('pay', () => Promise.reject(new Error('no money')), {
              retry: { attempts: 1 },
            });
          } finally {
            await other.close();
          }
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserve]);
      const handle = await holdfast.submit(reserve, undefined);
      await stage.until(holdfast, handle.id, ({ endedAt }) => endedAt !== undefined);
      assert.equal((await holdfast.read(handle.id))?.status, 'compensated');
      assert.deepEqual(undone, [7]);
    },
  },
  {
    name: 'X-46: code that no longer has a block of its history has drifted',
    async run(stage) {
      const code = (isLeased: boolean) =>
        pipeline<undefined, unknown>({
          name: 'reserve',
          run: (ctx) => {
            const block = async (): Promise<unknown> => {
              await ctx.step('first', () => 1);
              return ctx.receive('go');
            };
            return isLeased ? ctx.lease(STOCK, block) : block();
          },
        });
      const holdfast = stage.holdfast();
      const old = await stage.worker(holdfast, [code(true)]);
      const handle = await holdfast.submit('reserve', undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await old.stop();
      await stage.worker(holdfast, [code(false)]);
      await holdfast.signal(handle.id, { name: 'go' });
      await stage.until(holdfast, handle.id, ({ holds }) => holds.includes('blocked'));
      const { sentence } = (await holdfast.explain(handle.id)) ?? {};
      assert.match(sentence ?? '', /lease:stock\/17#1/);
    },
  },
];
