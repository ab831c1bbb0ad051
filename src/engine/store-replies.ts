// The store's responses to a worker: outages, which the worker waits out, and refusals, which end a
// claim.

import { isTerminal, type Status } from '../execution/execution.ts';
import type { HistoryEvent, HistoryEventKind } from '../execution/history.ts';
import type { ExecutionId } from '../execution/names.ts';
import {
  describeExecutionRefusal,
  type ExecutionRefusal,
  type OwnerRefusal,
} from '../execution/refusal.ts';
import type { OwnerVerb, RefusedWrite } from '../features/audit/model.ts';
import { isOutage } from '../lease/store-call.ts';
import type { BlobStore } from '../store/contract/payload-store.ts';
import { Fault } from '../support/fault.ts';
import { jittered } from '../support/random.ts';
import type { WorkerConfig } from './config.ts';
import type { Run } from './run/run.ts';

const HISTORY_PAGE = 2_000;
const AGAIN_MS = { first: 20, max: 2_000 } as const;

/** Tries for a blob before the caller gets the fault: about ten minutes. */
const TRIES_MAX = 300;

type Pausing = Pick<WorkerConfig, 'timers' | 'random'>;

/**
 * Repeats the call during an outage, with growing pauses. Throws the last fault when the signal
 * aborts or the tries are used up.
 */
async function again<Result>(
  { timers, random }: Pausing,
  call: () => Promise<Result>,
  until: { readonly over?: AbortSignal; readonly triesMax?: number },
): Promise<Result> {
  const { over, triesMax = Infinity } = until;
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (fault) {
      if (!isOutage(fault) || tries >= triesMax) throw fault;
      const pauseMs = Math.min(AGAIN_MS.first * 2 ** Math.min(tries - 1, 10), AGAIN_MS.max);
      await timers.pause(jittered(random, pauseMs, 0.3), over);
      if (over?.aborted === true) throw fault;
    }
  }
}

/** The claim that a read belongs to. */
export type Reading = Pick<Run, 'config'> & { readonly session: Pick<Run['session'], 'signal'> };

/** For reads of a run: repeats them as long as the session lives. */
export function untilSessionEnds<Result>(
  { config, session }: Reading,
  read: () => Promise<Result>,
): Promise<Result> {
  return again(config, read, { over: session.signal });
}

export async function readHistory(
  reading: Reading,
  id: ExecutionId,
): Promise<readonly HistoryEvent[]> {
  const { executions } = reading.config.store;
  const events: HistoryEvent[] = [];
  for (;;) {
    const query = { id, after: events.at(-1)?.seq ?? 0, limit: HISTORY_PAGE };
    const page = await untilSessionEnds(reading, () => executions.history(query));
    for (const event of page) events.push(event);
    if (page.length < HISTORY_PAGE) return events;
  }
}

/**
 * Undefined when the session ends before the store responds. Throws faults that a retry cannot
 * change. Pass `fault` if the call already failed once.
 */
export async function untilReplied<Result>(
  { config, session }: Reading,
  call: () => Promise<Result>,
  fault?: unknown,
): Promise<Result | undefined> {
  const { signal: over } = session;
  let isTried = fault !== undefined;
  const next = (): Promise<Result> => {
    if (!isTried) return call();
    isTried = false;
    return Promise.reject(fault);
  };
  try {
    return await again(config, next, { over });
  } catch (last) {
    if (over.aborted && isOutage(last)) return undefined;
    throw last;
  }
}

/**
 * For blobs of a step's result: during an outage, a step that succeeded must not fail and run
 * again.
 */
export function patientBlobs(store: BlobStore, config: Pausing): BlobStore {
  const patient = <Result>(call: () => Promise<Result>): Promise<Result> =>
    again(config, call, { triesMax: TRIES_MAX });
  return {
    putBlob: (blob) => patient(() => store.putBlob(blob)),
    getBlob: (query) => patient(() => store.getBlob(query)),
    attributeBlobs: (request) => patient(() => store.attributeBlobs(request)),
  };
}

/** Turns an exception of the call into a rejection. */
export function tried<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return call();
  } catch (fault) {
    return Promise.reject(fault);
  }
}

/** Another worker owns the execution, or the session ended. */
export class ClaimLost extends Fault {
  override readonly name = 'ClaimLost';

  constructor(refusal: ExecutionRefusal) {
    super('claim-lost', describeExecutionRefusal(refusal));
  }
}

/** The claim holds, but the write does not fit the stored history. */
export class HistoryDiffers extends Fault {
  override readonly name = 'HistoryDiffers';

  constructor(refusal: ExecutionRefusal) {
    const what =
      refusal.why === 'seq-taken'
        ? `The history has another event at ${refusal.seq}, or a gap before it: something else wrote under the same claim.`
        : describeExecutionRefusal(refusal);
    super(
      'history-differs',
      `${what} This worker recorded nothing more. Find out what wrote, then resume the execution: it continues from its recorded steps.`,
    );
  }
}

const OVER: readonly ExecutionRefusal['why'][] = [
  ...(['execution-unknown', 'superseded', 'not-running', 'claim-ended', 'fence-ahead'] as const),
];

/** The owner of this claim can do nothing more; other workers can. */
export function isClaimOver({ why }: ExecutionRefusal): boolean {
  return OVER.includes(why);
}

/** The owner's verb that writes this event. */
export function verbOf(kind: HistoryEventKind): OwnerVerb {
  if (kind === 'parked') return 'park';
  return isTerminal(kind as Status) ? 'finish' : 'giveBack';
}

/** The part of a refusal that the tally counts. */
export function whyOf(refusal: OwnerRefusal): Pick<RefusedWrite, 'why' | 'newest'> {
  const { why } = refusal;
  return why === 'superseded' ? { why, newest: refusal.newest } : { why };
}
