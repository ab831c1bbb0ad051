import assert from 'node:assert/strict';
import {
  claiming,
  claimOnce,
  finishing,
  heldOf,
  mustSubmit,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  worker,
} from '../../../contract/execution/worker.ts';
import type { WakeupCause, WokenProjects } from '../../../src/execution/wakeups.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';

/** A submit ends nothing, and an end without a parent makes nothing ready. */
async function checkCauses(store: CoordinatorStore): Promise<void> {
  const { executions } = store;
  const causeOf = async (operation: () => Promise<unknown>): Promise<unknown> => {
    const first = Promise.withResolvers<unknown>();
    const stop = executions.onWakeup((_, cause) => first.resolve(cause));
    await operation();
    const cause = await first.promise;
    stop();
    return cause;
  };
  const bob = await worker(store, 'bob');
  const held = async (): Promise<ReturnType<typeof heldOf>> => {
    const [claim] = (await claimOnce(store, claiming(bob, 1, { project: PROJECT }))).claims;
    assert.ok(claim !== undefined);
    return heldOf(claim, bob);
  };
  const submitted = await causeOf(() => mustSubmit(store));
  assert.deepEqual(submitted, { ended: new Set(), ready: new Set([PIPELINE]) });
  const alone = await held();
  const ended = await causeOf(() => executions.finish(finishing(alone)));
  assert.deepEqual(ended, { ended: new Set([alone.id]), ready: new Set() });
  await mustSubmit(store, { concurrency: { key: 'one', limit: 1 } });
  const placed = await held();
  const freed = await causeOf(() => executions.finish(finishing(placed)));
  assert.equal((freed as WakeupCause).ready, undefined, 'another may wait for its slot');
}

/** Writes of a known project wake only that project alone; others wake all. */
export async function checkWokenProjects(store: CoordinatorStore): Promise<void> {
  const { executions } = store;
  const wokenBy = async (operation: () => Promise<unknown>): Promise<WokenProjects> => {
    const first = Promise.withResolvers<WokenProjects>();
    const stop = executions.onWakeup((projects) => first.resolve(projects));
    await operation();
    const projects = await first.promise;
    stop();
    return projects;
  };
  const ann = await worker(store);
  const submitted = await wokenBy(() => mustSubmit(store, { project: OTHER_PROJECT }));
  assert.deepEqual(submitted, new Set([OTHER_PROJECT]));
  await mustSubmit(store);
  const { claims } = await claimOnce(store, claiming(ann, 1, { project: PROJECT }));
  const [claim] = claims;
  assert.ok(claim !== undefined);
  const events = [{ kind: 'completed' as const }];
  const held = heldOf(claim, ann);
  const ended = await wokenBy(() =>
    executions.finish({ ...held, project: PROJECT, status: 'completed', events }),
  );
  assert.deepEqual(ended, new Set([PROJECT]));
  await checkCauses(store);
  await mustSubmit(store);
  const [lost] = (await claimOnce(store, claiming(ann, 1, { project: PROJECT }))).claims;
  assert.ok(lost !== undefined);
  const unknown = await wokenBy(() =>
    executions.giveBack({
      ...heldOf(lost, ann),
      events: [{ kind: 'given-back', body: '{}' as never }],
    }),
  );
  assert.equal(unknown, undefined, 'the writer did not name its project');
}
