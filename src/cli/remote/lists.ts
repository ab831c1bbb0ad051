// holdfast list, dead-letters, schedules, workers, leases: pages of what there is.

import type { WorkerMessage } from '../../protocol/messages/sessions.ts';
import type { CommandSpec, Flag } from '../command.ts';
import { CONNECTION_FLAGS } from './connection.ts';
import { type Listing, PAGE_FLAGS, showPages } from './pages.ts';

interface List {
  readonly at: Listing['at'];
  readonly usage: string;
  readonly columns: readonly string[];
  /** Flags that go into the query as they are. */
  readonly filters?: Readonly<Record<string, Flag>>;
  readonly forPeople?: Pick<Listing, 'rowOf' | 'noteOf'>;
}

function list({ at, usage, columns, filters = {}, forPeople }: List): CommandSpec {
  const spec: CommandSpec = {
    usage: `${usage} [--limit 100] [--cursor …] [--all] [--json]`,
    flags: { ...filters, ...PAGE_FLAGS, ...CONNECTION_FLAGS },
    execute: (typed) =>
      showPages(spec, typed, { at, columns, filters: Object.keys(filters), ...forPeople }),
  };
  return spec;
}

export const listCommand: CommandSpec = list({
  at: 'GET /v1/executions',
  usage: 'holdfast list [--status running,waiting] [--pipeline order] [--tag vip]',
  columns: [
    'id',
    'pipeline',
    'release',
    'status',
    'holds',
    'submittedAt',
    'endedAt',
    'key',
    'tags',
    'failure.code',
    'failure.location',
  ],
  filters: {
    status: {
      value: 'a,b',
      help: 'Only these statuses: queued, running, waiting, completed, failed, …; separated by commas (default all)',
    },
    pipeline: { value: 'name', help: 'Only this pipeline (default all)' },
    tag: { value: 'tag', help: 'Only with this tag (default all)' },
  },
});

export const deadLettersCommand: CommandSpec = list({
  at: 'GET /v1/dead-letters',
  usage: 'holdfast dead-letters [--pipeline order] [--code card-declined] [--step charge]',
  columns: [
    'execution',
    'pipeline',
    'release',
    'status',
    'code',
    'step',
    'at',
    'redrivenBy',
    'reason',
  ],
  filters: {
    pipeline: { value: 'name', help: 'Only this pipeline (default all)' },
    code: { value: 'code', help: 'Only failures with this code (default all)' },
    step: { value: 'name', help: 'Only failures of this step (default all)' },
  },
});

export const schedulesCommand: CommandSpec = list({
  at: 'GET /v1/schedules',
  usage: 'holdfast schedules',
  columns: ['id', 'when', 'target', 'paused', 'nextTimes.0', 'firedAt', 'lastExecution'],
});

export const workersCommand: CommandSpec = list({
  at: 'GET /v1/workers',
  usage: 'holdfast workers',
  columns: [
    ...['id', 'kind', 'owner', 'state', 'work', 'release', 'pipelines'],
    ...['inFlight.interactive', 'inFlight.batch', 'openedAt', 'beatAt', 'remainingMs'],
  ],
  forPeople: {
    rowOf: (item) => {
      const { refused } = item as Partial<WorkerMessage>;
      return refused === undefined ? item : { ...item, release: `${refused.release} (refused)` };
    },
    noteOf: (item) => {
      const { refused, owner, id } = item as Partial<WorkerMessage>;
      return refused === undefined
        ? undefined
        : `${owner} (${id}) gets nothing that is pinned. ${refused.detail}`;
    },
  },
});

export const leasesCommand: CommandSpec = list({
  at: 'GET /v1/leases',
  usage: 'holdfast leases [--prefix tenant-7/]',
  columns: ['key', 'state', 'owner', 'fence', 'since', 'freeInMs'],
  filters: { prefix: { value: 'prefix', help: 'Only keys that start with this (default all)' } },
});
