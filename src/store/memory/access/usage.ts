import { isUsable } from '../../../access/access-key.ts';
import type { QuotaName } from '../../../access/quota.ts';
import { isTerminal } from '../../../execution/execution.ts';
import type { ProjectName } from '../../../execution/names.ts';
import { PROJECT_METADATA } from '../../../lease/session.ts';
import type { CountUsage } from '../../contract/access-store.ts';
import type { AccessState } from './state.ts';

type Count = (state: AccessState, project: ProjectName) => number;

const COUNTS: Readonly<Record<QuotaName, Count>> = {
  executions: ({ executions }, project) =>
    countIf(
      executions.entries.values(),
      ({ execution }) => execution.project === project && !isTerminal(execution.status),
    ),
  schedules: ({ executions }, project) =>
    countIf(executions.schedules.values(), ({ schedule }) => schedule.project === project),
  sessions: ({ kernel }, project) =>
    countIf(
      kernel.sessions.values(),
      ({ end, metadata }) => end === undefined && metadata[PROJECT_METADATA] === project,
    ),
  keys: ({ keys, kernel }, project) => {
    const now = kernel.now();
    return countIf(keys.values(), (key) => key.project === project && isUsable(key, now));
  },
  bytes: ({ executions }, project) => {
    const blobs = [...executions.blobs.values()]
      .filter(({ projects }) => projects.has(project))
      .map(({ bytes }) => bytes.length);
    const attached = [...executions.entries.values()]
      .filter(({ execution }) => execution.project === project)
      .flatMap(({ attachments }) => [...attachments.values()])
      .map(({ bytes, sealed }) => sealed?.size ?? bytes.length);
    return [...blobs, ...attached].reduce((sum, size) => sum + size, 0);
  },
};

export function usage(state: AccessState, { project, quota, max }: CountUsage): number {
  const count = COUNTS[quota](state, project);
  return quota === 'bytes' ? count : Math.min(count, max);
}

function countIf<Item>(items: Iterable<Item>, fits: (item: Item) => boolean): number {
  let count = 0;
  for (const item of items) if (fits(item)) count += 1;
  return count;
}
