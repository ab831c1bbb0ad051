// The watchdog of `holdfast lease run`, a process of its own. It starts the program, and kills it
// when the authority of the lease ends or the runner is gone (ADR 0067). It leads the process group
// of the program and its children, so one signal ends them all and the watchdog too. Its clocks are
// those of the runner: both clocks of a machine are the same for all its processes.

import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { systemTimers } from '../../support/timer.ts';
import {
  type Deadline,
  FORWARDED_SIGNALS,
  leftOf,
  type WatchdogOrder,
  type WatchdogReport,
} from './program.ts';

/** The runner's end of this pipe is the only one, so it closes with the runner. */
const PIPE = 3;
/** After a suspend, a longer timer would fire late: only the wall clock counts a suspend. */
const LOOK_MS_MAX = 200;

watch();

function watch(): void {
  for (const signal of FORWARDED_SIGNALS) process.on(signal, () => undefined);
  let deadline: Deadline | undefined;
  const pipe = new Socket({ fd: PIPE });
  pipe.on('error', killGroup).on('close', killGroup);
  const lines = createInterface({ input: pipe }).on('error', killGroup);
  lines.on('line', (line) => {
    const order = JSON.parse(line) as WatchdogOrder;
    deadline = order.deadline;
    if (leftOf(deadline) <= 0) killGroup();
    if (order.command !== undefined) startProgram(order.command);
  });
  const look = (): void => {
    const leftMs = deadline === undefined ? LOOK_MS_MAX : leftOf(deadline);
    if (leftMs <= 0) killGroup();
    systemTimers.after(Math.min(leftMs, LOOK_MS_MAX), look);
  };
  look();
}

function startProgram([file, ...words]: readonly [string, ...string[]]): void {
  const program = spawn(file, words, { stdio: 'inherit' });
  program.once('spawn', () => report({ kind: 'started' }));
  program.once('error', (error: NodeJS.ErrnoException) => {
    report({ kind: 'not-started', error: error.code ?? error.message });
    killGroup();
  });
  // Children that the program left behind must not outlive the lease either.
  program.once('exit', (code, signal) => {
    report({ kind: 'ended', code, signal });
    killGroup();
  });
}

/** Written at once, because the watchdog may end in the next line. */
function report(line: WatchdogReport): void {
  try {
    writeSync(PIPE, `${JSON.stringify(line)}\n`);
  } catch {
    // The runner is gone.
    killGroup();
  }
}

function killGroup(): never {
  process.kill(-process.pid, 'SIGKILL');
  // Known platforms deliver the signal before this returns. If not, do not continue.
  for (;;);
}
