// `holdfast answer` lists open questions, or answers one.

import {
  type CommandSpec,
  type ExitCode,
  type Typed,
  typedValue,
  UsageProblem,
} from '../../cli/command.ts';
import { CONNECTION_FLAGS, clientFor } from '../../cli/remote/connection.ts';
import { PAGE_FLAGS, showPages } from '../../cli/remote/pages.ts';
import { print, printLine } from '../../cli/screen.ts';
import { type Calls, callOperation } from '../../client/calls.ts';

const FILTERS = ['execution', 'name', 'assignee', 'sort'] as const;

export const answerCommand: CommandSpec = {
  usage:
    'holdfast answer [--assignee ann] [--queued] [--limit 100] [--cursor …] [--all] [--json]\nholdfast answer <id> [<id> …] <value> | @file | -\nholdfast answer <execution> <name> <value> | @file | -',
  flags: {
    execution: { value: 'id', help: 'List only questions of this execution (default all)' },
    name: { value: 'name', help: 'List only questions with this name (default all)' },
    assignee: {
      value: 'person',
      help: 'List only questions assigned to this person (default all)',
    },
    sort: {
      value: 'order',
      help: 'newest: newest executions first; due: next due first (default newest)',
    },
    queued: {
      help: 'List only questions that wait for a slot of their concurrency key (default open ones)',
    },
    ...PAGE_FLAGS,
    ...CONNECTION_FLAGS,
  },
  execute,
};

/** A question has no such name, so `<execution> <name> <value>` stays clear. */
const QUESTION_ID = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|correlation:)/;

const COLUMNS = [
  ...['id', 'unit.name', 'unit.pipeline', 'execution', 'unit.answered', 'unit.needed'],
  ...['assignee', 'unit.dueAt', 'request'],
];

const QUEUED_COLUMNS = [...COLUMNS.slice(0, -1), 'unit.concurrency.key'];

async function execute(typed: Typed): Promise<ExitCode> {
  const { words } = typed;
  const [id, second] = words;
  if (id === undefined) {
    return showPages(answerCommand, typed, {
      at: 'GET /v1/awaits',
      columns: typed.isSet('queued') ? QUEUED_COLUMNS : COLUMNS,
      filters: FILTERS,
      query: typed.isSet('queued') ? { queued: true } : {},
    });
  }
  const ids = words.slice(0, -1);
  const areIds = ids.slice(1).every((word) => QUESTION_ID.test(word));
  if (second === undefined || (words.length > 3 && !areIds)) {
    throw new UsageProblem(
      `Pass ids and one answer, or an execution, a name and an answer. Usage: ${answerCommand.usage}`,
    );
  }
  const client = await clientFor(typed);
  const value = await typedValue(words.at(-1) ?? '');
  if (ids.length > 1 && areIds) return answerAll(typed, client, { ids, value });
  const answered =
    words.length === 2
      ? await callOperation(client, 'POST /v1/awaits/:id/answer', { id, value })
      : await callOperation(client, 'POST /v1/executions/:id/awaits/:name/answer', {
          ...{ id, name: second, value },
        });
  if (typed.isSet('json')) printLine(answered);
  else {
    const { kind, settled } = answered;
    const how = kind === 'existing' ? 'It had this answer before' : 'Answered';
    print(`${how}${settled ? '. The execution continues with it' : ''}`);
  }
  return 0;
}

/** Fails if an answer was refused. The others are stored. */
async function answerAll(
  typed: Typed,
  client: Calls,
  given: { readonly ids: string[]; readonly value: unknown },
): Promise<ExitCode> {
  const sent = await callOperation(client, 'POST /v1/awaits/answers', given);
  const { items } = sent;
  if (typed.isSet('json')) printLine(sent);
  for (const [index, { kind, detail }] of typed.isSet('json') ? [] : items.entries()) {
    print(`${given.ids[index]}: ${detail ?? kind}`);
  }
  return items.some(({ kind }) => kind === 'refused') ? 1 : 0;
}
