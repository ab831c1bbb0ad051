// P4 over HTTP, on a manual clock, whatever maintenance a coordinator does. Remote workers cannot
// end the sessions of dead workers, so their claims do.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import type { SessionId } from '../../src/lease/names.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemRandom } from '../../src/support/random.ts';
import { TestCoordinator } from './coordinator.ts';

const TTL_MS = 4_000;

test("P4: a dead worker's execution goes to the next claim that finds nothing else", async () => {
  await using scene = await Scene.open();
  const [left] = await scene.submit(1);
  const [dead, alive] = [await scene.session(TTL_MS), await scene.session()];
  assert.deepEqual(await scene.claim(dead, 1), { ids: [left], more: false });
  await scene.clock.advance(TTL_MS);
  assert.deepEqual(await scene.claim(alive, 1), { ids: [left], more: false });
  assert.equal(await scene.stateOf(dead), 'ended');
});

test("P4: a dead worker's execution goes before the rest of an endless queue", async () => {
  await using scene = await Scene.open();
  const [left] = await scene.submit(1);
  const [dead, alive] = [await scene.session(TTL_MS), await scene.session()];
  await scene.claim(dead, 1);
  const [first, , third] = await scene.submit(20);
  assert.deepEqual(await scene.claim(alive, 1), { ids: [first], more: true });
  await scene.clock.advance(TTL_MS);
  await scene.claim(alive, 1);
  assert.deepEqual(await scene.claim(alive, 1), { ids: [left], more: true });
  assert.deepEqual(await scene.claim(alive, 1), { ids: [third], more: true });
});

test('however many claims report overdue sessions, a coordinator sweeps at most once a second, and returns when to claim again', async () => {
  await using scene = await Scene.open();
  const alive = await scene.session();
  await scene.submit(3);
  const dead: SessionId[] = [];
  for (let n = 0; n < 3; n += 1) {
    dead.push(await scene.session(TTL_MS));
    await scene.claim(dead[n] ?? alive, 1);
    await scene.clock.advance(300);
  }
  const ended = async (): Promise<number> => {
    const states = await Promise.all(dead.map((id) => scene.stateOf(id)));
    return states.filter((state) => state === 'ended').length;
  };
  await scene.clock.advance(TTL_MS - 900);
  const before = scene.sweeps;
  await Promise.all([scene.claim(alive, 1), scene.claim(alive, 1), scene.claim(alive, 1)]);
  assert.deepEqual([await ended(), scene.sweeps - before], [1, 1]);
  await scene.clock.advance(600);
  const { nextReadyInMs } = await scene.claimed(alive, 1);
  assert.deepEqual([await ended(), scene.sweeps - before, nextReadyInMs], [1, 1, 400]);
  await scene.clock.advance(400);
  await scene.claim(alive, 1);
  assert.deepEqual([await ended(), scene.sweeps - before], [3, 2]);
});

test('claimed executions are returned even if the sweep fails', async () => {
  await using scene = await Scene.open();
  const [left] = await scene.submit(1);
  const [dead, alive] = [await scene.session(TTL_MS), await scene.session()];
  await scene.claim(dead, 1);
  const [next] = await scene.submit(1);
  await scene.clock.advance(TTL_MS);
  scene.sweepFails = true;
  assert.deepEqual(await scene.claim(alive, 1), { ids: [next], more: false });
  scene.sweepFails = false;
  await scene.clock.advance(1_000);
  assert.deepEqual(await scene.claim(alive, 1), { ids: [left], more: false });
});

interface Answer {
  readonly claims: readonly { readonly execution: { readonly id: string } }[];
  readonly more: boolean;
  readonly nextReadyInMs?: number;
}

/** A coordinator without maintenance. */
class Scene {
  readonly clock: ManualClock;
  readonly #coordinator: TestCoordinator;
  readonly #authorization: string;
  sweeps = 0;
  sweepFails = false;

  private constructor(clock: ManualClock, coordinator: TestCoordinator, key: string) {
    this.clock = clock;
    this.#coordinator = coordinator;
    this.#authorization = `Bearer ${key}`;
  }

  static async open(): Promise<Scene> {
    const clock = new ManualClock();
    const plain = openMemoryStore({ clock });
    const store: CoordinatorStore = {
      ...plain,
      sessions: {
        ...plain.sessions,
        sweep: async (request) => {
          scene.sweeps += 1;
          if (scene.sweepFails) throw new Error('as asked');
          return plain.sessions.sweep(request);
        },
      },
    };
    const coordinator = await TestCoordinator.open({ store, clock, maintenance: false });
    const key = await coordinator.key(['submit', 'work'], 'default');
    const scene: Scene = new Scene(clock, coordinator, key);
    return scene;
  }

  async submit(count: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) {
      ids.push((await this.#post<{ id: string }>('/v1/executions', { pipeline: 'some' })).id);
    }
    return ids;
  }

  async session(ttlMs = 60_000): Promise<SessionId> {
    const id = systemRandom.uuid();
    await this.#post('/v1/work/sessions', { id, owner: 'some', ttlMs, graceMs: 0 });
    return id as SessionId;
  }

  claimed(session: SessionId, limit: number): Promise<Answer> {
    const shares = [{ lane: 'interactive', limit }];
    return this.#post<Answer>('/v1/work/claims', { session, pipelines: ['some'], shares });
  }

  async claim(
    session: SessionId,
    limit: number,
  ): Promise<{ ids: readonly string[]; more: boolean }> {
    const { claims, more } = await this.claimed(session, limit);
    return { ids: claims.map(({ execution }) => execution.id), more };
  }

  async stateOf(id: SessionId): Promise<string | undefined> {
    return (await this.#coordinator.store.sessions.inspect(id))?.state;
  }

  async #post<Found>(path: string, body: unknown): Promise<Found> {
    const headers = { authorization: this.#authorization, 'content-type': 'application/json' };
    const url = `${this.#coordinator.url}${path}`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as Found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#coordinator[Symbol.asyncDispose]();
  }
}
