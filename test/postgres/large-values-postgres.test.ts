// Large values of many callers, sent at once, are several statements: one could exceed the statement timeout.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  claimAll,
  heldOf,
  mustSubmit,
  payload,
  worker,
  writing,
} from '../../contract/execution/worker.ts';
import { expectKind } from '../../contract/lease/expect.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';

const MIB = 1024 * 1024;
const COUNT = 6;

test('submits and records of 5 MiB each are written at most two in a commit', async (t) => {
  const { url, release } = await postgresForTests();
  let commits = 0;
  const store = await openPostgresStore({
    ...{ url, schema: 'hf' },
    onBoundary: (phase) => {
      if (phase === 'before') commits += 1;
    },
  });
  t.after(async () => {
    await store.close();
    await release();
  });
  const commitsOf = async (work: () => Promise<unknown>): Promise<number> => {
    commits = 0;
    await work();
    return commits;
  };
  const large = payload('x'.repeat(5 * MIB));
  const submits = await commitsOf(() =>
    Promise.all(Array.from({ length: COUNT }, () => mustSubmit(store, { input: large }))),
  );
  assert.equal(submits, COUNT / 2);
  const ann = await worker(store);
  const claims = await claimAll(store, ann);
  const body = payload({ key: 'step:a#1', pad: 'x'.repeat(5 * MIB) });
  const records = await commitsOf(() =>
    Promise.all(
      claims.map(async (each) => {
        const request = writing(heldOf(each, ann), { kind: 'step-completed', body });
        expectKind(await store.executions.record(request), 'recorded');
      }),
    ),
  );
  assert.equal(records, COUNT / 2);
});
