import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { type LeaseEvent, parseSessionId } from '../../src/index.ts';
import type { ListedLease } from '../../src/lease/port.ts';
import type { WorkerApi } from '../processes/children/worker-api.ts';
import { sqliteBackend } from '../processes/stage/backend.ts';
import { Stage } from '../processes/stage/stage.ts';
import { until } from '../processes/stage/until.ts';
import { ChildEvents } from './child-events.ts';
import type { FamilyApi } from './children/family.ts';
import type { Page, RevokerApi } from './children/revoker.ts';

const TTL_MS = 6_000;
const FAMILY = { ttlMs: TTL_MS, children: 10, leasesEach: 100 };
const LEASES = FAMILY.children * FAMILY.leasesEach;

describe('hierarchy on sqlite', () => {
  const backend = sqliteBackend();
  after(() => backend.end());

  test(`H-1: the end of a parent ends ${LEASES} leases of ${FAMILY.children} child sessions in one write`, async () => {
    await using stage = await Stage.on(backend);
    const family = stage.start<FamilyApi>('../recipes/children/family.ts');
    const id = await family.call('raise', { ...FAMILY, store: stage.address, prefix: 'a/' });
    const held = await everyLease(stage, 'a/');
    assert.equal(held.filter(({ state }) => state === 'held').length, LEASES);

    const before = rowsOf(stage);
    const by = { kind: 'operator', actor: 'olga', reason: 'drill' } as const;
    const ended = await stage.store.sessions.end({ id: parseSessionId(id), by });
    assert.equal(ended.kind, 'ended');
    const rows = rowsOf(stage);
    assert.deepEqual(changed(before.sessions, rows.sessions), [id], 'one row of one table');
    assert.deepEqual(changed(before.leases, rows.leases), [], 'and none of the leases');

    for (const { key, fence } of held) {
      const answer = await stage.store.leases.verify({ key, fence });
      assert.ok(answer.kind === 'refused' && answer.why === 'ended', `${key} is ${answer.kind}`);
    }
    const other = stage.start<WorkerApi>('children/worker.ts');
    await other.call('open', { store: stage.address, owner: 'other', ttlMs: TTL_MS });
    const taken = await other.call('acquire', { key: held[0]?.key ?? '' });
    assert.deepEqual(
      [taken.kind, taken.exit],
      ['acquired', 'revoked'],
      'any session may enter at once',
    );
    await until('their holder knows', async () => (await family.call('held', null)) === 0);
  });

  test('H-3: a prefix is revoked in pages; killed in the middle, another process goes on', async () => {
    await using stage = await Stage.on(backend);
    const family = stage.start<FamilyApi>('../recipes/children/family.ts');
    const { address: store } = stage;
    await family.call('raise', { ...FAMILY, store, prefix: 'tenant-7/' });
    await family.call('raise', { ...FAMILY, store, prefix: 'tenant-8/', children: 1 });

    const order = { store, prefix: 'tenant-7/', pageSize: 100 };
    const first = stage.start<RevokerApi>('../recipes/children/revoker.ts');
    const pages = new ChildEvents<Page>(first, 'progress');
    void first.call('revoke', order);
    await pages.first('two pages are done', ({ ended }) => ended === 200);
    await first.kill();
    const left = (await everyLease(stage, 'tenant-7/')).filter(({ state }) => state === 'held');
    assert.ok(left.length > 0 && left.length <= LEASES - 200, `${left.length} are left`);

    const second = stage.start<RevokerApi>('../recipes/children/revoker.ts');
    const { after } = pages.all.at(-1) ?? { after: '' };
    assert.equal(await second.call('revoke', { ...order, after }), left.length);
    const now = await everyLease(stage, 'tenant-7/');
    assert.deepEqual(
      new Set(now.map(({ state, exit }) => `${state} ${exit}`)),
      new Set(['free revoked']),
    );
    const ends = (await everyEvent(stage)).filter(({ kind }) => kind === 'ended');
    assert.equal(ends.length, LEASES, 'nothing was ended twice');
    assert.equal(new Set(ends.map((event) => ('key' in event ? event.key : ''))).size, LEASES);
    const untouched = await everyLease(stage, 'tenant-8/');
    assert.deepEqual(new Set(untouched.map(({ state }) => state)), new Set(['held']));
    await until('the holder has stopped', async () => (await family.call('held', null)) === 100);
  });
});

async function everyLease(stage: Stage, prefix: string): Promise<readonly ListedLease[]> {
  return stage.store.leases.list({ prefix, limit: 10_000 });
}

async function everyEvent(stage: Stage): Promise<readonly LeaseEvent[]> {
  const page = await stage.store.leases.events({ after: 0, limit: 100_000 });
  assert.equal(page.kind, 'events');
  return page.events;
}

interface Rows {
  readonly sessions: ReadonlyMap<string, string>;
  readonly leases: ReadonlyMap<string, string>;
}

/** Bypasses the store: the content of its tables, without the heartbeats that go on meanwhile. */
function rowsOf(stage: Stage): Rows {
  assert.ok(stage.address.kind === 'sqlite');
  using database = new DatabaseSync(stage.address.file, { readOnly: true });
  const read = (sql: string): ReadonlyMap<string, string> =>
    new Map(
      database
        .prepare(sql)
        .all()
        .map((row) => [String(row['id']), JSON.stringify(row)]),
    );
  return {
    sessions: read('select id, ended_at, exit, cause, actor from session'),
    leases: read('select key as id, rev, fence, ended_at, exit from lease'),
  };
}

function changed(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): readonly string[] {
  return [...now.keys()].filter((id) => before.get(id) !== now.get(id));
}
