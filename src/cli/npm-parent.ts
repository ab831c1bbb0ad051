// npm and npx start a shell that starts this process. On SIGTERM npm signals only that shell, which ends without
// passing the signal on. A process that npm started therefore ends when its parent does; one that was started in
// another way, such as by nohup or a supervisor, outlives whoever started it.

import { environmentWith } from '../support/environment.ts';
import type { Timers } from '../support/timer.ts';

const LOOK_MS = 500;

export interface Started {
  readonly timers: Timers;
  /** Aborts when nobody needs to know any more. */
  readonly over: AbortSignal;
  /** The parent, as it is now. */
  readonly parent: () => number;
  readonly isByNpm: boolean;
}

/** Of npm's variables, the one that npm run, npm start and npx all set. */
export function isStartedByNpm(): boolean {
  return 'npm_lifecycle_event' in environmentWith('npm_lifecycle_event');
}

/** Resolves when the parent that npm gave this process has ended. */
export async function npmParentEnded({ timers, over, parent, isByNpm }: Started): Promise<void> {
  const first = parent();
  while (isByNpm && !over.aborted) {
    await timers.pause(LOOK_MS, over);
    if (parent() !== first) return;
  }
  return new Promise(() => undefined);
}
