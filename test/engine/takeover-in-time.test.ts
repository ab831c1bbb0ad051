// P4 for executions, on a manual clock. A dead worker's execution can be claimed within its ttl and
// two seconds, whatever the live workers do. A worker with a free slot claims it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { Worker, WorkerOptions } from '../../src/engine/worker/worker-options.ts';
import { LANES, type Lane } from '../../src/execution/execution.ts';
import type { ExecutionId } from '../../src/execution/names.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const TTL_MS = 4_000;
const BOUND_MS = TTL_MS + 2_000;
const STEP_MS = 250;
const TICK_MS = 50;

test('P4: an idle worker takes over', async () => {
  await using scene = Scene.open();
  const left = await scene.leftByDead(3);
  await scene.work({ concurrency: 10 });
  await scene.advance(BOUND_MS);
  assert.deepEqual(await scene.claimsOf(left), [2, 2, 2]);
});

test('P4: a worker that never reaches the end of its queue takes over', async () => {
  await using scene = Scene.open();
  const left = await scene.leftByDead(3);
  for (const lane of LANES) await scene.submit('quick', 250, lane);
  await scene.work({ concurrency: 10 });
  await scene.advance(BOUND_MS);
  for (const lane of LANES) assert.ok((await scene.ready(lane)) > 0, 'the queue never ended');
  assert.deepEqual(await scene.claimsOf(left), [2, 2, 2]);
});

test('P4: when all slots are taken, the next free one goes to lost executions, before the queue', async () => {
  await using scene = Scene.open();
  const [left = ''] = await scene.leftByDead(1);
  await scene.work({ concurrency: 1 });
  await scene.submit('long', 2);
  await scene.advance(BOUND_MS);
  assert.equal(await scene.stateOf(scene.dead), 'ended');
  assert.deepEqual(await scene.claimsOf([left as ExecutionId]), [1]);
  scene.endLong();
  await scene.advance(1_000);
  assert.deepEqual(await scene.claimsOf([left as ExecutionId]), [2]);
});

test('P4: a process that only does maintenance ends the sessions of dead workers', async () => {
  await using scene = Scene.open();
  await scene.leftByDead(1);
  await scene.holdfast.maintain();
  await scene.advance(BOUND_MS);
  assert.equal(await scene.stateOf(scene.dead), 'ended');
});

test('while workers die one after the other, a busy worker sweeps at most once a second', async () => {
  await using scene = Scene.open();
  for (let n = 0; n < 8; n += 1) {
    await scene.leftByDead(1);
    await scene.advance(200);
  }
  for (const lane of LANES) await scene.submit('quick', 250, lane);
  await scene.work({ concurrency: 10 });
  const before = scene.sweeps;
  await scene.advance(BOUND_MS);
  assert.ok(scene.sweeps - before <= 6, `${scene.sweeps - before} sweeps in 6 s`);
  assert.ok(scene.sweeps > before);
});

test('a worker without a free slot claims only as often as it polls, however many wakeups it gets', async () => {
  await using scene = Scene.open();
  await scene.work({ concurrency: 1 });
  await scene.submit('long', 1);
  await scene.advance(TICK_MS);
  const before = scene.claims;
  for (let ms = 0; ms < 10_000; ms += 100) {
    await scene.submit('quick', 1);
    await scene.advance(100);
  }
  assert.ok(scene.claims - before <= 7, `${scene.claims - before} claims in 10 s`);
});

/** A store whose time the test moves, and workers on it. */
class Scene {
  readonly clock: ManualClock;
  readonly store: CoordinatorStore;
  readonly holdfast: Holdfast;
  dead: Worker['session'] = '' as Worker['session'];
  sweeps = 0;
  claims = 0;
  #ends: (() => void)[] = [];
  readonly #plain: CoordinatorStore;

  private constructor(plain: CoordinatorStore, clock: ManualClock) {
    this.clock = clock;
    this.#plain = plain;
    this.store = {
      ...plain,
      sessions: {
        ...plain.sessions,
        sweep: (request) => {
          this.sweeps += 1;
          return plain.sessions.sweep(request);
        },
      },
      executions: {
        ...plain.executions,
        claim: (request) => {
          this.claims += 1;
          return plain.executions.claim(request);
        },
      },
    };
    this.holdfast = new Holdfast({ store: this.store, clock, timers: clock.timers });
  }

  static open(): Scene {
    const clock = new ManualClock();
    return new Scene(openMemoryStore({ clock }), clock);
  }

  /** Claimed by a worker that falls silent afterwards. */
  async leftByDead(count: number): Promise<readonly ExecutionId[]> {
    const hangs = pipeline({ name: 'quick', run: () => new Promise(() => undefined) });
    const other = new Holdfast({
      store: this.#plain,
      clock: this.clock,
      timers: this.clock.timers,
    });
    const worker = await other.worker({ pipelines: [hangs], ttlMs: TTL_MS, concurrency: count });
    this.dead = worker.session;
    const ids = await this.submit('quick', count);
    while (worker.running < count) await this.advance(TICK_MS);
    worker.crash();
    return ids;
  }

  async work(options: Pick<WorkerOptions, 'concurrency'>): Promise<void> {
    const { timers } = this.clock;
    const quick = pipeline({ name: 'quick', run: () => timers.pause(STEP_MS) });
    const long = pipeline({
      name: 'long',
      run: () => new Promise<void>((resolve) => this.#ends.push(resolve)),
    });
    await this.holdfast.worker({ pipelines: [quick, long], ...options });
  }

  endLong(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  async submit(name: string, count: number, lane?: Lane): Promise<readonly ExecutionId[]> {
    const options = lane === undefined ? {} : { lane };
    const ids: ExecutionId[] = [];
    for (let n = 0; n < count; n += 1) {
      ids.push((await this.holdfast.submit(name, undefined, options)).id);
    }
    return ids;
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  claimsOf(ids: readonly ExecutionId[]): Promise<readonly number[]> {
    return Promise.all(
      ids.map(async (id) => {
        const history = await this.holdfast.history(id);
        return history.filter(({ kind }) => kind === 'claimed').length;
      }),
    );
  }

  async ready(lane: Lane): Promise<number> {
    const { items } = await this.holdfast.list({ status: ['queued'], limit: 500 });
    return items.filter((each) => each.lane === lane).length;
  }

  async stateOf(id: Worker['session']): Promise<string | undefined> {
    return (await this.store.sessions.inspect(id))?.state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The executions that it still runs stay as they are.
    const closing = this.holdfast.close();
    this.endLong();
    await this.clock.advance(60_000);
    await closing;
    await this.store.close();
  }
}
