// Decides how a run ended: the exit of the lease for the successor, and the exit code of the runner.

import { constants } from 'node:os';
import type { DeclaredExit } from '../../lease/exit.ts';
import type { ProgramEnd } from './program.ts';

/** Codes of `lease run` itself. Programs rarely use them; 125 to 127 are those of `env`. */
export const RUN_CODES = {
  'not-acquired': 121,
  lost: 122,
  drained: 123,
  fault: 125,
  'not-executable': 126,
  'not-found': 127,
} as const;

/** For the help and the reference. */
export const RUN_CODE_TEXTS: Readonly<Record<string, string>> = {
  '0 to 255': 'run: the exit code of the program; 128 and the number of the signal that ended it',
  [RUN_CODES['not-acquired']]: 'run: the lease was not acquired; nothing ran',
  [RUN_CODES.lost]: 'run: the lease was lost, and the program was killed',
  [RUN_CODES.drained]: 'run: the program ended after a drain',
  [RUN_CODES.fault]: 'run: wrong usage, a fault, or a store that does not respond',
  '126, 127': 'run: the program could not be started, or was not found',
};

export interface RunFacts {
  readonly end: ProgramEnd;
  /** Why authority ended before the program did. */
  readonly lost?: string;
  readonly isDrained: boolean;
  /** A signal to the runner, which it passed on. */
  readonly wasSignalled: boolean;
  /** Why the last checkpoint was not saved. */
  readonly unsaved?: string;
}

export interface RunOutcome {
  readonly code: number;
  readonly exit: DeclaredExit;
  readonly cause?: string;
  /** For people. Absent if the program's exit code is explanation enough. */
  readonly text?: string;
}

export function decideOutcome(facts: RunFacts): RunOutcome {
  const { end, lost, isDrained, unsaved } = facts;
  if (end.kind === 'not-started') return notStarted(end.error);
  if (end.kind === 'killed' || lost !== undefined) {
    const cause =
      lost ?? 'its watchdog ended, because the time of the lease was over or a signal killed it';
    return {
      ...{ code: RUN_CODES.lost, exit: 'abandoned', cause },
      text: `The lease was lost, and the program was killed: ${cause}`,
    };
  }
  const code = codeOf(end);
  const how = end.signal === null ? `exit code ${code}` : end.signal;
  if (unsaved !== undefined) {
    const cause = `The program ended with ${how}, but its checkpoint was not saved: ${unsaved}`;
    return { code: RUN_CODES.fault, exit: 'abandoned', cause, text: cause };
  }
  const exit = exitOf(facts, end);
  const cause = exit === 'finished' || exit === 'yielded' ? {} : { cause: `ended with ${how}` };
  if (!isDrained) return { code, exit, ...cause };
  return {
    ...{ code: RUN_CODES.drained, exit, ...cause },
    text: `The program ended with ${how} after a drain.`,
  };
}

type Ended = Extract<ProgramEnd, { readonly kind: 'ended' }>;

/** A program that handled the signal and returned 0 stopped where it wanted to. */
function exitOf({ isDrained, wasSignalled }: RunFacts, { code, signal }: Ended): DeclaredExit {
  const wasAsked = isDrained || wasSignalled;
  if (code === 0) return wasAsked ? 'yielded' : 'finished';
  return wasAsked && signal !== null ? 'abandoned' : 'failed';
}

/** As a shell reports it. */
function codeOf({ code, signal }: Ended): number {
  return code ?? signalCode(signal ?? 'SIGKILL');
}

export function signalCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

function notStarted(error: string): RunOutcome {
  const isMissing = error === 'ENOENT';
  const cause = `The program could not be started (${error}).`;
  const fix = isMissing ? 'Check its name and PATH.' : 'Check that this user can execute it.';
  return {
    code: RUN_CODES[isMissing ? 'not-found' : 'not-executable'],
    ...{ exit: 'abandoned', cause, text: `${cause} ${fix}` },
  };
}
