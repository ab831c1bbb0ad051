// Prints lists in pages: one page, or all in turn.

import type { CallOptions, HoldfastClient, Page } from '../../client/client.ts';
import { HOLDS, STATUSES } from '../../execution/execution.ts';
import type { ScheduleMessage } from '../../features/schedules/messages.ts';
import type { Address } from '../../protocol/messages/request.ts';
import type { WorkerMessage } from '../../protocol/messages/sessions.ts';
import { present } from '../../support/options.ts';
import {
  type CommandSpec,
  type ExitCode,
  type Flag,
  integerText,
  listText,
  refuseWords,
  type Typed,
  unknown,
} from '../command.ts';
import { plain, print, printLine, printProblem, printTable } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor, projectHint } from './connection.ts';
import { fieldOf, type Row } from './show.ts';

export const PAGE_FLAGS: Readonly<Record<string, Flag>> = {
  limit: { value: 'n', help: 'Number of rows per page (default 100)' },
  cursor: {
    value: 'cursor',
    help: 'Continue after the page that printed this cursor (default the first page)',
  },
  all: { help: 'Print every page' },
};

export interface Listing {
  readonly at: Extract<Address, `GET ${string}`>;
  /** Columns; the table omits those that no item has. */
  readonly columns: readonly string[];
  /** Flags that become query parameters. */
  readonly filters: readonly string[];
  /** Further query parameters. */
  readonly query?: NonNullable<CallOptions['query']>;
  /** The page of the console whose saved views apply here, by `--view`. */
  readonly page?: string;
  /** Converts an item into its table row. */
  readonly rowOf?: (item: Row) => Row;
  /** A note below the table, for details without a column. */
  readonly noteOf?: (item: Row) => string | undefined;
}

export async function showPages(
  spec: Pick<CommandSpec, 'usage'>,
  typed: Typed,
  { at, columns, filters, query = {}, page: saves, rowOf = (item) => item, noteOf }: Listing,
): Promise<ExitCode> {
  refuseWords(spec, typed);
  const limit = integerText('limit', typed.text('limit'), 1);
  const client = await clientFor(typed);
  const filtered = {
    ...query,
    ...(await savedFilter(client, saves, typed.text('view'))),
    ...present(
      Object.fromEntries(filters.map((name) => [parameterOf(name), listText(typed.text(name))])),
    ),
  };
  const readPage = (cursor: string | undefined, most = limit): Promise<Page<Row>> =>
    client.call(at.slice('GET '.length), { query: { ...filtered, limit: most, cursor } });
  let cursor = typed.text('cursor');
  let shown = 0;
  do {
    const page = await readPage(cursor);
    shown += page.items.length;
    if (typed.isSet('json')) for (const item of page.items) printLine(item);
    else if (page.items.length > 0) {
      printRows(page.items.map(rowOf), columns);
      for (const note of page.items.flatMap((item) => noteOf?.(item) ?? [])) print(plain(note));
    }
    cursor = page.cursor;
  } while (typed.isSet('all') && cursor !== undefined);
  // A page that is exactly full has a cursor, but nothing may follow it.
  const isMore =
    cursor !== undefined && (shown === 0 || (await readPage(cursor, 1)).items.length > 0);
  if (isMore) printProblem(`There are more. Pass --cursor ${cursor}, or --all.`);
  else if (shown === 0 && !typed.isSet('json')) {
    const hint = await projectHint(typed);
    printProblem(hint === undefined ? 'None.' : `None. ${hint}`);
  }
  return 0;
}

/** `--submitted-from` becomes `submittedFrom`. */
function parameterOf(flag: string): string {
  return flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The filters of a saved view, by the names of their parameters. */
async function savedFilter(
  client: HoldfastClient,
  page: string | undefined,
  id: string | undefined,
): Promise<Readonly<Record<string, readonly string[]>>> {
  if (page === undefined || id === undefined) return {};
  const { items } = await client.views.list({ page, limit: 1_000 });
  const view = items.find((each) => each.id === id);
  if (view === undefined)
    throw unknown(
      'view',
      id,
      items.map((each) => each.id),
    );
  const query = new URLSearchParams(view.query);
  return Object.fromEntries([...query.keys()].map((name) => [name, query.getAll(name)]));
}

export function printRows(items: readonly Row[], columns: readonly string[]): void {
  const shown = columns.filter((column) => items.some((item) => isWorthShowing(item, column)));
  printTable([
    shown.map((column) => column.replace(/\.\d+$/, '').replace(/^.*\./, '')),
    ...items.map((item) => shown.map((column) => fieldOf(item, column))),
  ]);
}

function isWorthShowing(item: Row, column: string): boolean {
  return !['', '[]', '{}'].includes(fieldOf(item, column));
}

// `holdfast list`, `dead-letters`, `schedules`, `views`, `workers` and `leases` print pages.

const VIEW_FLAG: Readonly<Record<string, Flag>> = {
  view: {
    value: 'id',
    help: 'The filters of this saved view; other flags replace its filters (default none)',
  },
};

interface List {
  readonly at: Listing['at'];
  readonly usage: string;
  readonly columns: readonly string[];
  /** Flags that become query parameters. */
  readonly filters?: Readonly<Record<string, Flag>>;
  readonly more?: Pick<Listing, 'rowOf' | 'noteOf' | 'page'>;
}

function list({ at, usage, columns, filters = {}, more }: List): CommandSpec {
  const spec: CommandSpec = {
    usage: `${usage} [--limit 100] [--cursor …] [--all] [--json]`,
    flags: { ...filters, ...(more?.page && VIEW_FLAG), ...PAGE_FLAGS, ...CONNECTION_FLAGS },
    execute: (typed) =>
      showPages(spec, typed, { at, columns, filters: Object.keys(filters), ...more }),
  };
  return spec;
}

export const listCommand: CommandSpec = list({
  at: 'GET /v1/executions',
  usage:
    'holdfast list [--status running,waiting] [--pipeline order] [--tag vip] [--q order/17] [--code no-stock]',
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
      help: `Only these statuses, separated by commas: ${STATUSES.join(', ')} (default all)`,
    },
    pipeline: { value: 'name', help: 'Only this pipeline (default all)' },
    tag: { value: 'tag', help: 'Only with this tag (default all)' },
    q: {
      value: 'text',
      help: 'Only with a key that begins with this, or with an id, for eight or more hexadecimal digits (default all)',
    },
    where: {
      value: 'list',
      help: 'Only with these attributes, separated by commas: name, name=value, name>=number or name<=number (default all)',
    },
    release: { value: 'name', help: 'Only pinned to this release (default all)' },
    worker: {
      value: 'owner',
      help: 'Only those that the worker with this owner or session id runs now (default all)',
    },
    sort: {
      value: 'order',
      help: 'newest or oldest by submission, or ended: by end, the last one first (default newest)',
    },
    hold: { value: 'hold', help: `Only with this hold: ${HOLDS.join(', ')} (default all)` },
    key: { value: 'key', help: 'Only with this key (default all)' },
    parent: { value: 'id', help: 'Only children of this execution (default all)' },
    code: { value: 'code', help: 'Only failed for good with this code (default all)' },
    redriven: {
      value: 'true|false',
      help: 'Only with a dead letter that was re-driven, or was not (default all)',
    },
    'submitted-from': {
      value: 'time',
      help: 'Only submitted at or after this time, as ISO 8601 (default all)',
    },
    'submitted-to': {
      value: 'time',
      help: 'Only submitted before this time, as ISO 8601 (default all)',
    },
  },
  more: { page: 'executions' },
});

export const viewsCommand: CommandSpec = list({
  at: 'GET /v1/views',
  usage: 'holdfast views [--page executions]',
  columns: ['id', 'name', 'page', 'query', 'savedAt', 'savedBy'],
  filters: {
    page: { value: 'name', help: 'Only views of this page of the console (default all)' },
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
  more: { rowOf: scheduleRow },
});

/** Such as `0 9 * * 1-5 Europe/Zurich`, `every 60000 ms`, `template nightly@2`. */
function scheduleRow(item: Row): Row {
  const { when, target } = item as Partial<ScheduleMessage>;
  return {
    ...item,
    ...(when && {
      when: 'cron' in when ? `${when.cron} ${when.timeZone}` : `every ${when.every} ms`,
    }),
    ...(target && { target: targetText(target) }),
  };
}

function targetText(target: ScheduleMessage['target']): string {
  if ('pipeline' in target) return target.pipeline;
  const { template, version } = target;
  return version === undefined ? `template ${template}` : `template ${template}@${version}`;
}

export const workersCommand: CommandSpec = list({
  at: 'GET /v1/workers',
  usage: 'holdfast workers',
  columns: [
    ...['id', 'kind', 'owner', 'state', 'work', 'release', 'pipelines'],
    ...['inFlight.interactive', 'inFlight.batch', 'openedAt', 'beatAt', 'remainingMs'],
  ],
  more: {
    rowOf: (item) => {
      const { refused } = item as Partial<WorkerMessage>;
      return refused === undefined ? item : { ...item, release: `${refused.release} (refused)` };
    },
    noteOf: (item) => {
      const { refused, owner, id } = item as Partial<WorkerMessage>;
      return refused === undefined
        ? undefined
        : `${owner} (${id}) gets no pinned executions. ${refused.detail}`;
    },
  },
});

export const leasesCommand: CommandSpec = list({
  at: 'GET /v1/leases',
  usage: 'holdfast leases [--prefix tenant-7/]',
  columns: ['key', 'state', 'owner', 'fence', 'since', 'freeInMs'],
  filters: { prefix: { value: 'prefix', help: 'Only keys that start with this (default all)' } },
});
