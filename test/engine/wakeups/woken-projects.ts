import assert from 'node:assert/strict';
import {
  claiming,
  claimOnce,
  heldOf,
  mustSubmit,
  OTHER_PROJECT,
  PROJECT,
  worker,
} from '../../../contract/execution/worker.ts';
import type { WokenProjects } from '../../../src/execution/wakeups.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';

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
