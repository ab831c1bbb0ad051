// A program under its watchdog, as the runner sees it.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { elapsedMs, type Moment, momentOf } from '../../lease/authority.ts';
import { systemClock } from '../../support/clock.ts';
import { environmentWith } from '../../support/environment.ts';
import { killSession, signalSession } from './process-session.ts';

/** Signals that the runner sends to the group. The watchdog must outlive them. */
export const FORWARDED_SIGNALS = [
  ...(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const),
] as const;

/** The program may run for `leftMs` from that moment. */
export interface Deadline {
  readonly from: Moment;
  readonly leftMs: number;
}

/** A line from the runner. The first one has the command. */
export interface WatchdogOrder {
  readonly deadline: Deadline;
  readonly command?: readonly [string, ...string[]];
}

/** A line to the runner. */
export type WatchdogReport =
  | { readonly kind: 'started' }
  | { readonly kind: 'not-started'; readonly error: string }
  | {
      readonly kind: 'ended';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

export function leftOf({ from, leftMs }: Deadline): number {
  return leftMs - elapsedMs(from, momentOf(systemClock));
}

/** `killed`: the runner or the watchdog killed it, or the watchdog died. */
export type ProgramEnd =
  | Exclude<WatchdogReport, { readonly kind: 'started' }>
  | { readonly kind: 'killed' };

export interface Program {
  /** Resolves when the program and its children are dead, or have a SIGKILL pending. */
  readonly ended: Promise<ProgramEnd>;
  /** Moves the time at which the watchdog kills it. */
  extend(deadline: Deadline): void;
  /** Sends a signal to the program and its children, as soon as it has started. */
  signal(name: NodeJS.Signals): void;
  kill(): void;
}

/** The watchdog's ends of its pipes. Each closes with the runner. */
export const ORDERS = 3;
/** Separate, because an order that fails closes its pipe with all that the runner has not read. */
export const REPORTS = 4;

export function startProgram(given: {
  readonly command: readonly [string, ...string[]];
  readonly deadline: Deadline;
  /** Variables in addition to those of this process. */
  readonly env: Readonly<Record<string, string>>;
}): Program {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const file = fileURLToPath(new URL(`./watchdog.${extension}`, import.meta.url));
  const watchdog = spawn(process.execPath, [...process.execArgv, file], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe', 'pipe'],
    // A session and a group of its own, with the program and its children in it.
    detached: true,
    env: { ...environmentWith(''), ...given.env },
  });
  const orders = watchdog.stdio[ORDERS] as Duplex;
  const reports = watchdog.stdio[REPORTS] as Duplex;
  const send = (order: WatchdogOrder): void => void orders.write(`${JSON.stringify(order)}\n`);
  // Absent once all are dead, because the system may reuse the number.
  let leader = watchdog.pid;
  const sendSignal = (name: NodeJS.Signals): void => {
    if (leader !== undefined) signalSession(leader, name);
  };
  const kill = (): void => {
    if (leader !== undefined) killSession(leader);
  };
  const pending: NodeJS.Signals[] = [];
  let hasStarted = false;
  let end: ProgramEnd = { kind: 'killed' };
  // The watchdog may be gone. Its exit shows that. A reader of lines repeats errors of its input.
  for (const pipe of [orders, reports]) pipe.on('error', () => undefined);
  const lines = createInterface({ input: reports }).on('error', () => undefined);
  lines.on('line', (line) => {
    const report = JSON.parse(line) as WatchdogReport;
    if (report.kind !== 'started') {
      end = report;
      return;
    }
    hasStarted = true;
    for (const name of pending) sendSignal(name);
  });
  send({ deadline: given.deadline, command: given.command });
  return {
    ended: new Promise((resolve, reject) => {
      watchdog.once('error', reject);
      watchdog.once('close', () => {
        // Also if only the watchdog was killed.
        kill();
        leader = undefined;
        resolve(end);
      });
    }),
    extend: (deadline) => send({ deadline }),
    signal(name) {
      // A watchdog that still starts does not ignore signals yet.
      if (hasStarted) sendSignal(name);
      else pending.push(name);
    },
    kill,
  };
}
