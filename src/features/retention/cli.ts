// `holdfast archive list|search|get|verify|run` works with ended executions that retention removed.

import { writeFile } from 'node:fs/promises';
import {
  type CommandSpec,
  type ExitCode,
  integerText,
  type Typed,
  UsageProblem,
  unknown,
} from '../../cli/command.ts';
import { CONNECTION_FLAGS, clientFor, projectHint } from '../../cli/remote/connection.ts';
import { PAGE_FLAGS, printRows } from '../../cli/remote/pages.ts';
import { printFields } from '../../cli/remote/show.ts';
import { print, printLine, printProblem, printTable } from '../../cli/screen.ts';
import { callOperation } from '../../client/calls.ts';
import type { HoldfastClient } from '../../client/client.ts';
import type { ArchivedMessage } from './messages.ts';

const COLUMNS = ['id', 'pipeline', 'status', 'endedAt', 'archivedAt', 'key', 'tags'];
const FILTERS = ['pipeline', 'status', 'tag', 'from', 'to'] as const;

type Run = (client: HoldfastClient, typed: Typed, rest: readonly string[]) => Promise<ExitCode>;

const COMMANDS: Readonly<Record<string, Run>> = {
  list: (client, typed, rest) => list(client, typed, none(rest)),
  search: (client, typed, rest) => list(client, typed, { text: some(rest, 'words').join(' ') }),
  get,
  verify,
  run,
};

export const archiveCommand: CommandSpec = {
  usage: [
    'holdfast archive list [--pipeline order] [--status failed] [--tag vip] [--from …] [--to …]',
    'holdfast archive search <words of the key>',
    'holdfast archive get <id> [--document report.md [--out …]]',
    'holdfast archive verify <id> | --all',
    'holdfast archive run',
  ].join('\n'),
  choices: Object.keys(COMMANDS),
  flags: {
    pipeline: { value: 'name', help: 'list, search: Only this pipeline (default all)' },
    status: {
      value: 'status',
      help: 'list, search: completed, failed, cancelled, quarantined or compensated (default all)',
    },
    tag: { value: 'tag', help: 'list, search: Only with this tag (default all)' },
    from: {
      value: 'time',
      help: 'list, search: Ended at this time or later, such as 2026-11-01T00:00:00Z (default any)',
    },
    to: { value: 'time', help: 'list, search: Ended before this time (default any)' },
    document: { value: 'name', help: 'get: Print this document of the execution (default none)' },
    out: { value: 'path', help: 'get --document: File to write (default standard output)' },
    ...PAGE_FLAGS,
    ...CONNECTION_FLAGS,
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [name, ...rest] = typed.words;
  if (name === undefined) {
    const names = Object.keys(COMMANDS).join(', ');
    throw new UsageProblem(`Pass one of ${names}. Usage: ${archiveCommand.usage}`);
  }
  const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (run === undefined) throw unknown('command of archive', name, Object.keys(COMMANDS));
  return run(await clientFor(typed), typed, rest);
}

function none(rest: readonly string[]): { readonly text?: string } {
  if (rest.length === 0) return {};
  throw new UsageProblem(`Unexpected argument "${rest[0]}". Usage: ${archiveCommand.usage}`);
}

function some(rest: readonly string[], what: string): readonly string[] {
  if (rest.length > 0) return rest;
  throw new UsageProblem(`<${what}> is required. Usage: ${archiveCommand.usage}`);
}

function one(rest: readonly string[]): string {
  const [id = ''] = some(rest, 'execution');
  none(rest.slice(1));
  return id;
}

async function list(
  client: HoldfastClient,
  typed: Typed,
  search: { readonly text?: string },
): Promise<ExitCode> {
  let last: string | undefined;
  let shown = 0;
  for await (const page of pagesOf(client, typed, search)) {
    if (typed.isSet('json')) for (const item of page.items) printLine(item);
    else if (page.items.length > 0) printRows(page.items, COLUMNS);
    shown += page.items.length;
    last = page.cursor;
  }
  if (last !== undefined) printProblem(`There are more. Pass --cursor ${last}, or --all.`);
  else if (shown === 0 && !typed.isSet('json')) await printNone(typed, search);
  return 0;
}

async function printNone(typed: Typed, search: { readonly text?: string }): Promise<void> {
  const isFiltered = Object.keys(search).length > 0 || FILTERS.some((name) => typed.text(name));
  const hint = await projectHint(typed);
  const none = isFiltered
    ? 'No archived execution matches. List all: holdfast archive list'
    : NOTHING_ARCHIVED;
  printProblem(hint === undefined ? none : `${none}\n${hint}`);
}

const NOTHING_ARCHIVED = [
  'Nothing is archived. The coordinator archives ended executions after their retention:',
  '  1. set the archive:    holdfast serve --archive-folder ./archive   (or --archive-url … for S3)',
  '  2. set the retention:  holdfast projects put <name> --keep completed=30d,failed=90d',
  '  3. wait, or run:       holdfast archive run',
].join('\n');

type Found = Awaited<ReturnType<HoldfastClient['archive']['list']>>;

async function* pagesOf(
  client: HoldfastClient,
  typed: Typed,
  search: { readonly text?: string },
): AsyncGenerator<Found> {
  const limit = integerText('limit', typed.text('limit'), 1);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, typed.text(name)]));
  let cursor = typed.text('cursor');
  do {
    const query = { ...filters, ...search, limit, cursor };
    const page = await callOperation(client, 'GET /v1/archive', query);
    yield page;
    cursor = page.cursor;
  } while (typed.isSet('all') && cursor !== undefined);
}

async function get(
  client: HoldfastClient,
  typed: Typed,
  rest: readonly string[],
): Promise<ExitCode> {
  const id = one(rest);
  const name = typed.text('document');
  if (name !== undefined) {
    const bytes = await client.archive.document(id, name);
    const file = typed.text('out');
    if (file === undefined && process.stdout.isTTY) print(Buffer.from(bytes).toString());
    else if (file === undefined) process.stdout.write(bytes);
    else await writeFile(file, bytes, { mode: 0o600 });
    return 0;
  }
  const found = await client.archive.get(id);
  if (typed.isSet('json')) printLine(found);
  else {
    const { documents, ...record } = found;
    printFields(record);
    print('');
    printTable([
      ['document', 'bytes', 'title'],
      ...documents.map((each) => [each.name, String(each.bytes), each.title ?? '']),
    ]);
  }
  return 0;
}

/** Verifies one execution or all archived ones, and reads every document. */
async function verify(
  client: HoldfastClient,
  typed: Typed,
  rest: readonly string[],
): Promise<ExitCode> {
  const isAll = typed.isSet('all') && rest.length === 0;
  let [checked, broken, erased] = [0, 0, 0];
  const check = async ({ id }: Pick<ArchivedMessage, 'id'>): Promise<void> => {
    const found = await client.archive.verify(id);
    checked += 1;
    if (found.kind === 'damaged') broken += 1;
    if (found.kind === 'erased') erased += 1;
    if (typed.isSet('json')) printLine({ id, ...found });
    else if (found.kind === 'damaged') {
      for (const { document, why } of found.damages) print(`${id} ${document} is ${why}`);
    }
    progress(`${checked} checked, ${broken} damaged`);
  };
  if (isAll) {
    for await (const page of pagesOf(client, typed, {})) {
      for (const item of page.items) await check(item);
    }
  } else await check({ id: one(rest) });
  endProgress();
  const gone = erased === 0 ? '' : `, ${erased} erased`;
  if (!typed.isSet('json')) print(`${checked} checked, ${broken} damaged${gone}`);
  return broken === 0 ? 0 : 1;
}

/** Repeats pages until nothing more is due. */
async function run(
  client: HoldfastClient,
  typed: Typed,
  rest: readonly string[],
): Promise<ExitCode> {
  none(rest);
  const total = { due: 0, archived: 0, removed: 0, failed: 0 };
  const limit = integerText('limit', typed.text('limit'), 1);
  let cursor: string | undefined;
  do {
    const page = await client.archive.run({ cursor, limit });
    for (const name of ['due', 'archived', 'removed', 'failed'] as const) total[name] += page[name];
    progress(`${total.removed} removed, ${total.archived} archived, ${total.failed} failed`);
    cursor = page.cursor;
  } while (cursor !== undefined);
  endProgress();
  if (typed.isSet('json')) printLine(total);
  else print(`${total.removed} removed, ${total.archived} archived, ${total.failed} failed`);
  return total.failed === 0 ? 0 : 1;
}

/** Prints on a terminal only. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}`);
}

function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\n');
}
