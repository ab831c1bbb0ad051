import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { FileGuard } from '../../src/guards/files.ts';
import { type KeepResult, memoryMarks } from '../../src/guards/http.ts';
import type { Fenced } from '../../src/guards/mark.ts';
import { SqliteRowGuard } from '../../src/guards/sqlite.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { underSteadyTraffic } from './steady-traffic.ts';

const early = { key: 'a', fence: FIRST };
const late = { key: 'a', fence: SECOND };
const latest = { key: 'a', fence: THIRD };

test('steady traffic of the old holder does not keep its successor out', async () => {
  const traffic = await underSteadyTraffic(memoryMarks(), early, late);
  assert.deepEqual(traffic, { old: 'stale', entries: 1, successor: 'entered' });
});

test('a mark that could not be stored in time is busy, and does not fall', async () => {
  const keep = ({ fence }: Fenced): KeepResult =>
    fence === THIRD ? { kind: 'busy', resource: 'a' } : { kind: 'current' };
  const marks = memoryMarks({ keep });
  const before = await marks.enter(late);
  assert.ok(before.kind === 'entered');
  await before.leave();
  assert.deepEqual(await marks.enter(latest), { kind: 'busy', resource: 'a' });
  for (const fenced of [early, late]) {
    const stale = { kind: 'stale', resource: 'a', presented: fenced.fence, newest: THIRD };
    assert.deepEqual(await marks.enter(fenced), stale);
  }
});

test('the admit of a file guard keeps marks', async (t) => {
  const folder = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-marks-'),
  );
  const guard = new FileGuard(join(folder, 'a'), { waitMs: 0 });
  t.after(async () => {
    await guard.close();
    rmSync(folder, { recursive: true });
  });
  const marks = () => memoryMarks({ keep: (fenced) => guard.admit(fenced) });
  assert.equal((await marks().enter(late)).kind, 'entered');
  assert.equal((await marks().enter(early)).kind, 'stale');
  // Another process is inside the file, so the guard can neither read nor raise its mark.
  const other = new FileGuard(guard.path);
  t.after(() => other.close());
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const inside = other.within(late, () => {
    begun.resolve();
    return goOn.promise;
  });
  await begun.promise;
  assert.deepEqual(await marks().enter(latest), { kind: 'busy', resource: 'a' });
  goOn.resolve();
  assert.equal((await inside).kind, 'written');
});

test('the admit of a row guard keeps marks, if the row exists', async (t) => {
  const database = new DatabaseSync(':memory:');
  t.after(() => database.close());
  database.exec('create table account (id text primary key, fence integer not null default 0)');
  const guard = new SqliteRowGuard({ table: 'account' });
  const marks = () =>
    memoryMarks({ keep: (fenced) => guard.admit(database, fenced, { id: fenced.key }) });
  await assert.rejects(marks().enter(late), /Insert the row first/);
  database.exec("insert into account (id) values ('a')");
  assert.equal((await marks().enter(late)).kind, 'entered');
  assert.equal((await marks().enter(early)).kind, 'stale');
});

test('an answer that no guard gives is a fault, and no request stays inside', async () => {
  const answers = [undefined, { kind: 'ok' }, { kind: 'stale', newest: undefined }];
  for (const answer of answers) {
    const marks = memoryMarks({
      keep: ({ fence }) => (fence === SECOND ? (answer as KeepResult) : { kind: 'current' }),
    });
    await assert.rejects(marks.enter(late), /`keep` must return|not a fence/);
    assert.equal((await marks.enter(early)).kind, 'stale', 'the mark has not fallen');
    assert.equal((await marks.enter(latest)).kind, 'entered');
  }
});
