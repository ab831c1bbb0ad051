import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type {
  FireSchedule,
  ScheduleFired,
  TriggerSchedule,
} from '../../../src/features/schedules/port.ts';
import type { CoordinatorStore, Submit } from '../../../src/store/contract/execution-store.ts';
import { type Instant, laterBy } from '../../../src/support/clock.ts';
import { expectKind } from '../../lease/expect.ts';
import { allAudit, stamp } from '../audit/auditing.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  mustClaim,
  mustFinish,
  mustSubmit,
  nextId,
  PROJECT,
  submitting,
  worker,
} from '../worker.ts';
import { dueIds, putting } from './schedules.ts';

const NIGHTLY = { project: PROJECT, id: 'nightly' };

function keyed(at: number, options: Partial<Submit> = {}): Submit {
  return submitting({ key: `nightly@${at}`, intent: 'a', ...options });
}

function firing(expected: Instant, options: Partial<FireSchedule> = {}): FireSchedule {
  return {
    ...NIGHTLY,
    digest: 'one',
    expected,
    nextAt: laterBy(expected, 1_000),
    submits: [keyed(expected)],
    firedAt: expected,
    overlap: 'allow',
    ...options,
  };
}

/** With the slot that the engine gives to executions of such schedules. */
function overlapping(
  store: CoordinatorStore,
  at: Instant,
  overlap: FireSchedule['overlap'],
): Promise<ScheduleFired> {
  const submits = [keyed(at, { concurrency: { key: 'schedule:nightly', limit: 1 } })];
  const { body } = commanding(nextId());
  return store.executions.fireSchedule(firing(at, { overlap, submits, cancel: { body } }));
}

/** A schedule that is due now, and every second from then on. */
async function dueNow(store: CoordinatorStore, now: Instant): Promise<Instant> {
  await store.executions.putSchedule(putting(now));
  assert.deepEqual(await dueIds(store), ['nightly']);
  return now;
}

export const fireScheduleCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-34',
    name: 'a fire submits, sets the next time in the same step, and is recorded in the schedule',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const submits = [keyed(at), keyed(at + 1)];
      const [first, second] = submits.map(({ id }) => id);
      const result = await store.executions.fireSchedule(firing(at, { submits }));
      assert.deepEqual(result, { kind: 'fired', ids: [first, second] });
      assert.deepEqual(await dueIds(store), []);
      const { nextAt, firedAt, lastExecution } = (await store.executions.schedule(NIGHTLY)) ?? {};
      assert.deepEqual([nextAt, firedAt, lastExecution], [laterBy(at, 1_000), at, second]);
      assert.deepEqual(await claimIds(store, await worker(store)), [first, second]);
    },
  },
  {
    upholds: 'X-34',
    name: 'a time is fired once: a fire that does not expect the schedule’s next time changes nothing',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const fire = (options: Partial<FireSchedule>) => () =>
        store.executions.fireSchedule(firing(at, options));
      const isMoved = async (options: Partial<FireSchedule>) => {
        const before = await store.executions.schedule(NIGHTLY);
        assert.deepEqual(await leavesUnchanged(store, fire(options)), { kind: 'moved' });
        assert.deepEqual(await store.executions.schedule(NIGHTLY), before);
      };
      await isMoved({ expected: laterBy(at, -1) });
      await isMoved({ digest: 'another' });
      await isMoved({ id: 'unknown' });
      expectKind(await fire({})(), 'fired');
      await isMoved({});
      await isMoved({ submits: [keyed(at + 7)] });
      expectKind(await store.executions.pauseSchedule(NIGHTLY), 'done');
      await isMoved({ expected: laterBy(at, 1_000) });
    },
  },
  {
    upholds: 'X-34',
    needs: 'two-clients',
    name: 'when many fire the same time at once, one succeeds, and one execution is created',
    async run({ store, another, now }) {
      const other = await another();
      let at = await dueNow(store, now());
      for (let round = 0; round < 6; round += 1) {
        const fires = Array.from({ length: 6 }, (_, nth) =>
          (nth % 2 === 0 ? store : other).executions.fireSchedule(firing(at)),
        );
        const kinds = (await Promise.all(fires)).map(({ kind }) => kind);
        assert.deepEqual(kinds.filter((kind) => kind === 'fired').length, 1);
        assert.deepEqual(kinds.filter((kind) => kind === 'moved').length, 5);
        at = laterBy(at, 1_000);
      }
      assert.equal((await claimIds(store, await worker(store))).length, 6);
    },
  },
  {
    upholds: 'X-34, X-10',
    name: 'a fire whose key is taken counts the existing execution as fired',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const id = await mustSubmit(store, { key: `nightly@${at}`, intent: 'other' });
      const fresh = keyed(at + 1);
      const request = firing(at, { submits: [keyed(at), fresh] });
      const result = await store.executions.fireSchedule(request);
      assert.deepEqual(result, { kind: 'fired', ids: [id, fresh.id] });
      assert.equal((await claimIds(store, await worker(store))).length, 2);
    },
  },
  {
    upholds: 'X-34, X-83',
    name: 'a time is skipped while the last execution is open, and fired after it has ended',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const fire = (nth: number) =>
        store.executions.fireSchedule(firing(laterBy(at, nth * 1_000), { overlap: 'skip' }));
      const [id] = expectKind(await fire(0), 'fired').ids;
      assert.deepEqual(await leavesUnchanged(store, () => fire(1)), { kind: 'skipped', open: id });
      const skipped = await store.executions.schedule(NIGHTLY);
      assert.deepEqual([skipped?.nextAt, skipped?.firedAt], [laterBy(at, 2_000), at]);
      const ann = await worker(store);
      await mustFinish(store, await mustClaim(store, ann, id), { status: 'failed' });
      expectKind(await fire(2), 'fired');
      // With `allow`, an open execution does not matter.
      const over = firing(laterBy(at, 3_000));
      expectKind(await store.executions.fireSchedule(over), 'fired');
    },
  },
  {
    upholds: 'X-34, X-14, X-83',
    name: 'the open successor of the last execution also makes a fire skip',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const fire = (nth: number) =>
        store.executions.fireSchedule(firing(laterBy(at, nth * 1_000), { overlap: 'skip' }));
      expectKind(await fire(0), 'fired');
      const ann = await worker(store);
      const successor = submitting({ id: nextId() });
      await mustFinish(store, await mustClaim(store, ann), { status: 'completed', successor });
      assert.deepEqual(await fire(1), { kind: 'skipped', open: successor.id });
      await mustFinish(store, await mustClaim(store, ann, successor.id), { status: 'completed' });
      expectKind(await fire(2), 'fired');
    },
  },
  {
    upholds: 'X-124',
    name: 'with `buffer`, one execution waits for the open one, and further times are skipped',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const fire = (nth: number) => overlapping(store, laterBy(at, nth * 1_000), 'buffer');
      const [first] = expectKind(await fire(0), 'fired').ids;
      const ann = await worker(store);
      const claim = await mustClaim(store, ann, first);
      const [second] = expectKind(await fire(1), 'fired').ids;
      assert.deepEqual(await claimIds(store, ann), []);
      assert.deepEqual(await fire(2), { kind: 'skipped', open: second });
      await mustFinish(store, claim, { status: 'completed' });
      const next = await mustClaim(store, ann, second);
      expectKind(await fire(3), 'fired');
      await mustFinish(store, next, { status: 'completed' });
    },
  },
  {
    upholds: 'X-124, X-17',
    name: 'with `cancel`, the open execution is cancelled, and the new one runs after its end',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const fire = (nth: number) => overlapping(store, laterBy(at, nth * 1_000), 'cancel');
      const [first] = expectKind(await fire(0), 'fired').ids;
      const ann = await worker(store);
      const claim = await mustClaim(store, ann, first);
      const [second] = expectKind(await fire(1), 'fired').ids;
      const inbox = await store.executions.inbox({ id: claim.id, after: 0, limit: 9 });
      assert.deepEqual(
        inbox.map(({ kind }) => kind),
        ['cancel'],
      );
      assert.deepEqual(await claimIds(store, ann), []);
      // The second one still waits, so it ends at once.
      const [third] = expectKind(await fire(2), 'fired').ids;
      const read = await store.executions.read(second as ExecutionId);
      assert.equal(read?.status, 'cancelled');
      await mustFinish(store, claim, { status: 'cancelled', inboxSeen: 1 });
      await mustClaim(store, ann, third);
    },
  },
  {
    upholds: 'X-124',
    name: 'with `buffer` and `cancel`, a time is skipped while an execution of an older plan is open',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const [first] = expectKind(await store.executions.fireSchedule(firing(at)), 'fired').ids;
      for (const [nth, overlap] of (['buffer', 'cancel'] as const).entries()) {
        const result = await overlapping(store, laterBy(at, (nth + 1) * 1_000), overlap);
        assert.deepEqual(result, { kind: 'skipped', open: first });
      }
    },
  },
  {
    upholds: 'X-120',
    name: 'a schedule pauses when its last execution failed, and does not pause again for it',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const pause = { ...stamp('pause-schedule'), actor: 'schedule nightly' };
      const fire = (nth: number) =>
        store.executions.fireSchedule(firing(laterBy(at, nth * 1_000), { pause }));
      const [first] = expectKind(await fire(0), 'fired').ids;
      const ann = await worker(store);
      await mustFinish(store, await mustClaim(store, ann, first), { status: 'failed' });
      assert.deepEqual(await fire(1), { kind: 'paused', failed: first });
      const paused = await store.executions.schedule(NIGHTLY);
      assert.deepEqual([paused?.paused, paused?.nextAt], [true, undefined]);
      assert.deepEqual(await fire(1), { kind: 'moved' });
      const nextAt = laterBy(at, 2_000);
      await store.executions.resumeSchedule({ ...NIGHTLY, digest: 'one', nextAt });
      const [second] = expectKind(await fire(2), 'fired').ids;
      await mustFinish(store, await mustClaim(store, ann, second), { status: 'completed' });
      expectKind(await fire(3), 'fired');
      const [record, ...others] = await allAudit(store);
      assert.deepEqual(
        [record?.actor, record?.action, others],
        ['schedule nightly', 'pause-schedule', []],
      );
    },
  },
  {
    upholds: 'X-121',
    name: 'a trigger submits without moving the schedule, once for each key, also while it is paused',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      expectKind(await store.executions.pauseSchedule(NIGHTLY), 'done');
      const { expected: _, nextAt: __, ...request } = firing(at);
      const audit = stamp('trigger-schedule');
      const trigger = (options: Partial<TriggerSchedule> = {}) =>
        store.executions.triggerSchedule({ ...request, audit, ...options });
      const fired = expectKind(await trigger(), 'fired');
      const before = await store.executions.schedule(NIGHTLY);
      assert.deepEqual([before?.paused, before?.lastExecution], [true, fired.ids[0]]);
      const again = { submits: [keyed(at)], overlap: 'skip' } as const;
      assert.deepEqual(await leavesUnchanged(store, () => trigger(again)), fired);
      const other = { submits: [keyed(at + 1)], overlap: 'skip' } as const;
      const skipped = await leavesUnchanged(store, () => trigger(other));
      assert.deepEqual(skipped, { kind: 'skipped', open: fired.ids[0] });
      for (const wrong of [{ digest: 'another' }, { id: 'unknown' }]) {
        const result = await leavesUnchanged(store, () => trigger({ ...other, ...wrong }));
        assert.deepEqual(result, { kind: 'moved' });
      }
      const [record] = await allAudit(store);
      assert.deepEqual(record?.after, { executions: fired.ids });
    },
  },
  {
    upholds: 'X-34, X-12',
    name: 'a fire may leave times out and set no next time, and concurrency limits hold for its executions',
    async run({ store, now }) {
      const at = await dueNow(store, now());
      const out = await store.executions.fireSchedule(firing(at, { submits: [] }));
      assert.deepEqual(out, { kind: 'fired', ids: [] });
      assert.equal((await store.executions.schedule(NIGHTLY))?.firedAt, undefined);
      const concurrency = { key: 'one at a time', limit: 1 };
      const submits = [1, 2].map((nth) => keyed(at + nth, { concurrency }));
      const expected = laterBy(at, 1_000);
      const { nextAt: _, ...last } = firing(expected, { submits });
      expectKind(await store.executions.fireSchedule(last), 'fired');
      assert.equal((await store.executions.schedule(NIGHTLY))?.nextAt, undefined);
      assert.equal((await claimIds(store, await worker(store))).length, 1);
    },
  },
];
