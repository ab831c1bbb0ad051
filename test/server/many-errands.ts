// Many ended parents of one project beside one of another project.

import assert from 'node:assert/strict';
import {
  childOf,
  later,
  mustFinish,
  OTHER_PROJECT,
  running,
  statusOf,
  worker,
  writing,
} from '../../contract/execution/worker.ts';
import { LIST_ROWS_MAX } from '../../src/store/contract/execution-reads.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

/** The ended parents that the store has before, with an errand each and earlier ids than all others. */
export const MANY_ERRANDS: number = LIST_ROWS_MAX + 1_000;

const LIMIT = 100;

/** `left` counts the errands. */
export async function showErrandPages(
  store: CoordinatorStore,
  left: () => Promise<number> | number,
): Promise<void> {
  const ann = await worker(store);
  const parent = await running(store, ann, { project: OTHER_PROJECT });
  const child = childOf(parent.id, 'child:own#1', { project: OTHER_PROJECT });
  await store.executions.record({
    ...writing(parent, { kind: 'child-spawned' }),
    children: [child],
  });
  await mustFinish(store, later(parent), { status: 'failed' });
  const first = await store.executions.maintain({ limit: LIMIT });
  assert.deepEqual([first.more, await left()], [true, MANY_ERRANDS + 1 - LIMIT]);
  const second = await store.executions.maintain({ limit: LIMIT });
  assert.deepEqual([second.cancelled, second.more], [1, true]);
  assert.equal(await statusOf(store, child.id), 'cancelled');
}
