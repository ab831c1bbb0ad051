// holdfast watch: what happens to an execution, as it happens, until it has ended.

import type { Executions, HoldfastClient } from '../../client/client.ts';
import type { HistoryMessage, ResultMessage } from '../../protocol/messages/execution.ts';
import { systemTimers } from '../../support/timer.ts';
import { type CommandSpec, type ExitCode, type Typed, wordsOf } from '../command.ts';
import { cut, plain, print, printLine } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';
import { eventRow, shownValue, showResult } from './show.ts';

export const watchCommand: CommandSpec = {
  usage: 'holdfast watch <id>',
  flags: CONNECTION_FLAGS,
  execute,
};

/** How often history is asked for what is new; the end is waited for, not asked for. */
const LOOK_MS = 500;
const PAGE_MAX = 1_000;

async function execute(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(watchCommand, typed, ['execution']);
  const client = await clientFor(typed);
  const result = await follow(client, id, {
    event: typed.isSet('json') ? printLine : printEvent,
    progress: progressLine(),
  });
  return showResult(result, typed.isSet('json'));
}

interface Screen {
  event(event: HistoryMessage): void;
  progress(text: string): void;
}

async function follow(client: HoldfastClient, id: string, screen: Screen): Promise<ResultMessage> {
  const { executions } = client;
  // One that is not known is refused here, before anything is waited for.
  await executions.read(id);
  const ended = new AbortController();
  const result = executions.result(id).finally(() => ended.abort());
  // It is awaited below; a fault of a look must not leave it unhandled.
  result.catch(() => undefined);
  let after = 0;
  while (!ended.signal.aborted) {
    after = await showNew(executions, { id, after, screen });
    screen.progress(await progressOf(executions, id));
    await systemTimers.pause(LOOK_MS, ended.signal);
  }
  await showNew(executions, { id, after, screen });
  screen.progress('');
  return result;
}

interface Looking {
  readonly id: string;
  readonly after: number;
  readonly screen: Screen;
}

async function showNew(executions: Executions, { id, after, screen }: Looking): Promise<number> {
  let seen = after;
  for (;;) {
    const events = await executions.history(id, { after: seen, limit: PAGE_MAX });
    if (events.length > 0) screen.progress('');
    for (const event of events) screen.event(event);
    seen = events.at(-1)?.seq ?? seen;
    if (events.length < PAGE_MAX) return seen;
  }
}

async function progressOf(executions: Executions, id: string): Promise<string> {
  if (process.stderr.isTTY !== true) return '';
  const { status, progress, seq } = await executions.read(id);
  return `${status} · ${seq} events${progress === undefined ? '' : ` · ${shownValue(progress)}`}`;
}

const WIDTHS = [12, 16, 20];

function printEvent(event: HistoryMessage): void {
  const cells = eventRow(event).map((cell, at) => plain(cell).padEnd(WIDTHS[at] ?? 0));
  const width = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
  print(cut(cells.join('  ').trimEnd(), width));
}

/** The last line of a terminal, written over and over; nothing where there is none. */
function progressLine(): (text: string) => void {
  const { stderr } = process;
  if (stderr.isTTY !== true) return () => undefined;
  return (text) => stderr.write(`\r\u001b[K${cut(plain(text), stderr.columns)}`);
}
