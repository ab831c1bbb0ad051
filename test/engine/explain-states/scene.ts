// One execution, its possible owners, and a clock that stands still.

import {
  claimAll,
  type Held,
  heldOf,
  nextId,
  PROJECT,
} from '../../../contract/execution/worker.ts';
import { type OpenedSession, openedSession } from '../../../contract/lease/opened-session.ts';
import { ManualClock } from '../../../contract/testing/manual-clock.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import type { ExecutionRecord } from '../../../src/execution/execution.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { freshMemoryStore } from '../../services/memory-store.ts';

/** After this time without a heartbeat a session is overdue. */
const TTL_MS = 10_000;

export interface Scene {
  readonly store: CoordinatorStore;
  readonly holdfast: Holdfast;
  readonly clock: ManualClock;
  readonly id: ExecutionId;
  /** The newest claim, and its owner. */
  held: Held | undefined;
  owner: OpenedSession | undefined;
  close(): Promise<void>;
}

export async function openScene(): Promise<Scene> {
  const clock = new ManualClock();
  const { store } = freshMemoryStore({ clock });
  const holdfast = new Holdfast({ store, clock, timers: clock.timers });
  const close = async (): Promise<void> => {
    await holdfast.close();
    await store.close();
  };
  return { store, holdfast, clock, id: nextId(), held: undefined, owner: undefined, close };
}

let workers = 0;

/** Claimed by a new worker. Undefined if it cannot be claimed. */
export async function claim(scene: Scene): Promise<void> {
  workers += 1;
  const who = await openedSession(scene.store, `worker ${workers}`, { ttlMs: TTL_MS, graceMs: 0 });
  const claims = await claimAll(scene.store, who);
  const own = claims.find(({ execution }) => execution.id === scene.id);
  if (own === undefined) return;
  scene.owner = who;
  scene.held = heldOf(own, who);
}

export async function read({ store, id }: Scene): Promise<ExecutionRecord> {
  const found = await store.executions.read(id);
  if (found === undefined) throw new Error('it was submitted');
  return found;
}

/** The part of a state that counts, without times, names and numbers. */
export async function stateOf(scene: Scene): Promise<string> {
  const { store, id, clock } = scene;
  const { status, holds, compensable, compensating, gated, readyAt, session, ...rest } =
    await read(scene);
  const history = await store.executions.history({ id, after: 0, limit: 1_000 });
  const found = session === undefined ? undefined : await store.sessions.inspect(session);
  const parked = history.findLast(({ kind }) => kind === 'parked')?.body;
  const query = { project: PROJECT, execution: id, open: true, limit: 9 };
  const awaits = await store.executions.interactions(query);
  const children = await store.executions.children({ parent: id, limit: 9 });
  return JSON.stringify({
    ...{ status, holds, compensable, compensating, gated },
    ready: readyAt === undefined ? 'never' : readyAt <= clock.wallMs() ? 'now' : 'later',
    wasClaimed: rest.claimedAt !== undefined,
    hasRate: rest.rate !== undefined,
    owner: found?.state,
    for: status === 'waiting' ? parked : undefined,
    awaits: awaits.length,
    children: children.filter((child) => child.status === 'queued').length,
    hasMessages: rest.inboxCount > 0,
  });
}
