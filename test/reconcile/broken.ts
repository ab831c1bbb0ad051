// How each invariant is broken, and its repair.

import assert from 'node:assert/strict';
import {
  answering,
  interactionId,
  mustOpen,
  parkedOn,
  statesOf,
} from '../../contract/execution/awaits/awaiting.ts';
import { allMessages } from '../../contract/execution/check.ts';
import { ended, letter } from '../../contract/execution/repair/repairing.ts';
import { putting } from '../../contract/execution/scheduling/schedules.ts';
import {
  childOf,
  claimAll,
  claimIds,
  commanding,
  endSessionOf,
  type Held,
  heldOf,
  kindsOf,
  later,
  mustFinish,
  mustPark,
  mustRead,
  mustSubmit,
  nextId,
  OTHER_PIPELINE,
  PROJECT,
  parking,
  payload,
  running,
  signalling,
  statusOf,
  worker,
  writing,
} from '../../contract/execution/worker.ts';
import type { ExecutionId, Payload } from '../../src/execution/names.ts';
import type { BrokenInvariant } from '../../src/features/reconcile/model.ts';
import type { Instant } from '../../src/support/clock.ts';
import { parkedFor } from './healthy.ts';
import type { World } from './worlds.ts';

type Found = Pick<BrokenInvariant, 'execution' | 'about'>;

export interface Planted {
  readonly found: readonly Found[];
  /** The finding is provable, but its correction is not known. */
  readonly isUnprovable?: boolean;
  afterwards?(): Promise<void>;
}

export interface Broken {
  readonly upholds: string;
  readonly invariant: BrokenInvariant['invariant'];
  readonly name: string;
  plant(world: World): Promise<Planted>;
}

/** As after a lost message: it arrived, and the test removes it again. */
async function unhear({ tamper }: World, id: ExecutionId, wakeAfter = 0): Promise<void> {
  await tamper.dropMessages(id);
  await tamper.setExecution(id, { status: 'waiting', readyAt: null, wakeAfter });
}

/** A parent that waits for one child, and that child, claimed. */
async function family({ store }: World): Promise<{ readonly parent: Held; readonly child: Held }> {
  const ann = await worker(store);
  const parent = await running(store, ann);
  const children = [childOf(parent.id, 'child:ship#1')];
  await store.executions.record({ ...writing(parent), children });
  const parked = parkedFor('result:child:ship#1');
  await store.executions.park(parking(later(parent), { ...parked, wakeAfter: 1 }));
  const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
  assert(claimed !== undefined);
  return { parent, child: heldOf(claimed, ann) };
}

const SHIPPED = '"out":{"json":17}';

export const BROKEN: readonly Broken[] = [
  {
    upholds: 'Z-20',
    invariant: 'left-by-the-dead',
    name: 'an execution of a worker that ended five minutes ago is found, and not before',
    async plant({ store, advance }) {
      const bob = await worker(store, 'bob', { ttlMs: 1_000_000 });
      const { id } = await running(store, bob);
      await endSessionOf(store, bob);
      await advance(299_999);
      const early = await store.executions.reconcile({ part: 'running', limit: 100 });
      assert.deepEqual(early.found, []);
      await advance(1);
      const afterwards = async (): Promise<void> =>
        assert.deepEqual(await claimIds(store, await worker(store)), [id]);
      return { found: [{ execution: id, about: bob.id }], afterwards };
    },
  },
  {
    upholds: 'Z-10',
    invariant: 'overdue-not-swept',
    name: 'an overdue session that was not swept is ended, and its execution is taken over',
    async plant({ store, advance }) {
      const bob = await worker(store, 'bob', { ttlMs: 10_000 });
      const cyd = await worker(store, 'cyd', { ttlMs: 10_000 });
      const { id } = await running(store, bob);
      const other = await running(store, cyd);
      await advance(69_999);
      const early = await store.executions.reconcile({ part: 'running', limit: 100 });
      assert.deepEqual(early.found, []);
      await advance(1);
      const afterwards = async (): Promise<void> => {
        const taken = await claimIds(store, await worker(store));
        assert.deepEqual(taken.toSorted(), [id, other.id].toSorted());
      };
      const found = [bob.id, cyd.id].toSorted().map((about) => ({ about }));
      return { found, afterwards };
    },
  },
  {
    upholds: 'Z-10',
    invariant: 'running-unowned',
    name: 'the execution is given back, and claimed like any other',
    async plant({ store, tamper }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.record(writing(held));
      await tamper.setExecution(held.id, { session: null });
      const afterwards = async (): Promise<void> => {
        const kinds = ['submitted', 'claimed', 'step-completed', 'given-back'];
        assert.deepEqual(await kindsOf(store, held.id), kinds);
        assert.deepEqual(await claimIds(store, ann), [held.id]);
      };
      return { found: [{ execution: held.id }], afterwards };
    },
  },
  {
    upholds: 'Z-21',
    invariant: 'waits-for-nothing',
    name: 'an execution is parked for an answer that can no longer come',
    async plant({ store, tamper }) {
      const held = await mustOpen(store, await running(store, await worker(store)));
      await mustPark(store, held, parkedFor('await:approval#1'));
      await tamper.dropAwaits(held.id);
      return { found: [{ execution: held.id }] };
    },
  },
  {
    upholds: 'Z-21',
    invariant: 'waits-for-nothing',
    name: 'an execution is parked for more children than are open',
    async plant(world) {
      const { parent } = await family(world);
      await world.tamper.setExecution(parent.id, { wakeAfter: 2 });
      return { found: [{ execution: parent.id }] };
    },
  },
  {
    upholds: 'Z-11',
    invariant: 'settlement-undelivered',
    name: 'the execution gets its lost settlement again, and continues',
    async plant(world) {
      const { store } = world;
      const ann = await worker(store);
      const { id } = await parkedOn(store, ann, { items: 2, needed: 2 });
      await store.executions.answer(answering(interactionId(id, 1), 'no', { actor: 'chef' }));
      await store.executions.answer(answering(interactionId(id, 0)));
      const before = await allMessages(store, id);
      await unhear(world, id);
      const afterwards = async (): Promise<void> => {
        assert.deepEqual(await allMessages(store, id), before);
        assert.deepEqual(await claimIds(store, ann), [id]);
      };
      return { found: [{ execution: id, about: 'await:approval#1' }], afterwards };
    },
  },
  {
    upholds: 'Z-11',
    invariant: 'child-end-undelivered',
    name: 'the parent gets its child’s lost outcome again, and continues',
    async plant(world) {
      const { store } = world;
      const { parent, child } = await family(world);
      await mustFinish(store, child, {
        events: [{ kind: 'completed', body: `{${SHIPPED}}` as Payload }],
        outcome: `{"id":"${child.id}","status":"completed",${SHIPPED}}` as Payload,
      });
      const before = await allMessages(store, parent.id);
      await unhear(world, parent.id, 1);
      const afterwards = async (): Promise<void> => {
        assert.deepEqual(await allMessages(store, parent.id), before);
        assert.deepEqual(await claimIds(store, await worker(store, 'eve')), [parent.id]);
      };
      return { found: [{ execution: parent.id, about: 'child:ship#1' }], afterwards };
    },
  },
  {
    upholds: 'Z-11',
    invariant: 'child-end-undelivered',
    name: 'the parent gets one child’s outcome and waits for the other',
    async plant(world) {
      const { store } = world;
      const { parent, child } = await family(world);
      await mustSubmit(store, childOf(parent.id, 'child:bill#1', { delayMs: 86_400_000 }));
      await mustFinish(store, child);
      await unhear(world, parent.id, 2);
      const afterwards = async (): Promise<void> => {
        const { status, wakeAfter, inboxCount } = await mustRead(store, parent.id);
        assert.deepEqual([status, wakeAfter, inboxCount], ['waiting', 1, 1]);
      };
      return { found: [{ execution: parent.id, about: 'child:ship#1' }], afterwards };
    },
  },
  {
    upholds: 'Z-11',
    invariant: 'child-end-undelivered',
    name: 'the outcome of a child without its continuation is not made up',
    async plant(world) {
      const { store } = world;
      const { parent, child } = await family(world);
      const body = payload({ continuedAs: nextId() });
      await mustFinish(store, child, { events: [{ kind: 'completed', body }] });
      await unhear(world, parent.id, 1);
      const found = [{ execution: parent.id, about: 'child:ship#1' }];
      return { found, isUnprovable: true };
    },
  },
  {
    upholds: 'Z-12',
    invariant: 'inbox-unread',
    name: 'a signal came after the park, and the execution still waits',
    async plant({ store, advance, tamper }) {
      const ann = await worker(store);
      const { id } = await running(store, ann).then(async (held) => {
        await mustPark(store, held, parkedFor('signal:paid#1'));
        return held;
      });
      await advance(1);
      await store.executions.signal(signalling(id));
      await tamper.setExecution(id, { status: 'waiting', readyAt: null });
      const afterwards = async (): Promise<void> =>
        assert.deepEqual(await claimIds(store, ann), [id]);
      return { found: [{ execution: id }], afterwards };
    },
  },
  {
    upholds: 'Z-12',
    invariant: 'inbox-unread',
    name: 'the inbox has more messages than its count',
    async plant({ store, tamper }) {
      const held = await running(store, await worker(store));
      await mustPark(store, held, parkedFor('signal:paid#1'));
      await store.executions.signal(signalling(held.id));
      await store.executions.signal(signalling(held.id));
      await tamper.setExecution(held.id, { status: 'waiting', readyAt: null, news: 0 });
      const afterwards = async (): Promise<void> => {
        assert.equal((await mustRead(store, held.id)).inboxCount, 2);
        assert.equal(await statusOf(store, held.id), 'queued');
      };
      return { found: [{ execution: held.id }], afterwards };
    },
  },
  {
    upholds: 'Z-13',
    invariant: 'child-of-the-ended',
    name: 'maintenance asks the child to cancel',
    async plant(world) {
      const { store, tamper } = world;
      const { parent, child } = await family(world);
      await mustPark(store, child, parkedFor('signal:go#1'));
      await store.executions.cancel(commanding(parent.id));
      await tamper.dropErrand(parent.id);
      const afterwards = async (): Promise<void> => {
        await store.executions.maintain({ limit: 100 });
        assert.equal(await statusOf(store, child.id), 'cancelled');
      };
      return { found: [{ execution: child.id }], afterwards };
    },
  },
  {
    upholds: 'Z-13',
    invariant: 'await-of-the-ended',
    name: 'the await is closed, as by the end of its execution',
    async plant({ store, tamper }) {
      const { id } = await parkedOn(store, await worker(store), { items: 2 });
      await store.executions.cancel(commanding(id));
      await tamper.reopenAwaits(id);
      const afterwards = async (): Promise<void> =>
        assert.deepEqual(await statesOf(store, id), ['cancelled', 'closed', 'closed']);
      return { found: [{ execution: id }], afterwards };
    },
  },
  {
    upholds: 'Z-14',
    invariant: 'slots-miscounted',
    name: 'a leaked slot is free again, and a waiting execution gets it',
    async plant({ store, tamper }) {
      const ann = await worker(store);
      const concurrency = { key: 'bank', limit: 1 };
      const held = await running(store, ann, { concurrency });
      await mustFinish(store, held);
      await tamper.setTaken('bank', 1);
      const id = await mustSubmit(store, { concurrency });
      assert.deepEqual((await mustRead(store, id)).holds, ['concurrency-limit']);
      const afterwards = async (): Promise<void> => {
        assert.deepEqual(await claimIds(store, ann), [id]);
        // The one slot is taken, and counted.
        await mustSubmit(store, { concurrency });
        assert.deepEqual(await claimIds(store, ann), []);
      };
      return { found: [{ about: 'bank' }], afterwards };
    },
  },
  {
    upholds: 'Z-14',
    invariant: 'slot-not-given',
    name: 'an execution that waits for a free slot gets it',
    async plant({ store, tamper }) {
      const ann = await worker(store);
      const bank = { concurrency: { key: 'bank', limit: 1 } };
      const [held, id] = [await running(store, ann, bank), await mustSubmit(store, bank)];
      await tamper.setTaken('bank', 2);
      await mustFinish(store, held);
      await tamper.setTaken('bank', 0);
      const afterwards = async (): Promise<void> =>
        assert.deepEqual(await claimIds(store, ann), [id]);
      return { found: [{ about: 'bank' }], afterwards };
    },
  },
  {
    upholds: 'Z-16',
    invariant: 'question-slot-not-given',
    name: 'a question that waits for a free slot is asked',
    async plant({ store, tamper }) {
      const ann = await worker(store);
      const limited = { concurrency: { key: 'bank', limit: 1 } };
      const asked = await mustOpen(store, await running(store, ann), limited);
      const { id } = await mustOpen(store, await running(store, ann), limited);
      await tamper.dropAwaits(asked.id);
      const afterwards = async (): Promise<void> =>
        assert.deepEqual(await statesOf(store, id), ['open', 'open']);
      return { found: [{ about: 'bank' }], afterwards };
    },
  },
  {
    upholds: 'Z-22',
    invariant: 'dead-letter-mismatch',
    name: 'the dead letter names a missing re-drive',
    async plant({ store, tamper }) {
      const id = await ended(store, await worker(store), { deadLetter: letter() });
      const by = nextId();
      await tamper.setRedrivenBy(id, by);
      return { found: [{ execution: id, about: by }] };
    },
  },
  {
    upholds: 'Z-22',
    invariant: 'letter-missing',
    name: 'a failed execution has no dead letter',
    async plant({ store, tamper }) {
      const id = await ended(store, await worker(store), { deadLetter: letter() });
      await tamper.dropLetter(id);
      return { found: [{ execution: id }] };
    },
  },
  {
    upholds: 'Z-23',
    invariant: 'history-differs',
    name: 'a row has a higher seq than its history',
    async plant({ store, tamper }) {
      const id = await mustSubmit(store);
      await tamper.setExecution(id, { seq: 2 });
      return { found: [{ execution: id }] };
    },
  },
  {
    upholds: 'Z-24',
    invariant: 'schedule-without-time',
    name: 'a running schedule has no next time',
    async plant({ store, tamper, now }) {
      await store.executions.putSchedule(putting((now() + 9_000) as Instant, { id: 'lost' }));
      await tamper.setNext('lost', null);
      return { found: [{ about: 'lost' }] };
    },
  },
  {
    upholds: 'Z-15',
    invariant: 'paused-schedule-with-time',
    name: 'the paused schedule loses its next time',
    async plant({ store, tamper, now }) {
      const named = { project: PROJECT, id: 'quiet' };
      await store.executions.putSchedule(putting(now() as Instant, { id: 'quiet' }));
      await store.executions.pauseSchedule(named);
      await tamper.setNext('quiet', now());
      const afterwards = async (): Promise<void> => {
        const schedule = await store.executions.schedule(named);
        assert.deepEqual([schedule?.paused, schedule?.nextAt], [true, undefined]);
      };
      return { found: [{ about: 'quiet' }], afterwards };
    },
  },
  {
    upholds: 'Z-15',
    invariant: 'queued-without-time',
    name: 'the execution is ready now',
    async plant({ store, tamper }) {
      const id = await mustSubmit(store);
      await tamper.setExecution(id, { readyAt: null });
      const afterwards = async (): Promise<void> =>
        assert.deepEqual(await claimIds(store, await worker(store)), [id]);
      return { found: [{ execution: id }], afterwards };
    },
  },
];
