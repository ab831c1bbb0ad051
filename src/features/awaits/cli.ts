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
import { callOperation } from '../../client/calls.ts';

const FILTERS = ['execution', 'name', 'assignee', 'sort'] as const;

export const answerCommand: CommandSpec = {
  usage:
    'holdfast answer [--assignee ann] [--limit 100] [--cursor …] [--all] [--json]\nholdfast answer <id> <value> | @file | -\nholdfast answer <execution> <name> <value> | @file | -',
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
    ...PAGE_FLAGS,
    ...CONNECTION_FLAGS,
  },
  execute,
};

const COLUMNS = [
  ...['id', 'unit.name', 'unit.pipeline', 'execution', 'assignee', 'unit.dueAt', 'request'],
];

async function execute(typed: Typed): Promise<ExitCode> {
  const { words } = typed;
  const [id, second] = words;
  if (id === undefined) {
    return showPages(answerCommand, typed, {
      at: 'GET /v1/awaits',
      columns: COLUMNS,
      filters: FILTERS,
    });
  }
  if (second === undefined || words.length > 3) {
    throw new UsageProblem(
      `Pass one id and one answer, or an execution, a name and an answer. Usage: ${answerCommand.usage}`,
    );
  }
  const client = await clientFor(typed);
  const value = await typedValue(words.at(-1) ?? '');
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
