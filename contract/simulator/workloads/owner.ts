// A worker without Holdfast's engine. It sends the verbs of an owner with values that the engine rarely
// has, for pipelines that no other worker runs. The model of executions judges every reply and row.

import { interactionIdOf } from '../../../src/engine/ids.ts';
import type { HistoryEventKind } from '../../../src/execution/history.ts';
import {
  type CallKey,
  type ExecutionId,
  type InteractionId,
  type Payload,
  type PipelineName,
  type ProjectName,
  parseProject,
} from '../../../src/execution/names.ts';
import type { Fence } from '../../../src/lease/fence.ts';
import type { Owner, SessionId } from '../../../src/lease/names.ts';
import type {
  Claimed,
  ExecutionStore,
  OwnerWrite,
  Submit,
} from '../../../src/store/contract/execution-store.ts';
import type { Random } from '../../../src/support/random.ts';
import type { Life } from '../actor.ts';
import type { Workload } from '../plan.ts';
import { ACTIVE_MS, between, pick } from '../world.ts';

const OWNER = 'owner' as Owner;
/** No worker claims it, only these scripts. */
export const MANUAL = 'manual' as PipelineName;
/** No worker claims it, so only maintenance ends its executions. */
const ORPHAN = 'orphan' as PipelineName;
const [DEFAULT, NEIGHBOUR] = ['default', 'neighbour'].map(
  (name) => parseProject(name) as ProjectName,
) as [ProjectName, ProjectName];
const BODY = '{}' as Payload;
const LONG_MS = 60_000;

interface Scene {
  readonly life: Life;
  readonly random: Random;
  readonly store: ExecutionStore;
}

const SCRIPTS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  /** it is not ready before. */
  'gives back with a delay': async (scene) => {
    await submit(scene);
    for (const claimed of await claim(scene)) {
      await scene.store.giveBack({ ...write(claimed), delayMs: between(scene.random, 50, 900) });
    }
    await claim(scene);
  },

  /** progress begins the count again. */
  'loses claims, one of them after progress': async (scene) => {
    await submit(scene);
    for (const isActive of [false, true, false]) {
      const session = await open(scene);
      for (const claimed of await claim(scene, { session })) {
        if (isActive) await scene.store.record(write(claimed, 'progressed'));
      }
      const by = { kind: 'owner', owner: OWNER, exit: 'abandoned' } as const;
      await scene.life.link.store.sessions.end({ id: session, by });
    }
  },

  /** they go to its successor. */
  'continues with unread messages': async (scene) => {
    const { store, random } = scene;
    await submit(scene);
    for (const claimed of await claim(scene)) {
      const { id, project, inboxCount } = claimed.execution;
      const sent = between(random, 1, 3);
      for (let nth = 1; nth <= sent; nth += 1) {
        await store.signal({ id, project, name: 'letter', body: `{"v":${nth}}` as Payload });
      }
      await store.finish({
        ...{ ...write(claimed, 'completed'), status: 'completed', successor: execution(scene) },
        ...{ inboxSeen: inboxCount + between(random, 0, sent), unread: [] },
      });
    }
  },

  /** maintenance cancels the child. Until then, its parent is needed (F-2). */
  'ends before its child': async (scene) => {
    await submit(scene);
    for (const claimed of await claim(scene)) {
      const { id, project } = claimed.execution;
      const child = {
        ...execution(scene, { project, pipeline: ORPHAN }),
        parent: { id, call: 'c' as CallKey },
      };
      await scene.store.record({ ...write(claimed, 'progressed'), children: [child] });
      const last = write(claimed, 'completed');
      await scene.store.finish({ ...last, seq: last.seq + 1, status: 'completed' });
    }
  },

  /** only its owner can, and each message arrives once. */
  'signals and cancels its child': async (scene) => {
    const { store } = scene;
    await submit(scene);
    for (const claimed of await claim(scene)) {
      const { id, project, session } = claimed.execution;
      const call = 'c' as CallKey;
      const child = { ...execution(scene, { project, pipeline: ORPHAN }), parent: { id, call } };
      await store.record({ ...write(claimed, 'progressed'), children: [child] });
      const { fence } = claimed;
      const own = { id, fence, session: session as SessionId, project, child: child.id };
      const letter = { kind: 'signal', name: 'go', key: 'one', out: '1' as Payload } as const;
      const older = { ...own, fence: (fence - 1) as Fence };
      const stolen = { ...own, session: await open(scene) };
      const strange = { ...own, child: id };
      for (const each of [own, older, stolen, strange, own])
        await store.messageChild({ ...each, message: letter });
      await store.messageChild({ ...own, message: { kind: 'cancel', reason: 'simulated' } });
    }
  },

  /** W-2, W-3, W-9: an answer comes before the question, which may never come. */
  'is answered before it asks': async (scene) => {
    const { store, random } = scene;
    await submit(scene);
    for (const claimed of await claim(scene)) {
      const { id, project } = claimed.execution;
      const call = 'ask' as CallKey;
      const ids = [0, 1, 2].map((item) => interactionIdOf({ execution: id, call, item }));
      const answer = async (item: number): Promise<void> => {
        const place = { execution: id, call, item };
        const value = `${item}` as Payload;
        const own = { id: ids[item] as InteractionId, project, place, verified: false };
        await store.answer({ ...own, value, digest: value });
      };
      await answer(2);
      const asks = random.next() < 0.5;
      if (asks) {
        const items = ids.map((each) => ({ id: each }));
        const open = { call, name: 'ask', needed: 2, items, reminders: [] };
        const awaits = [{ ...open, signed: false, checked: false }];
        await store.record({ ...write(claimed, 'progressed'), awaits });
        for (const item of [2, 0, 1]) await answer(item);
      }
      const last = write(claimed, 'completed');
      const seq = asks ? last.seq + 1 : last.seq;
      await store.finish({ ...last, seq, status: 'completed', leavesAwaits: asks });
    }
  },

  /** */
  'claims for two projects': async (scene) => {
    for (const project of [DEFAULT, DEFAULT, NEIGHBOUR, NEIGHBOUR]) await submit(scene, project);
    await claim(scene, { limit: 2 });
  },
};

export const owner: Workload = {
  name: 'owner',

  plan(random) {
    return Array.from({ length: between(random, 2, 4) }, () => {
      const script = pick(random, Object.keys(SCRIPTS));
      const details = { script, seed: between(random, 0, 1e9) };
      const atMs = between(random, 0, ACTIVE_MS);
      return { atMs, of: 'owner', what: `the owner ${script}`, details };
    });
  },

  open(world) {
    const actor = world.actor('owner', async (life) => life);
    const sceneOf = (life: Life, random: Random): Scene => ({
      ...{ life, random, store: life.link.store.executions },
    });
    world.whenCalm(async () => {
      const { life } = actor;
      if (life !== undefined) await finishAll(sceneOf(life, world.stream('owner')));
    });
    return ({ details }) => {
      const { life } = actor;
      const run = SCRIPTS[String(details['script'])];
      if (life === undefined || run === undefined) return;
      const random = world.stream(`owner ${details['seed']}`);
      world.operations += 1;
      world.run(life.process, () => run(sceneOf(life, random)));
    };
  },
};

/** Ends everything that the scripts left, as soon as it can be claimed. */
async function finishAll(scene: Scene): Promise<void> {
  await scene.store.maintain({ limit: 100 });
  for (const claimed of await claim(scene, { limit: 20, livedMs: LONG_MS })) {
    const { inboxCount } = claimed.execution;
    await scene.store.finish({
      ...{ ...write(claimed, 'completed'), status: 'completed', inboxSeen: inboxCount },
      leavesAwaits: true,
    });
  }
}

function execution(
  { life }: Scene,
  { project = DEFAULT, pipeline = MANUAL }: Partial<Pick<Submit, 'project' | 'pipeline'>> = {},
): Submit {
  const id = life.process.random.uuid() as ExecutionId;
  return {
    ...{ id, project, pipeline, lane: 'batch', lineage: id },
    ...{ input: '{"v":1}' as Payload, tags: [], attributes: {} },
  };
}

async function submit(scene: Scene, project?: ProjectName): Promise<Submit> {
  const request = execution(scene, project && { project });
  await scene.store.submit(request);
  return request;
}

async function open({ life }: Scene): Promise<SessionId> {
  const id = life.process.random.uuid() as SessionId;
  await life.link.store.sessions.open({ id, owner: OWNER, ttlMs: 1_500, graceMs: 0, metadata: {} });
  return id;
}

async function claim(
  scene: Scene,
  how: { readonly session?: SessionId; readonly limit?: number; readonly livedMs?: number } = {},
): Promise<readonly Claimed[]> {
  const { session = await open(scene), limit = 1, livedMs } = how;
  const result = await scene.store.claim({
    ...{ session, pipelines: [MANUAL], shares: [{ lane: 'batch', limit }] },
    ...(livedMs !== undefined && { livedMs }),
  });
  return result.kind === 'claimed' ? result.claims : [];
}

/** The next write of an owner, if this is the first since its claim. */
function write(
  { execution: { id, session, seq }, fence }: Claimed,
  ...kinds: readonly HistoryEventKind[]
): OwnerWrite {
  const events = kinds.map((kind) => ({ kind, body: BODY }));
  return { id, fence, session: session as SessionId, seq: seq + 1, events };
}
