// Prints lists in pages: one page, or all in turn.

import type { CallOptions, HoldfastClient, Page } from '../../client/client.ts';
import { HOLDS, STATUSES } from '../../execution/execution.ts';
import type { Address } from '../../protocol/messages/request.ts';
import type { WorkerMessage } from '../../protocol/messages/sessions.ts';
import { present, wordsIn } from '../../support/options.ts';
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
  /** Parameters of the path. */
  readonly params?: Readonly<Record<string, string>>;
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
  listing: Listing,
): Promise<ExitCode> {
  const { at, params = {}, columns, filters, query = {}, page: saves } = listing;
  const { rowOf = (item) => item, noteOf } = listing;
  refuseWords(spec, typed);
  const path = at
    .slice('GET '.length)
    .replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
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
    client.call(path, { query: { ...filtered, limit: most, cursor } });
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
  const shown = columns.filter((column) =>
    items.some((item) => !['', '[]', '{}'].includes(fieldOf(item, column))),
  );
  printTable([
    shown.map((column) => column.replace(/\.\d+$/, '').replace(/^.*\./, '')),
    ...items.map((item) => shown.map((column) => fieldOf(item, column))),
  ]);
}

// `holdfast list`, `audit`, `dead-letters`, `views`, `workers` and `leases` print pages.

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
  columns: wordsIn(
    'id pipeline release status holds submittedAt endedAt key tags failure.code failure.location',
  ),
  filters: {
    status: {
      value: 'a,b',
      help: `Only these statuses, separated by commas: ${STATUSES.join(', ')} (default all)`,
    },
    pipeline: { value: 'name', help: 'Only this pipeline (default all)' },
    tag: { value: 'tag', help: 'Only with this tag (default all)' },
    q: {
      value: 'text',
      help: 'Only with a key that begins with this; eight or more hexadecimal digits match ids instead (default all)',
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
    'stale-owner': {
      value: 'true|false',
      help: 'true: only running executions whose owner missed heartbeats, or has ended (default all)',
    },
    sort: {
      value: 'order',
      help: 'newest or oldest by submission, or ended: by end, the last one first (default newest; ended with --ended-from or --ended-to)',
    },
    hold: { value: 'hold', help: `Only with this hold: ${HOLDS.join(', ')} (default all)` },
    key: { value: 'key', help: 'Only with this key (default all)' },
    parent: { value: 'id', help: 'Only children of this execution (default all)' },
    code: {
      value: 'code',
      help: 'Only executions that failed for good with this code (default all)',
    },
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
    'ended-from': {
      value: 'time',
      help: 'Only ended at or after this time, as ISO 8601 (default all)',
    },
    'ended-to': {
      value: 'time',
      help: 'Only ended before this time, as ISO 8601 (default all)',
    },
  },
  more: { page: 'executions' },
});

export const auditCommand: CommandSpec = list({
  at: 'GET /v1/audit',
  usage: 'holdfast audit [--from 2026-11-17T02:00:00Z] [--to …] [--action cancel] [--actor …]',
  columns: ['at', 'actor', 'action', 'target.kind', 'target.id', 'reason'],
  filters: {
    from: { value: 'time', help: 'Only from this time on, as ISO 8601 (default all)' },
    to: { value: 'time', help: 'Only before this time, as ISO 8601 (default all)' },
    actor: {
      value: 'name',
      help: 'Only records of this actor, named as in the records (default all)',
    },
    action: { value: 'name', help: 'Only this action, such as cancel (default all)' },
    execution: {
      value: 'id',
      help: 'Only records about this execution and its questions (default all)',
    },
  },
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
  columns: wordsIn('execution pipeline release status code step at redrivenBy reason'),
  filters: {
    pipeline: { value: 'name', help: 'Only this pipeline (default all)' },
    code: { value: 'code', help: 'Only failures with this code (default all)' },
    step: { value: 'name', help: 'Only failures of this step (default all)' },
  },
});

export const workersCommand: CommandSpec = list({
  at: 'GET /v1/workers',
  usage: 'holdfast workers',
  columns: wordsIn(
    'id kind owner state work release version host pipelines inFlight.interactive inFlight.batch room openedAt beatAt remainingMs',
  ),
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

export const refusalsCommand: CommandSpec = list({
  at: 'GET /v1/refused-writes',
  usage: 'holdfast refusals [--execution <id>]',
  columns: [
    ...['execution', 'verb', 'owner', 'fence', 'newest', 'why', 'count'],
    ...['lateMs', 'transport', 'lastAt'],
  ],
  filters: { execution: { value: 'id', help: 'Only writes to this execution (default all)' } },
});

export const leasesCommand: CommandSpec = list({
  at: 'GET /v1/leases',
  usage: 'holdfast leases [--prefix tenant-7/] [--stale-owner true]',
  columns: ['key', 'state', 'owner', 'fence', 'since', 'freeInMs'],
  filters: {
    prefix: { value: 'prefix', help: 'Only keys that start with this (default all)' },
    'stale-owner': {
      value: 'true|false',
      help: 'true: only leases whose holder missed heartbeats (default all)',
    },
  },
});
