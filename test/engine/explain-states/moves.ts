// The ways to begin an execution, and all operations on it. A refused operation changes nothing, so
// it is not a move.

import {
  answering,
  CALL,
  interactionId,
  opening,
} from '../../../contract/execution/awaits/awaiting.ts';
import { COMPENSATING, redriving } from '../../../contract/execution/repair/repairing.ts';
import {
  childOf,
  commanding,
  endSessionOf,
  finishing,
  mustSubmit,
  payload,
  signalling,
  submitting,
  writing,
} from '../../../contract/execution/worker.ts';
import type { NewEvent } from '../../../src/execution/history.ts';
import type { GiveBack, Park } from '../../../src/store/contract/execution-store.ts';
import { claim, read, type Scene } from './scene.ts';

type Operation = (scene: Scene) => Promise<unknown>;

const LONG_MS = 5_000;
const KEY = { key: 'one', limit: 1 } as const;

/** As the engine parks it. */
function parkedFor(...calls: readonly string[]): NewEvent {
  return { kind: 'parked', body: payload({ for: calls }) };
}

export const STARTS: Readonly<Record<string, Operation>> = {
  plain: ({ store, id }) => mustSubmit(store, { id, deadlineMs: 3 * LONG_MS }),
  delayed: ({ store, id }) => mustSubmit(store, { id, delayMs: LONG_MS }),
  'over the concurrency limit': async (scene) => {
    await mustSubmit(scene.store, { concurrency: KEY });
    await claim(scene);
    return mustSubmit(scene.store, { id: scene.id, concurrency: KEY });
  },
  'with a rate': async (scene) => {
    const rate = { key: 'slow', limit: 1, perMs: LONG_MS };
    await mustSubmit(scene.store, { rate });
    await claim(scene);
    return mustSubmit(scene.store, { id: scene.id, rate });
  },
  'to be undone': async (scene) => {
    const { store, id } = scene;
    const first = { ...scene, id: await mustSubmit(store) };
    await claim(first);
    if (first.held === undefined) throw new Error('it is ready');
    await store.executions.finish(finishing(first.held, { status: 'failed' }));
    const submit = submitting({ id, redriveOf: first.id });
    const events = [COMPENSATING];
    return store.executions.redrive({ ...redriving(first.id), submit, events, compensating: true });
  },
};

/** By the current owner. `seq` rises when the store accepts. */
function owning(
  write: (scene: Scene, held: NonNullable<Scene['held']>) => Promise<{ readonly kind: string }>,
): Operation {
  return async (scene) => {
    if (scene.held === undefined) return;
    const answer = await write(scene, scene.held);
    if (answer.kind !== 'recorded') return;
    const seq = scene.held.seq + 1;
    scene.held = { ...scene.held, seq };
  };
}

function parking(event: NewEvent, options: Partial<Park> = {}): Operation {
  return owning(async (scene, held) => {
    const inboxSeen = (await read(scene)).inboxCount;
    const request = { ...writing(held, event), wakeAfter: 0, inboxSeen, ...options };
    return scene.store.executions.park(request);
  });
}

function givingBack(event: NewEvent, options: Partial<GiveBack> = {}): Operation {
  return owning((scene, held) =>
    scene.store.executions.giveBack({ ...writing(held, event), ...options }),
  );
}

const OWN: Readonly<Record<string, Operation>> = {
  'opens an await and parks': owning(async ({ store }, held) => {
    const event = parkedFor(CALL);
    const awaits = [opening(held.id, { timeoutMs: LONG_MS })];
    const opened = { ...writing(held, { kind: 'await-opened', name: 'approval' }, event), awaits };
    return store.executions.park({ ...opened, wakeAfter: 0, inboxSeen: 0, wakeInMs: LONG_MS });
  }),
  'starts a child and parks': owning(async ({ store }, held) => {
    const children = [childOf(held.id, 'child:ship#1[0]')];
    const event = parkedFor('result:child:ship#1#1');
    const spawned = { ...writing(held, { kind: 'child-spawned' }, event), children };
    return store.executions.park({ ...spawned, wakeAfter: 1, inboxSeen: 0 });
  }),
  'parks for a signal': parking(parkedFor('signal:go#1')),
  'parks for a signal, being a saga': parking(parkedFor('signal:go#1'), { compensable: true }),
  'parks for a time': parking(parkedFor('sleep:night#1'), { wakeInMs: LONG_MS }),
  'gives back': givingBack({ kind: 'given-back' }, { compensable: true }),
  'gives back for later': givingBack({ kind: 'given-back' }, { delayMs: LONG_MS }),
  'is blocked': givingBack({ kind: 'blocked', body: payload({ why: 'no.' }) }, { blocked: true }),
  'is paused by itself': givingBack({ kind: 'paused' }, { paused: true }),
  'turns back': givingBack(COMPENSATING, { compensating: true }),
  ends: owning(({ store }, held) => store.executions.finish(finishing(held))),
};

const OTHERS: Readonly<Record<string, Operation>> = {
  'is claimed': claim,
  'is paused': ({ store, id }) => store.executions.pause(commanding(id)),
  'is resumed': ({ store, id }) => store.executions.resume(commanding(id)),
  'is cancelled': ({ store, id }) => store.executions.cancel(commanding(id)),
  'is told something': ({ store, id }) => store.executions.signal(signalling(id)),
  'is answered': ({ store, id }) => store.executions.answer(answering(interactionId(id))),
  'has its await cancelled': ({ store, id }) =>
    store.executions.cancelAwait({ project: commanding(id).project, id: interactionId(id) }),
  'loses its child': async ({ store, id }) => {
    const [child] = await store.executions.children({ parent: id, limit: 1 });
    if (child !== undefined) await store.executions.cancel(commanding(child.id));
  },
  'loses its worker': async ({ store, owner }) => {
    if (owner !== undefined) await endSessionOf(store, owner).catch(() => undefined);
  },
  'grows older': ({ clock }) => clock.advance(LONG_MS),
  'grows much older': ({ clock }) => clock.advance(3 * LONG_MS),
  'is looked after': async ({ store }) => {
    await store.executions.maintain({ limit: 9 });
    await store.executions.expireAwaits({ limit: 9 });
  },
};

export const MOVES: Readonly<Record<string, Operation>> = { ...OWN, ...OTHERS };
