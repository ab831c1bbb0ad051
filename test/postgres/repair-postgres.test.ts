// Dead letters and re-drives on PostgreSQL under group commit, and texts that only PostgreSQL
// cannot store.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ended,
  letter,
  mustRedrive,
  redriving,
} from '../../contract/execution/repair/repairing.ts';
import {
  claimAll,
  finishing,
  heldOf,
  mustSubmit,
  nextId,
  running,
  statusOf,
  worker,
} from '../../contract/execution/worker.ts';
import type { ExecutionId } from '../../src/execution/names.ts';
import type { Finish } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';

let database: Awaited<ReturnType<typeof postgresForTests>> | undefined;
let store: Awaited<ReturnType<typeof openPostgresStore>>;
let commits = 0;

before(async () => {
  database = await postgresForTests();
  const onBoundary = (_: unknown, n: number): void => {
    commits = n;
  };
  store = await openPostgresStore({ url: database.url, schema: 'repair', onBoundary });
});

after(async () => {
  await store.close();
  await database?.release();
});

test('Y-10: each failed one of several ends in one commit leaves a dead letter', async () => {
  const ann = await worker(store);
  for (let n = 0; n < 9; n += 1) await mustSubmit(store);
  const claims = await claimAll(store, ann);
  const endings = claims.map((claimed, n): Finish => {
    const deadLetter = letter({ code: `code ${n}` });
    const failed = { status: 'failed', deadLetter } as const;
    return finishing(heldOf(claimed, ann), n % 3 === 0 ? {} : failed);
  });
  const before = commits;
  await Promise.all(endings.map((each) => store.executions.finish(each)));
  assert.equal(commits - before, 1, 'in one commit');
  const codes = await Promise.all(
    endings.map(async ({ id }) => (await store.executions.deadLetter(id))?.code),
  );
  const wanted = endings.map(({ deadLetter }) => deadLetter?.code);
  assert.deepEqual(codes, wanted);
});

test('Y-10: an error with a NUL in its text still ends its execution', async () => {
  const ann = await worker(store);
  for (const leavesAwaits of [false, true]) {
    const held = await running(store, ann);
    const deadLetter = letter({ code: 'E\0', reason: 'read "a\0b"', step: 'step:\0#1' });
    const request = finishing(held, { status: 'failed', deadLetter, leavesAwaits });
    assert.equal((await store.executions.finish(request)).kind, 'finished');
    assert.equal(await statusOf(store, held.id), 'failed');
    const kept = await store.executions.deadLetter(held.id);
    assert.deepEqual(
      [kept?.code, kept?.reason, kept?.step],
      ['E\uFFFD', 'read "a\uFFFDb"', 'step:\uFFFD#1'],
    );
  }
});

test('Y-20, Y-21, Y-23: re-drives in one commit each get their own answer', {}, async () => {
  const ann = await worker(store);
  const job = nextId();
  const old: ExecutionId[] = [];
  for (let n = 0; n < 6; n += 1) old.push(await ended(store, ann, { deadLetter: letter() }));
  const open = await mustRedrive(store, old[0] as ExecutionId);
  const done = await mustRedrive(store, old[1] as ExecutionId, { job });
  const unknown = nextId();
  const targets = [...old, unknown];
  const before = commits;
  const answers = await Promise.all(
    targets.map((of) => store.executions.redrive(redriving(of, { job }))),
  );
  assert.equal(commits - before, 1, 'in one commit');
  const [first, second, ...rest] = answers;
  const refused = { kind: 'refused', why: 'redrive-open', id: old[0], open };
  assert.deepEqual(first, refused);
  assert.deepEqual(second, { kind: 'submitted', id: done, existing: true });
  assert.deepEqual(rest.at(-1), { kind: 'refused', why: 'execution-unknown', id: unknown });
  for (const answer of rest.slice(0, -1)) {
    assert.ok(answer.kind === 'submitted' && !answer.existing);
    const made = await store.executions.read(answer.id);
    const letterOf = await store.executions.deadLetter(made?.redriveOf as ExecutionId);
    assert.equal(letterOf?.redrivenBy, answer.id);
  }
  const items = await store.executions.jobItems({ job, limit: 100 });
  assert.deepEqual(
    items.map(({ target }) => target),
    targets.toSorted(),
  );
  const again = await Promise.all(
    targets.map((of) => store.executions.redrive(redriving(of, { job }))),
  );
  assert.deepEqual(
    again,
    answers.map((answer) => (answer.kind === 'submitted' ? { ...answer, existing: true } : answer)),
  );
});
