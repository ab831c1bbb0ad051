import assert from 'node:assert/strict';
import type { FireSchedule } from '../../../src/features/schedules/port.ts';
import type { CoordinatorStore, Submit } from '../../../src/store/contract/execution-store.ts';
import { type Instant, laterBy } from '../../../src/support/clock.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  claimIds,
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
    skipsWhileOpen: false,
    ...options,
  };
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
        store.executions.fireSchedule(firing(laterBy(at, nth * 1_000), { skipsWhileOpen: true }));
      const [id] = expectKind(await fire(0), 'fired').ids;
      assert.deepEqual(await leavesUnchanged(store, () => fire(1)), { kind: 'skipped', open: id });
      const skipped = await store.executions.schedule(NIGHTLY);
      assert.deepEqual([skipped?.nextAt, skipped?.firedAt], [laterBy(at, 2_000), at]);
      const ann = await worker(store);
      await mustFinish(store, await mustClaim(store, ann, id), { status: 'failed' });
      expectKind(await fire(2), 'fired');
      // Without `skipsWhileOpen`, an open execution does not matter.
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
        store.executions.fireSchedule(firing(laterBy(at, nth * 1_000), { skipsWhileOpen: true }));
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
