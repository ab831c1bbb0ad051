// The watchdog of `holdfast lease run`, a process of its own. It starts the program, and kills it
// when the authority of the lease ends or the runner is gone (ADR 0067). It leads the process
// session of the program and its children. Its clocks are those of the runner: both clocks of a
// machine are the same for all its processes.

import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { systemTimers } from '../../support/timer.ts';
import { killSession } from './process-session.ts';
import {
  type Deadline,
  FORWARDED_SIGNALS,
  leftOf,
  ORDERS,
  REPORTS,
  type WatchdogOrder,
  type WatchdogReport,
} from './program.ts';

/** After a suspend, a longer timer would fire late: only the wall clock counts a suspend. */
const LOOK_MS_MAX = 200;

watch();

function watch(): void {
  for (const signal of FORWARDED_SIGNALS) process.on(signal, () => undefined);
  let deadline: Deadline | undefined;
  const orders = new Socket({ fd: ORDERS });
  orders.on('error', killAll).on('close', killAll);
  const lines = createInterface({ input: orders }).on('error', killAll);
  lines.on('line', (line) => {
    const order = JSON.parse(line) as WatchdogOrder;
    deadline = order.deadline;
    if (leftOf(deadline) <= 0) killAll();
    if (order.command !== undefined) startProgram(order.command);
  });
  const look = (): void => {
    const leftMs = deadline === undefined ? LOOK_MS_MAX : leftOf(deadline);
    if (leftMs <= 0) killAll();
    systemTimers.after(Math.min(leftMs, LOOK_MS_MAX), look);
  };
  look();
}

function startProgram([file, ...words]: readonly [string, ...string[]]): void {
  const program = spawn(file, words, { stdio: 'inherit' });
  program.once('spawn', () => report({ kind: 'started' }));
  program.once('error', (error: NodeJS.ErrnoException) => {
    report({ kind: 'not-started', error: error.code ?? error.message });
    killAll();
  });
  // Children that the program left behind must not outlive the lease either.
  program.once('exit', (code, signal) => {
    report({ kind: 'ended', code, signal });
    killAll();
  });
}

/** Written at once, because the watchdog may end in the next line. */
function report(line: WatchdogReport): void {
  try {
    writeSync(REPORTS, `${JSON.stringify(line)}\n`);
  } catch {
    // The runner is gone.
    killAll();
  }
}

function killAll(): never {
  killSession(process.pid);
  // Known platforms deliver the signal before this returns. If not, do not continue.
  for (;;);
}
