// `holdfast verify-log` checks lease logs for violated rules.

import { formatFence } from '../lease/fence.ts';
import type { Checked, Violation } from '../observe/index.ts';
import { showPlace, verifyLeaseLogs } from '../observe/index.ts';
import { type CommandSpec, type ExitCode, integerText, logsOf, type Typed } from './command.ts';
import { print, printJson, printProblem, progressOf, table } from './screen.ts';

export const verifyLogCommand: CommandSpec = {
  usage: 'holdfast verify-log <log> [<log> …] [--skew-ms 1000] [--json]',
  flags: {
    'skew-ms': {
      value: 'ms',
      help: 'Clock difference to tolerate, in milliseconds (default 1000)',
    },
    json: { help: 'Print JSON' },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const files = logsOf(verifyLogCommand, typed);
  const skewMs = integerText('skew-ms', typed.text('skew-ms'));
  const progress = new Map(files.map((file) => [file, progressOf(file)]));
  const verified = await verifyLeaseLogs(files, {
    ...(skewMs === undefined ? {} : { skewMs }),
    onProgress: (file, bytes) => progress.get(file)?.(bytes),
  });
  if (typed.isSet('json')) printJson(verified);
  if (verified.kind === 'unreadable') {
    if (!typed.isSet('json')) {
      for (const { place, problem } of verified.lines) {
        printProblem(`${showPlace(place)}: ${problem}`);
      }
      printProblem(
        'Nothing was checked: these lines are not entries of a lease log. Pass files that recordLeases wrote. [invalid-input]',
      );
    }
    return 2;
  }
  if (!typed.isSet('json')) {
    const violations = verified.kind === 'violated' ? verified.violations : [];
    for (const violation of violations) print(describe(violation));
    print(summary(verified.checked, violations.length));
  }
  if (verified.kind === 'empty') {
    printProblem('Nothing was checked: the logs have no reports and no events. [invalid-input]');
    return 2;
  }
  return verified.kind === 'clean' ? 0 : 1;
}

function describe({ rule, what, place, against, fence }: Violation): string {
  const also = against === undefined ? '' : `\n    against ${showPlace(against)}`;
  const shown = fence === undefined ? '' : ` [fence ${formatFence(fence)}]`;
  return `${showPlace(place)}: ${rule}${shown}\n    ${what}${also}\n`;
}

function summary(checked: Checked, violations: number): string {
  const rows = [
    ['events of the store', String(checked.events)],
    ['operations of holders', String(checked.operations)],
    ['keys', String(checked.keys)],
    ['terms', String(checked.terms)],
    ['takeovers after expiry', String(checked.takeovers)],
    ['checkpoints', String(checked.checkpoints)],
    ['violations', String(violations)],
  ];
  return [table(rows), ...checked.notes.map((note) => `note: ${note}`)].join('\n');
}
