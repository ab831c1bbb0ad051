// A store that is away for a moment is asked again, for as long as the session lives.

import { OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import { jittered } from '../support/random.ts';
import type { WorkerConfig } from './config.ts';
import type { Run } from './run/run.ts';

const RETRY_MS = 200;
const WRITE_AGAIN_MS = { first: 20, max: 2_000 } as const;

/** Reads of a run. */
export async function patiently<Answer>(
  { config, session }: Pick<Run, 'config'> & { readonly session: Pick<Run['session'], 'signal'> },
  read: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await read();
    } catch (fault) {
      const isAway = fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown;
      if (!isAway || session.signal.aborted) throw fault;
      await config.timers.pause(RETRY_MS, session.signal);
    }
  }
}

/** Undefined when the session is over before the store has answered. Throws what will never change. */
export async function untilAnswered<Answer>(
  { timers, random }: Pick<WorkerConfig, 'timers' | 'random'>,
  over: AbortSignal,
  call: () => Promise<Answer>,
): Promise<Answer | undefined> {
  const { first, max } = WRITE_AGAIN_MS;
  for (let pauseMs: number = first; ; pauseMs = Math.min(pauseMs * 2, max)) {
    try {
      return await call();
    } catch (fault) {
      if (!(fault instanceof StoreUnavailable) && !(fault instanceof OutcomeUnknown)) throw fault;
    }
    if (over.aborted) return undefined;
    await timers.pause(jittered(random, pauseMs, 0.3), over);
    if (over.aborted) return undefined;
  }
}

/** `call`, for who has tried once already and got this fault. */
export function afterFault<Answer>(
  fault: unknown,
  call: () => Promise<Answer>,
): () => Promise<Answer> {
  let isFirst = true;
  return () => {
    if (!isFirst) return call();
    isFirst = false;
    return Promise.reject(fault);
  };
}

/** What it throws is a fault like any other. */
export function tried<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return call();
  } catch (fault) {
    return Promise.reject(fault);
  }
}
