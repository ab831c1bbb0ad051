// `holdfast submit` submits an execution of a pipeline or a template.

import { callOperation } from '../../client/calls.ts';
import type { Executions } from '../../client/executions.ts';
import type { ResultMessage } from '../../protocol/messages/execution.ts';
import type { RequestOf } from '../../protocol/messages/request.ts';
import type { SubmitBody } from '../../protocol/messages/submission.ts';
import { systemTimers, type Timers } from '../../support/timer.ts';
import {
  type CommandSpec,
  type ExitCode,
  integerText,
  listText,
  type Typed,
  typedValue,
  UsageProblem,
} from '../command.ts';
import { plain, print, printLine, printProblem } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';
import { showResult } from './show.ts';

export const submitCommand: CommandSpec = {
  usage:
    'holdfast submit <pipeline> [<input> | @file | -] [--key order/7] [--wait] [--json]\nholdfast submit --template <id>[@version] [<input> | @file | -]',
  flags: {
    template: {
      value: 'id[@version]',
      help: 'Submit by a template instead of a pipeline (default none)',
    },
    key: {
      value: 'key',
      help: 'Idempotency key: a second submit with it returns the same execution (default none)',
    },
    'if-key-taken': {
      value: 'join|refuse|reuse|replace',
      help: 'Reaction when an execution has the key: return it if the content is the same, refuse, take the key once it has ended, or cancel it (default join)',
    },
    lane: { value: 'lane', help: 'Priority class: interactive or batch (default interactive)' },
    tags: {
      value: 'a,b',
      help: 'Tags to find the execution by, separated by commas (default none)',
    },
    'delay-ms': { value: 'ms', help: 'Earliest start, in milliseconds from now (default 0)' },
    'deadline-ms': {
      value: 'ms',
      help: 'Time until the execution must have ended, in milliseconds from now (default none)',
    },
    'if-no-worker': {
      value: 'wait|refuse',
      help: 'Reaction when no live worker runs the pipeline (default wait)',
    },
    wait: { help: 'Wait for the end and print the result; exit with 1 unless it completed' },
    ...CONNECTION_FLAGS,
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const client = await clientFor(typed);
  const { executions } = client;
  // Not `executions.submit`, which would turn the printed warning into a Node warning.
  const submitted = await callOperation(client, 'POST /v1/executions', await bodyOf(typed));
  if (typed.isSet('json')) printLine(submitted);
  else print(`${submitted.id} ${submitted.existing ? 'was submitted before' : 'submitted'}`);
  if (submitted.warning !== undefined)
    printProblem(plain(`${submitted.warning.detail} [${submitted.warning.code}]`));
  if (!typed.isSet('wait')) return 0;
  return showResult(await waitedFor(executions, submitted.id), typed.isSet('json'));
}

/** Long enough for a running worker to claim it. */
const FIRST_POLL_MS = 5_000;
const POLL_MS_MAX = 60_000;

async function waitedFor(executions: Executions, id: string): Promise<ResultMessage> {
  const over = new AbortController();
  const parts = { executions, timers: systemTimers, print: printProblem, over: over.signal };
  void printWaiting(parts, id);
  try {
    return await executions.result(id);
  } finally {
    over.abort();
  }
}

interface WaitingParts {
  readonly executions: Pick<Executions, 'explain'>;
  readonly timers: Pick<Timers, 'pause'>;
  /** Must not write to the stream of the result. */
  readonly print: (line: string) => void;
  readonly over: AbortSignal;
}

/** Prints the reason for the wait whenever it changes. The interval grows. */
export async function printWaiting(parts: WaitingParts, id: string): Promise<void> {
  const { executions, timers, print, over } = parts;
  let printed: string | undefined;
  for (let ms = FIRST_POLL_MS; ; ms = Math.min(2 * ms, POLL_MS_MAX)) {
    await timers.pause(ms, over);
    // Only a hint: if it fails, keep waiting for the result.
    const explained = over.aborted
      ? undefined
      : await executions.explain(id).catch(() => undefined);
    if (over.aborted) return;
    if (explained === undefined || explained.code === 'ended') continue;
    const { sentence, advice = '' } = explained;
    if (sentence === printed) continue;
    print(plain(`${sentence} ${advice}`.trim()));
    if (printed === undefined)
      print(`Ctrl-C only stops waiting. To cancel the execution, run "holdfast cancel ${id}".`);
    printed = sentence;
  }
}

async function bodyOf(typed: Typed): Promise<RequestOf<'POST /v1/executions'>> {
  const template = templateOf(typed.text('template'));
  const [pipeline, given, ...more] =
    template === undefined ? typed.words : [undefined, ...typed.words];
  if (pipeline === undefined && template === undefined) {
    throw new UsageProblem(`<pipeline> is required. Usage: ${submitCommand.usage}`);
  }
  if (more.length > 0) {
    throw new UsageProblem(`Unexpected argument "${more[0]}". Put the input in quotes.`);
  }
  return {
    pipeline,
    template,
    input: await typedValue(given),
    key: typed.text('key'),
    ifKeyTaken: typed.text('if-key-taken') as SubmitBody['ifKeyTaken'],
    lane: typed.text('lane') as SubmitBody['lane'],
    tags: listText(typed.text('tags')),
    delayMs: integerText('delay-ms', typed.text('delay-ms')),
    deadlineMs: integerText('deadline-ms', typed.text('deadline-ms')),
    ifNoWorker: ifNoWorker(typed.text('if-no-worker')),
  };
}

function templateOf(text: string | undefined): SubmitBody['template'] {
  if (text === undefined) return undefined;
  const [, id = text, version] = /^(.+)@(\d{1,9})$/.exec(text) ?? [];
  return { id, ...(version === undefined ? {} : { version: Number(version) }) };
}

function ifNoWorker(choice: string | undefined): SubmitBody['ifNoWorker'] {
  if (choice === undefined || choice === 'wait' || choice === 'refuse') return choice;
  throw new UsageProblem(`--if-no-worker must be wait or refuse; got "${choice}".`);
}
