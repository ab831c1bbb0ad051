import assert from 'node:assert/strict';
import type { ProjectName } from '../../../src/execution/names.ts';
import type { PutSchedule } from '../../../src/features/schedules/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { type Instant, laterBy } from '../../../src/support/clock.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectWhy, leavesUnchanged } from '../expect.ts';
import { OTHER_PROJECT, PROJECT } from '../worker.ts';

/** Times in cases count from the start of the case. */
export function putting(nextAt: Instant, options: Partial<PutSchedule> = {}): PutSchedule {
  return { project: PROJECT, id: 'nightly', plan: '{"n":1}', digest: 'one', nextAt, ...options };
}

export async function dueIds(store: CoordinatorStore): Promise<readonly string[]> {
  return (await store.executions.dueSchedules({ limit: 100 })).due.map(({ id }) => id);
}

const NIGHTLY: { readonly project: ProjectName; readonly id: string } = {
  project: PROJECT,
  id: 'nightly',
};

export const scheduleCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-32',
    name: 'a schedule is read back as it was put; repeating it changes nothing, new content replaces it',
    async run({ store, advance, now }) {
      const { executions } = store;
      const createdAt = now();
      const first = putting(laterBy(createdAt, 1_000), { actor: 'ann' });
      assert.deepEqual(await executions.putSchedule(first), { kind: 'put', changed: true });
      const stored = { ...first, paused: false, createdAt };
      assert.deepEqual(await executions.schedule(NIGHTLY), stored);
      await advance(5);
      // A process puts its schedules when it starts. A schedule that is due stays due.
      const again = { ...first, nextAt: laterBy(createdAt, 9_000), plan: '{"enc":2}' };
      assert.deepEqual(await executions.putSchedule(again), { kind: 'put', changed: false });
      assert.deepEqual(await executions.schedule(NIGHTLY), stored);
      const other = putting(laterBy(createdAt, 5_000), { digest: 'two', plan: '{"n":2}' });
      assert.deepEqual(await executions.putSchedule(other), { kind: 'put', changed: true });
      const changed = { ...other, paused: false, createdAt };
      assert.deepEqual(await executions.schedule(NIGHTLY), changed);
    },
  },
  {
    upholds: 'X-32, X-21',
    name: 'schedules belong to their project and are listed by id, page by page',
    async run({ store, now }) {
      const { executions } = store;
      for (const id of ['b', '\u{1f600}', 'a', '\uff5e']) {
        await executions.putSchedule(putting(now(), { id }));
      }
      await executions.putSchedule(putting(now(), { id: 'c', project: OTHER_PROJECT }));
      const list = async (limit: number, after?: string) => {
        const cursor = after === undefined ? {} : { after };
        const page = await executions.schedules({ project: PROJECT, limit, ...cursor });
        return page.map(({ id }) => id);
      };
      assert.deepEqual(await list(9), ['a', 'b', '\uff5e', '\u{1f600}']);
      assert.deepEqual(await list(2), ['a', 'b']);
      assert.deepEqual(await list(2, 'b'), ['\uff5e', '\u{1f600}']);
      assert.equal(await executions.schedule({ project: PROJECT, id: 'c' }), undefined);
    },
  },
  {
    upholds: 'X-32',
    name: 'a schedule that may only be created is not replaced, and the same content changes nothing',
    async run({ store, now }) {
      const { executions } = store;
      const put = (digest: string) =>
        executions.putSchedule(putting(now(), { digest, ifExists: 'refuse' }));
      assert.deepEqual(await put('one'), { kind: 'put', changed: true });
      assert.deepEqual(await put('one'), { kind: 'put', changed: false });
      const refused = await leavesUnchanged(store, () => put('two'));
      assert.deepEqual(refused, { kind: 'refused', why: 'schedule-exists', id: 'nightly' });
      assert.equal((await executions.schedule(NIGHTLY))?.digest, 'one');
    },
  },
  {
    upholds: 'X-33',
    name: 'a paused schedule has no next time, also when it is put again, until it is resumed',
    async run({ store, now }) {
      const { executions } = store;
      const nextAt = laterBy(now(), 1_000);
      await executions.putSchedule(putting(nextAt));
      assert.deepEqual(await executions.pauseSchedule(NIGHTLY), { kind: 'done' });
      assert.deepEqual(await executions.pauseSchedule(NIGHTLY), { kind: 'no-change' });
      await executions.putSchedule(putting(nextAt, { digest: 'two' }));
      const paused = await executions.schedule(NIGHTLY);
      assert.deepEqual([paused?.paused, paused?.nextAt, paused?.digest], [true, undefined, 'two']);
      const resume = (digest: string) =>
        executions.resumeSchedule({ ...NIGHTLY, digest, nextAt: laterBy(now(), 7_000) });
      assert.deepEqual(await resume('one'), { kind: 'stale' });
      assert.equal((await executions.schedule(NIGHTLY))?.paused, true);
      assert.deepEqual(await resume('two'), { kind: 'done' });
      const resumed = await executions.schedule(NIGHTLY);
      assert.deepEqual([resumed?.paused, resumed?.nextAt], [false, laterBy(now(), 7_000)]);
      const late = { ...NIGHTLY, digest: 'two', nextAt: laterBy(now(), 9_000) };
      assert.deepEqual(await executions.resumeSchedule(late), { kind: 'no-change' });
      assert.equal((await executions.schedule(NIGHTLY))?.nextAt, laterBy(now(), 7_000));
    },
  },
  {
    upholds: 'X-33, X-21',
    name: 'a removed schedule is gone, and operations on an unknown schedule are refused',
    async run({ store, now }) {
      const { executions } = store;
      await executions.putSchedule(putting(now()));
      const elsewhere = { project: OTHER_PROJECT, id: 'nightly' };
      expectWhy(await executions.pauseSchedule(elsewhere), 'schedule-unknown');
      const resume = { ...elsewhere, digest: 'one', nextAt: now() };
      expectWhy(await executions.resumeSchedule(resume), 'schedule-unknown');
      assert.deepEqual(await executions.removeSchedule(elsewhere), { kind: 'no-change' });
      assert.deepEqual(await executions.removeSchedule(NIGHTLY), { kind: 'done' });
      assert.deepEqual(await executions.removeSchedule(NIGHTLY), { kind: 'no-change' });
      assert.equal(await executions.schedule(NIGHTLY), undefined);
      assert.deepEqual(await dueIds(store), []);
    },
  },
  {
    upholds: 'X-35',
    name: 'due schedules are returned from their millisecond on, longest due first, and the next time before',
    async run({ store, advance, now }) {
      const { executions } = store;
      assert.deepEqual(await executions.dueSchedules({ limit: 9 }), { now: now(), due: [] });
      assert.equal((await executions.maintain({ limit: 9 })).nextScheduleInMs, undefined);
      const at = now();
      await executions.putSchedule(putting(laterBy(at, 2_000), { id: 'b' }));
      await executions.putSchedule(putting(laterBy(at, 1_000), { id: 'a' }));
      await executions.putSchedule(putting(laterBy(at, 500), { id: 'p' }));
      expectKind(await executions.pauseSchedule({ project: PROJECT, id: 'p' }), 'done');
      const early = await executions.dueSchedules({ limit: 9 });
      assert.deepEqual([early.due, early.nextInMs], [[], 1_000]);
      assert.equal((await executions.maintain({ limit: 9 })).nextScheduleInMs, 1_000);
      await advance(999);
      assert.deepEqual(await dueIds(store), []);
      await advance(1);
      assert.deepEqual(await dueIds(store), ['a']);
      assert.equal((await executions.dueSchedules({ limit: 9 })).nextInMs, 1_000);
      await advance(3_000);
      assert.deepEqual(await dueIds(store), ['a', 'b']);
      const some = await executions.dueSchedules({ limit: 1 });
      assert.deepEqual([some.due.map(({ id }) => id), some.nextInMs], [['a'], 0]);
      assert.equal((await executions.maintain({ limit: 9 })).nextScheduleInMs, 0);
    },
  },
  {
    upholds: 'X-35, X-96',
    name: 'if more schedules are due than one call returns, their projects take turns',
    async run({ store, advance, now }) {
      const { executions } = store;
      for (let nth = 0; nth < 12; nth += 1) {
        await executions.putSchedule(putting(laterBy(now(), nth), { id: `s${nth}` }));
      }
      for (const [nth, id] of ['a', 'b'].entries()) {
        const nextAt = laterBy(now(), 500 + nth);
        await executions.putSchedule(putting(nextAt, { id, project: OTHER_PROJECT }));
      }
      await executions.putSchedule(
        putting(laterBy(now(), 2_000), { id: 'c', project: 'idle' as ProjectName }),
      );
      await advance(1_000);
      const { due, nextInMs } = await executions.dueSchedules({ limit: 6 });
      assert.deepEqual(
        due.map(({ id }) => id),
        ['s0', 'a', 's1', 'b', 's2', 's3'],
      );
      assert.equal(nextInMs, 0);
    },
  },
  {
    upholds: 'P-14, X-32',
    name: 'a project has no more schedules than its quota, and existing ones can still be changed',
    async run({ store, now }) {
      const { executions } = store;
      const put = (id: string, more: Partial<PutSchedule> = {}) =>
        executions.putSchedule(putting(now(), { id, quota: 2, ...more }));
      const over = { kind: 'refused', why: 'over-quota', project: PROJECT, quota: 'schedules' };
      for (const id of ['a', 'b']) {
        assert.deepEqual(await put(id), { kind: 'put', changed: true });
      }
      const third = await leavesUnchanged(store, () => put('c'));
      assert.deepEqual(third, { ...over, limit: 2 });
      assert.deepEqual(await put('b'), { kind: 'put', changed: false });
      assert.deepEqual(await put('b', { digest: 'two' }), { kind: 'put', changed: true });
      assert.deepEqual(await put('c', { project: OTHER_PROJECT }), { kind: 'put', changed: true });
      await executions.removeSchedule({ project: PROJECT, id: 'a' });
      assert.deepEqual(await put('c'), { kind: 'put', changed: true });
      await store.access.putProject({ name: PROJECT, settings: { quotas: { schedules: 3 } } });
      assert.deepEqual(await put('d'), { kind: 'put', changed: true });
      assert.deepEqual(await put('e'), { ...over, limit: 3 });
    },
  },
  {
    upholds: 'P-14, P-15',
    needs: 'two-clients',
    name: 'schedules that several clients put at once do not exceed the quota',
    async run({ store, another, now }) {
      const stores = [store, await another()];
      const ids = Array.from({ length: 12 }, (_, nth) => `s${nth}`);
      const results = await Promise.all(
        ids.map((id, nth) =>
          (stores[nth % 2] ?? store).executions.putSchedule(putting(now(), { id, quota: 5 })),
        ),
      );
      assert.equal(results.filter(({ kind }) => kind === 'put').length, 5);
      const there = await store.executions.schedules({ project: PROJECT, limit: 100 });
      assert.equal(there.length, 5);
    },
  },
];
