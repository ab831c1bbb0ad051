// `holdfast update`, `holdfast query` and `holdfast published`.

import {
  type CommandSpec,
  type ExitCode,
  integerText,
  typedValue,
  UsageProblem,
  wordsOf,
} from '../../cli/command.ts';
import { CONNECTION_FLAGS, clientFor } from '../../cli/remote/connection.ts';
import { print, printLine, printProblem } from '../../cli/screen.ts';
import { present } from '../../support/options.ts';

/** Fails for a value that the coordinator cannot read. */
function showValue(
  id: string,
  found: { readonly value?: unknown; readonly sealed?: boolean },
  isJson: boolean,
): ExitCode {
  if (isJson) printLine(found);
  else if (found.sealed !== true) printLine(found.value ?? null);
  else {
    printProblem(
      `The coordinator cannot read the value: it is encrypted, or was erased. If holdfast get ${id} shows no erasure, read it in a process that has your codec.`,
    );
  }
  return found.sealed === true ? 1 : 0;
}

export const updateCommand: CommandSpec = {
  usage:
    'holdfast update <id> <name> [<value> | @file | -] [--key add/1] [--wait-ms 10000] [--json]',
  flags: {
    key: {
      value: 'key',
      help: 'Key of the update: a second update with it gets the same reply (default none)',
    },
    'wait-ms': { value: 'ms', help: 'Longest wait for the reply, in milliseconds (default 10000)' },
    ...CONNECTION_FLAGS,
  },
  async execute(typed) {
    const [id, name, given, more] = typed.words;
    if (id === undefined || name === undefined || more !== undefined) {
      throw new UsageProblem(
        `<id> and <name> are required, and at most one value. Usage: ${updateCommand.usage}`,
      );
    }
    const { executions } = await clientFor(typed);
    const key = typed.text('key');
    const waitMs = integerText('wait-ms', typed.text('wait-ms'));
    const value = await typedValue(given);
    const result = await executions.update(id, { name, value, ...present({ key, waitMs }) });
    if (result.kind === 'replied') return showValue(id, result, typed.isSet('json'));
    if (typed.isSet('json')) printLine(result);
    else if (result.kind === 'pending') {
      printProblem(`No reply yet. Send it again with --key ${result.key} to wait for it.`);
    } else printProblem(`${result.kind}: ${result.reason ?? `it is ${result.status}`}`);
    return 1;
  },
};

export const publishedCommand: CommandSpec = {
  usage: 'holdfast published <id> <name> [--wait-ms 0] [--json]',
  flags: {
    'wait-ms': { value: 'ms', help: 'Longest wait for a value, in milliseconds (default 0)' },
    ...CONNECTION_FLAGS,
  },
  async execute(typed) {
    const [id, name] = wordsOf(publishedCommand, typed, ['execution', 'name']);
    const { executions } = await clientFor(typed);
    const waitMs = integerText('wait-ms', typed.text('wait-ms'));
    const found = await executions.published(id, name, present({ waitMs }));
    if (found === undefined) {
      print(`The execution has not published ${JSON.stringify(name)}.`);
      return 1;
    }
    return showValue(id, found, typed.isSet('json'));
  },
};

export const queryCommand: CommandSpec = {
  usage: 'holdfast query <id> <name> [<value> | @file | -] [--json]',
  flags: CONNECTION_FLAGS,
  async execute(typed) {
    const [id, name, given, more] = typed.words;
    if (id === undefined || name === undefined || more !== undefined) {
      throw new UsageProblem(
        `<id> and <name> are required, and at most one value. Usage: ${queryCommand.usage}`,
      );
    }
    const { executions } = await clientFor(typed);
    const answer = await executions.query(id, name, await typedValue(given));
    return showValue(id, answer, typed.isSet('json'));
  },
};
