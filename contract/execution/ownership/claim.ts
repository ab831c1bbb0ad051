import assert from 'node:assert/strict';
import { toInstant } from '../../../src/support/clock.ts';
import { expectKind } from '../../lease/expect.ts';
import { sessionIdOf } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged } from '../expect.ts';
import {
  claimAll,
  claimIds,
  claiming,
  claimOnce,
  endSessionOf,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustSubmit,
  OTHER_PIPELINE,
  payload,
  running,
  signalling,
  submitting,
  worker,
} from '../worker.ts';

export const claimCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-6, X-11, X-61',
    name: 'a claimed execution runs under a new fence, and the claim has its whole record',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const request = submitting({
        key: 'order-17',
        intent: 'digest',
        tags: ['eu', 'vip'],
        attributes: { customer: 'c-1', total: 12.5, gift: true },
        submittedBy: 'shop',
        scheduled: { id: 'nightly', at: toInstant(86_400_000) },
        template: { id: 't', version: 3 },
        traceparent: '00-1-2-01',
        deadlineMs: 60_000,
      });
      expectKind(await store.executions.submit(request), 'submitted');
      const submittedAt = now();
      await advance(500);
      const { claimed, fence } = await mustClaim(store, ann, request.id);
      const execution = await mustRead(store, request.id);
      assert.deepEqual(claimed.execution, execution);
      assert.deepEqual(execution, {
        ...request,
        status: 'running',
        submittedAt,
        deadlineAt: submittedAt + 60_000,
        holds: [],
        gated: false,
        hasSlot: false,
        fence,
        session: ann.id,
        claimedAt: now(),
        claimsWithoutProgress: 0,
        seq: 2,
        inboxCount: 0,
        wakeAfter: 0,
        compensable: false,
        compensating: false,
      });
      assert.equal(claimed.claimedAt, now());
      assert.equal(claimed.previous, 'none');
    },
  },
  {
    upholds: 'X-11, X-61',
    name: 'the event of a claim has the session, its owner, and how the claim before it ended',
    async run({ store, now }) {
      const ann = await worker(store);
      const bob = await worker(store, 'bob');
      const first = await running(store, ann);
      await mustGiveBack(store, first);
      const second = await mustClaim(store, bob, first.id);
      await mustPark(store, second);
      await store.executions.signal(signalling(first.id));
      const third = await mustClaim(store, ann, first.id);
      const events = await store.executions.history({ id: first.id, after: 0, limit: 100 });
      const claims = events
        .filter(({ kind }) => kind === 'claimed')
        .map(({ body, fence, at }) => ({ body: JSON.parse(body ?? ''), fence, at }));
      const claimBody = (who: typeof ann, previous: string) => ({
        session: who.id,
        owner: who.owner,
        previous,
      });
      assert.deepEqual(claims, [
        { body: claimBody(ann, 'none'), fence: first.fence, at: now() },
        { body: claimBody(bob, 'given-back'), fence: second.fence, at: now() },
        { body: claimBody(ann, 'parked'), fence: third.fence, at: now() },
      ]);
      assert.deepEqual([second.claimed.previous, third.claimed.previous], ['given-back', 'parked']);
    },
  },
  {
    upholds: 'X-6',
    name: 'a session that is unknown, lapsed, overdue or ended cannot claim, nor can its children',
    async run({ store, advance }) {
      await mustSubmit(store);
      const brief = { ttlMs: 10_000, graceMs: 2_000 };
      const parent = await worker(store, 'parent', brief);
      const child = await worker(store, 'child', { parent: parent.id });
      const gone = await worker(store, 'gone');
      const below = await worker(store, 'below', { parent: gone.id });
      await endSessionOf(store, gone);
      const refused = async (who: { readonly id: typeof gone.id }) =>
        expectRefusedUnchanged(store, 'session-not-live', () =>
          store.executions.claim(claiming(who)),
        );
      for (const who of [gone, below, { id: sessionIdOf('unknown') }]) await refused(who);
      for (const ms of [8_000, 2_000]) {
        await advance(ms);
        for (const who of [parent, child]) await refused(who);
      }
      assert.equal((await claimIds(store, await worker(store, 'ann'))).length, 1);
    },
  },
  {
    upholds: 'X-6',
    name: 'a session claims up to the millisecond before its lapse',
    async run({ store, advance }) {
      const id = await mustSubmit(store);
      const ann = await worker(store, 'ann', { ttlMs: 10_000, graceMs: 2_000 });
      await advance(7_999);
      await mustClaim(store, ann, id);
    },
  },
  {
    upholds: 'X-11, X-3',
    name: 'a delayed execution is claimed from its millisecond on, and a claim before returns the time left',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const id = await mustSubmit(store, { delayMs: 1_000 });
      assert.equal((await mustRead(store, id)).readyAt, now() + 1_000);
      const early = await claimOnce(store, claiming(ann));
      assert.deepEqual([early.claims, early.more, early.nextReadyInMs], [[], false, 1_000]);
      await advance(999);
      assert.equal((await claimOnce(store, claiming(ann))).nextReadyInMs, 1);
      await advance(1);
      await mustClaim(store, ann, id);
      const none = await claimOnce(store, claiming(ann));
      assert.equal('nextReadyInMs' in none, false);
    },
  },
  {
    upholds: 'X-11',
    name: 'only the pipelines asked for are claimed',
    async run({ store }) {
      const ann = await worker(store);
      const orders = await mustSubmit(store);
      const reports = await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      assert.deepEqual(await claimIds(store, ann), [orders]);
      const rest = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert.deepEqual(
        rest.map(({ execution }) => execution.id),
        [reports],
      );
      assert.deepEqual((await claimOnce(store, claiming(ann, 9, { pipelines: [] }))).claims, []);
    },
  },
  {
    upholds: 'X-11',
    name: 'the execution that has been ready longest is claimed first, whatever the order of submits',
    async run({ store, advance }) {
      const ann = await worker(store);
      const third = await mustSubmit(store, { delayMs: 300 });
      const first = await mustSubmit(store, { delayMs: 100 });
      const second = await mustSubmit(store, { delayMs: 200 });
      await advance(1_000);
      const order: unknown[] = [];
      for (let calls = 0; calls < 3; calls += 1) {
        const { claims } = await claimOnce(store, claiming(ann, 1));
        order.push(...claims.map(({ execution }) => execution.id));
      }
      assert.deepEqual(order, [first, second, third]);
    },
  },
  {
    upholds: 'X-11, X-3',
    name: 'an execution that waits for a timer is claimed when it is due, and not a millisecond before',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustPark(store, held, { wakeInMs: 5_000 });
      await advance(4_999);
      assert.deepEqual(await claimIds(store, ann), []);
      await advance(1);
      const { claimed } = await mustClaim(store, ann, held.id);
      assert.equal(claimed.previous, 'parked');
    },
  },
  {
    upholds: 'X-11',
    name: 'a claim returns an empty list if nothing is ready, and `more` if it left something',
    async run({ store }) {
      const ann = await worker(store);
      const none = await claimOnce(store, claiming(ann));
      assert.deepEqual([none.claims, none.more, none.overdue], [[], false, false]);
      for (let count = 0; count < 5; count += 1) await mustSubmit(store);
      const some = await claimOnce(store, claiming(ann, 3));
      assert.deepEqual([some.claims.length, some.more], [3, true]);
      const rest = await claimOnce(store, claiming(ann, 3));
      assert.deepEqual([rest.claims.length, rest.more], [2, false]);
    },
  },
  {
    upholds: 'X-11, X-7',
    name: 'a claim reports that a session with running executions is overdue',
    async run({ store, advance }) {
      const ann = await worker(store, 'ann', { ttlMs: 10_000, graceMs: 0 });
      await running(store, ann);
      const bob = await worker(store, 'bob');
      assert.equal((await claimOnce(store, claiming(bob))).overdue, false);
      await advance(10_000);
      assert.equal((await claimOnce(store, claiming(bob))).overdue, true);
    },
  },
  {
    upholds: 'X-3',
    name: '`readyAt` is set exactly while the execution can be claimed at that time',
    async run({ store, now }) {
      const ann = await worker(store);
      const readyAt = async () => (await mustRead(store, id)).readyAt;
      const id = await mustSubmit(store);
      assert.equal(await readyAt(), now());
      const first = await mustClaim(store, ann, id);
      assert.equal(await readyAt(), undefined);
      const back = { id, fence: first.fence, session: ann.id, seq: first.seq };
      expectKind(
        await store.executions.giveBack({ ...back, events: [{ kind: 'given-back' }], delayMs: 0 }),
        'given-back',
      );
      assert.equal(await readyAt(), now());
      await mustPark(store, await mustClaim(store, ann, id), { wakeInMs: 250 });
      assert.equal(await readyAt(), now() + 250);
      await store.executions.signal(signalling(id));
      assert.equal(await readyAt(), now());
      await mustPark(store, await mustClaim(store, ann, id), { inboxSeen: 1 });
      assert.equal(await readyAt(), undefined);
      await store.executions.signal({ ...signalling(id), body: payload('x') });
      await mustFinish(store, await mustClaim(store, ann, id));
      assert.equal(await readyAt(), undefined);
    },
  },
];
