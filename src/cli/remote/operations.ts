// `holdfast cancel`, `pause`, `resume`, `signal`, `erase` and `redrive`: operations on an execution.

import type { HoldfastClient } from '../../client/client.ts';
import type { ExecutionMessage } from '../../protocol/messages/execution.ts';
import { formatInstant, systemClock, toInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import {
  type CommandSpec,
  type ExitCode,
  requiredText,
  type Typed,
  typedValue,
  UsageProblem,
  wordsOf,
} from '../command.ts';
import { print, printLine } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';

interface Done {
  readonly kind: string;
  readonly status: string;
}

const OUTCOME_TEXTS: Readonly<Record<string, string>> = {
  done: 'done',
  forwarded: 'forwarded to its worker, which acts on it soon',
  'no-change': 'nothing to change',
};

function printOutcome(typed: Typed, { kind, status }: Done): ExitCode {
  if (typed.isSet('json')) printLine({ kind, status });
  else print(`${OUTCOME_TEXTS[kind] ?? kind}; it is ${status}`);
  return 0;
}

type Verb = 'cancel' | 'pause' | 'resume';

const VERB_TEXTS: Readonly<Record<Verb, Readonly<Record<string, string>>>> = {
  cancel: { done: 'cancelled', forwarded: 'forwarded to its worker, which cancels it soon' },
  pause: { done: 'paused', forwarded: 'forwarded to its worker, which pauses it soon' },
  resume: { done: 'resumed' },
};

/** Reads the execution again, because the result has neither its holds nor its compensation. */
async function outcomeText(
  verb: Verb,
  { kind, status }: Done,
  read: () => Promise<ExecutionMessage>,
): Promise<string> {
  const text = VERB_TEXTS[verb][kind] ?? OUTCOME_TEXTS[kind] ?? kind;
  if (kind === 'forwarded' || (kind === 'done' && (verb === 'pause' || status === 'cancelled'))) {
    return text;
  }
  // The command has succeeded, so a failed read must not look like a failed command.
  const now = await read().catch(() => undefined);
  return `${text}; ${now === undefined ? `it is ${status}` : stateText(now)}`;
}

function stateText({ id, status, holds, compensating, readyAt }: ExecutionMessage): string {
  if (status === 'compensated') return 'its steps were undone';
  const hold = HOLDS.find((each) => holds.includes(each));
  if (hold !== undefined) {
    return `it is ${hold}${compensating ? `: run \`holdfast resume ${id}\` to undo its steps` : ''}`;
  }
  if (compensating) return 'its steps are being undone';
  if (status !== 'queued') return `it is ${status}`;
  if (holds.includes('concurrency-limit')) return 'it waits for a slot of its concurrency key';
  // Both are ISO 8601 in UTC, so they sort as text.
  const now = formatInstant(toInstant(systemClock.wallMs()));
  if (readyAt !== undefined && readyAt > now) return `it starts at ${readyAt}`;
  return 'it waits for a worker';
}

/** The holds that a resume removes. */
const HOLDS = ['blocked', 'paused'] as const;

const FORCE: CommandSpec['flags'][string] = {
  help: 'End it at once, also while a worker runs it, without cleanup and compensations',
};

function operation(verb: Verb): CommandSpec {
  const spec: CommandSpec = {
    usage: `holdfast ${verb} <id> [--reason "…"]${verb === 'cancel' ? ' [--force]' : ''} [--json]`,
    flags: {
      reason: { value: 'text', help: 'Reason, kept in the history (default none)' },
      ...(verb === 'cancel' && { force: FORCE }),
      ...CONNECTION_FLAGS,
    },
    async execute(typed) {
      const [id] = wordsOf(spec, typed, ['execution']);
      const { executions } = await clientFor(typed);
      const force = verb === 'cancel' && typed.isSet('force');
      const result = await executions[verb](id, typed.text('reason'), { force });
      if (typed.isSet('json')) return printOutcome(typed, result);
      print(await outcomeText(verb, result, () => executions.read(id)));
      return 0;
    },
  };
  return spec;
}

export const cancelCommand: CommandSpec = operation('cancel');
export const pauseCommand: CommandSpec = operation('pause');
export const resumeCommand: CommandSpec = operation('resume');

export const signalCommand: CommandSpec = {
  usage: 'holdfast signal <id> <name> [<value> | @file | -] [--key payment/7] [--json]',
  flags: {
    key: {
      value: 'key',
      help: 'Key of the signal: a second signal with it changes nothing (default none)',
    },
    ...CONNECTION_FLAGS,
  },
  async execute(typed) {
    const [id, name, given, more] = typed.words;
    if (id === undefined || name === undefined || more !== undefined) {
      throw new UsageProblem(
        `<id> and <name> are required, and at most one value. Usage: ${signalCommand.usage}`,
      );
    }
    const { executions } = await clientFor(typed);
    const key = typed.text('key');
    const value = await typedValue(given);
    return printOutcome(typed, await executions.signal(id, { name, ...present({ key }) }, value));
  },
};

export const eraseCommand: CommandSpec = {
  usage: 'holdfast erase <id> --reason "…" [--json]',
  flags: {
    reason: { value: 'text', help: 'Reason, kept in the audit', required: true },
    ...CONNECTION_FLAGS,
  },
  async execute(typed) {
    const [id] = wordsOf(eraseCommand, typed, ['execution']);
    const reason = requiredText(eraseCommand, typed, 'reason');
    const { executions } = await clientFor(typed);
    const erased = await executions.erase(id, reason);
    if (typed.isSet('json')) printLine(erased);
    else print(erasedText(erased));
    return 0;
  },
};

type EraseOutcome = Awaited<ReturnType<HoldfastClient['executions']['erase']>>;

function erasedText({ kind, id, at, by, pending }: EraseOutcome): string {
  if (kind === 'already-erased') return `nothing to erase; ${by} erased ${id} at ${at}`;
  if (pending === undefined) return `erased ${id}; its digests stay`;
  const { documents, values = 0 } = pending;
  const left = documents === true ? 'documents of the archive' : `${values} large value(s)`;
  return `erased ${id}, except ${left}; repeat this in 10 minutes`;
}

const MODES = ['forward', 'compensate'] as const;

export const redriveCommand: CommandSpec = {
  usage:
    'holdfast redrive <id> [--from <step>] [--mode forward|compensate] [--release v2] [--input <json>|@file|-] [--reason "…"]',
  flags: {
    from: { value: 'step', help: 'First step to run again (default the failed one)' },
    mode: { value: 'forward|compensate', help: 'Continue the work, or undo it (default forward)' },
    release: {
      value: 'name',
      help: 'Release to pin the new execution to (default the rollout decides)',
    },
    input: {
      value: 'json|@file|-',
      help: 'Input in place of the old one; results of earlier steps stay (default the old input)',
    },
    reason: { value: 'text', help: 'Reason, kept in the history (default none)' },
    ...CONNECTION_FLAGS,
  },
  execute: redrive,
};

async function redrive(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(redriveCommand, typed, ['execution']);
  const typedMode = typed.text('mode');
  const mode = MODES.find((each) => each === typedMode);
  if (mode !== typedMode)
    throw new UsageProblem(`--mode must be ${MODES.join(' or ')}; got "${typedMode}".`);
  const client = await clientFor(typed);
  const made = await client.executions.redrive(id, {
    ...present({
      ...{ mode, from: typed.text('from'), release: typed.text('release') },
      ...{ input: await typedValue(typed.text('input')), reason: typed.text('reason') },
    }),
  });
  if (typed.isSet('json')) printLine(made);
  else {
    const edit = typed.text('input') === undefined ? '' : ', with the given input';
    print(`${made.id} submitted; ${aimOf(typed, id)}${edit}`);
  }
  return 0;
}

function aimOf(typed: Typed, id: string): string {
  if (typed.text('mode') === 'compensate') return `it undoes the steps of ${id}`;
  const from = typed.text('from');
  return from === undefined
    ? `it continues at the failed step of ${id}`
    : `it repeats ${id} from step ${from}`;
}
