import { readFileSync } from 'node:fs';
import { environmentWith } from './environment.ts';
import { backgroundTimers, type Timers } from './timer.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Resolves with the reason when the process should stop: SIGTERM, SIGINT, or the end of the npm
 * that started it.
 *
 * A second signal ends the process at once. Waiting does not keep the process alive. It stops
 * listening when `over` aborts.
 *
 * @example
 * const worker = await openWorker({ url: 'http://127.0.0.1:7433', pipelines: [order] });
 * void stopRequested().then(() => worker.stop());
 */
export function stopRequested(over?: AbortSignal): Promise<string> {
  const found = new AbortController();
  const ends = AbortSignal.any([found.signal, ...(over === undefined ? [] : [over])]);
  return new Promise((resolve) => {
    const stop = (reason: string) => {
      found.abort();
      resolve(reason);
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    ends.addEventListener('abort', () => {
      for (const signal of SIGNALS) process.off(signal, stop);
    });
    const isByNpm = isStartedByNpm();
    void npmParentEnded({ isByNpm, timers: backgroundTimers, over: ends }).then(() => {
      stop('the npm that started it has ended');
    });
  });
}

// npm and npx start a shell that starts this process. On SIGTERM npm signals only that shell, which
// ends without forwarding the signal. So a process that npm started ends when its parent does. A
// process started in another way, such as by nohup or a supervisor, outlives its parent.

const POLL_MS = 500;

interface Started {
  readonly timers: Pick<Timers, 'pause'>;
  /** Ends the watch when it aborts. */
  readonly over: AbortSignal;
  /** The first parent. Default: the parent when this module was loaded. */
  readonly first?: number;
  /** Returns the current parent. */
  readonly parent?: () => number;
  /** The name of process 1. */
  readonly initName?: string;
  readonly isByNpm: boolean;
}

/** The variable that npm run, npm start and npx all set. */
function isStartedByNpm(): boolean {
  return 'npm_lifecycle_event' in environmentWith('npm_lifecycle_event');
}

/**
 * Read as early as possible, because npm may end while this process still starts. The entry of the
 * command line imports this file.
 */
const FIRST = process.ppid;

/** Resolves when the parent that npm gave this process has ended. */
export async function npmParentEnded(started: Started): Promise<void> {
  const { timers, over, isByNpm, first = FIRST, parent = () => process.ppid } = started;
  if (isByNpm && first === 1 && !isNpm(started.initName ?? nameOfInit())) return undefined;
  while (isByNpm && !over.aborted) {
    await timers.pause(POLL_MS, over);
    if (parent() !== first) return undefined;
  }
  return new Promise(() => undefined);
}

/** Process 1 adopts a process whose parent has ended. In a container, npm itself may be process 1. */
function isNpm(initName: string): boolean {
  return /^(npm|node|npx)/.test(initName);
}

function nameOfInit(): string {
  try {
    return readFileSync('/proc/1/comm', 'utf8');
  } catch {
    // Systems other than Linux do not provide it. Then only a change of the parent counts.
    return 'npm';
  }
}
