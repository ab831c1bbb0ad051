// Everything that a refused request could have changed, as one text.

import { DEFAULT_PROJECT, type ExecutionId } from '../../src/execution/names.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

export async function snapshot(store: CoordinatorStore): Promise<string> {
  const { executions, access, sessions, leases } = store;
  const project = DEFAULT_PROJECT;
  const { items: all } = await executions.list({ project, limit: 10_000 });
  const histories = await Promise.all(
    all.map(({ id }) => executions.history({ id: id as ExecutionId, after: 0, limit: 1_000 })),
  );
  return JSON.stringify([
    all,
    histories,
    // A late answer is counted, although it is refused.
    (await executions.interactions({ project, limit: 1_000 })).map((each) => ({
      ...each,
      interaction: { ...each.interaction, late: 0 },
    })),
    await executions.listArchived({ project, limit: 1_000 }),
    await executions.schedules({ project, limit: 1_000 }),
    await executions.templates({ project, limit: 1_000 }),
    await access.projects({ limit: 1_000 }),
    await access.views({ project, limit: 1_000 }),
    await access.channels({ project, limit: 1_000 }),
    await access.keys({ limit: 1_000, all: true }),
    (await sessions.list({ limit: 1_000, all: true })).map(({ session }) => session),
    await leases.list({ limit: 1_000 } as never),
  ]);
}
