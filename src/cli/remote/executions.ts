// holdfast get, history, explain: one execution, looked at.

import type { ResultMessage } from '../../protocol/messages/execution.ts';
import { type CommandSpec, type ExitCode, type Typed, wholeText, wordsOf } from '../command.ts';
import { plain, print, printLine, printTable } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';
import { eventRow, failureNote, isLog, printFields } from './show.ts';

export const getCommand: CommandSpec = {
  usage: 'holdfast get <id>',
  flags: CONNECTION_FLAGS,
  execute: get,
};

async function get(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(getCommand, typed, ['execution']);
  const client = await clientFor(typed);
  const execution = await client.executions.read(id);
  const { output, failure } = await client.call<ResultMessage>(
    `/v1/executions/${encodeURIComponent(id)}/result`,
  );
  const all = {
    ...execution,
    ...(output === undefined ? {} : { output }),
    ...(failure === undefined ? {} : { failure }),
  };
  if (typed.isSet('json')) printLine(all);
  else printFields({ ...all, ...(failure && { failure: failureNote(failure) }) });
  return 0;
}

export const historyCommand: CommandSpec = {
  usage: 'holdfast history <id> [--log] [--after <seq>] [--limit 100]',
  flags: {
    log: { type: 'boolean', what: 'only the lines of ctx.log' },
    after: { type: 'string', what: 'goes on after this number' },
    limit: { type: 'string', what: 'how many; all unless said' },
    ...CONNECTION_FLAGS,
  },
  execute: history,
};

const PAGE_MAX = 1_000;

async function history(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(historyCommand, typed, ['execution']);
  let after = wholeText('after', typed.text('after')) ?? 0;
  let left = wholeText('limit', typed.text('limit'), 1) ?? Number.POSITIVE_INFINITY;
  const { executions } = await clientFor(typed);
  while (left > 0) {
    const limit = Math.min(left, PAGE_MAX);
    const events = await executions.history(id, { after, limit });
    const shown = typed.isSet('log') ? events.filter(({ kind }) => isLog(kind)) : events;
    if (typed.isSet('json')) for (const event of shown) printLine(event);
    else if (shown.length > 0) {
      printTable(shown.map((event) => [String(event.seq), ...eventRow(event)]));
    }
    after = events.at(-1)?.seq ?? after;
    left = events.length < limit ? 0 : left - events.length;
  }
  return 0;
}

export const explainCommand: CommandSpec = {
  usage: 'holdfast explain <id>',
  flags: CONNECTION_FLAGS,
  execute: explain,
};

async function explain(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(explainCommand, typed, ['execution']);
  const { executions } = await clientFor(typed);
  const explained = await executions.explain(id);
  if (typed.isSet('json')) printLine(explained);
  else {
    const { sentence, advice, storeProblem } = explained;
    const said = [sentence, advice, storeProblem?.sentence, storeProblem?.advice];
    for (const line of said) if (line !== undefined) print(plain(line));
  }
  return 0;
}
