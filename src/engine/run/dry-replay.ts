// Runs a pipeline's code against its history only. The replay delivers every recorded result in
// order, begins no call that is not recorded, and writes nothing. The result is whether history and
// code agree (RE-10).

import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import type { ExecutionId } from '../../execution/names.ts';
import type { BrokenReplay } from '../../features/releases/model.ts';
import type { Fence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { isOutage } from '../../lease/store-call.ts';
import type { WorkerStore } from '../../store/contract/execution-store.ts';
import { Fault } from '../../support/fault.ts';
import { thrownText } from '../../support/options.ts';
import type { WorkerConfig } from '../config.ts';
import type { AnyPipeline } from '../pipeline.ts';
import { readHistory, untilSessionEnds } from '../store-replies.ts';
import { CHECKPOINT } from '../values/place.ts';
import { validated } from '../values/schema.ts';
import { bugOf, bugText, thrownEnd } from './claim-exit.ts';
import { type Drift, Ledger } from './ledger.ts';
import { Run, type RunEvents, type RunSession } from './run.ts';
import { RunContext } from './run-context.ts';

/** Code that is not at rest by then waits for something other than a call of `ctx`. */
const REST_TIMEOUT_MS = 10_000;

type Broken = Pick<BrokenReplay, 'why' | 'seq'>;
type Events = ConstructorParameters<typeof Ledger>[0];

export interface Replayed {
  readonly id: BrokenReplay['execution'];
  /**
   * Until it aborts, the replay retries an unavailable store; an outage does not count as broken.
   */
  readonly over: AbortSignal;
}

/** Undefined when they agree, or when the execution has ended or is unknown. */
export async function dryReplay(
  config: WorkerConfig,
  pipeline: AnyPipeline,
  { id, over: signal }: Replayed,
): Promise<BrokenReplay | undefined> {
  const reader = { config, session: { signal } };
  const execution = await untilSessionEnds(reader, () => config.store.executions.read(id));
  if (execution === undefined || execution.endedAt !== undefined) return undefined;
  const events = await readHistory(reader, id);
  const { release } = execution;
  const patient = { ...config, payloads: config.patientPayloads };
  const broken = await replayEvents(patient, pipeline, { execution, events });
  if (broken === undefined) return undefined;
  return { execution: id, ...(release === undefined ? {} : { release }), ...broken };
}

const UNCLEAR: Broken = {
  why: `The code did not reach a call of ctx within ${REST_TIMEOUT_MS / 1_000} s: it waits for something else.`,
};

interface Replayable {
  readonly execution: ExecutionRecord;
  readonly events: Events;
  /** Gets the run before its code begins. */
  made?(run: Run): void;
}

/** The history without its end, as of an open execution. */
export function withoutEnd({ execution, events }: Replayable): Replayable {
  const { endedAt: _, ...open } = execution;
  const end = events.findIndex(({ kind }) => kind === 'compensating' || isEnd(kind));
  const status = isTerminal(execution.status) ? 'waiting' : execution.status;
  return { execution: { ...open, status }, events: end < 0 ? events : events.slice(0, end) };
}

function isEnd(kind: string): boolean {
  return isTerminal(kind as ExecutionRecord['status']);
}

/**
 * Runs a query: replays the history, then calls the handler that the code has registered by then.
 * Nothing is written.
 */
export async function queryState(
  config: WorkerConfig,
  pipeline: AnyPipeline,
  {
    id,
    name,
    value,
  }: { readonly id: ExecutionId; readonly name: string; readonly value?: unknown },
): Promise<unknown> {
  const reader = { config, session: NO_SESSION };
  const execution = await untilSessionEnds(reader, () => config.store.executions.read(id));
  if (execution === undefined) throw unknownQuery(`There is no execution ${id}.`);
  const events = await readHistory(reader, id);
  let run: Run | undefined;
  const broken = await replayEvents(config, pipeline, {
    ...withoutEnd({ execution, events }),
    made: (made) => {
      run = made;
    },
  });
  if (broken !== undefined) throw new Fault('query-failed', `${broken.why} Nothing was written.`);
  const handler = run?.queries.get(name);
  if (handler === undefined) throw unknownQuery(`The code has no handler for it at this point.`);
  const answer = handler(value);
  if (!(answer instanceof Promise)) return answer;
  answer.catch(() => undefined);
  throw new Fault('query-failed', 'The handler returned a promise. Return the value itself.');
}

function unknownQuery(why: string): Fault {
  return new Fault('query-unknown', `${why} Nothing was written. Register it with ctx.onQuery.`);
}

/** The first event decides the result. */
export async function replayEvents(
  config: WorkerConfig,
  pipeline: AnyPipeline,
  { execution, events, made }: Replayable,
): Promise<Broken | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Broken | undefined>();
  const cancel = config.timers.after(REST_TIMEOUT_MS, () => resolve(UNCLEAR));
  let run: Run | undefined;
  try {
    const ledger = new Ledger(events, execution.submittedAt);
    const frozen = frozenRun(
      config,
      { pipeline, execution, ledger },
      {
        /** The code reached the first call that is not recorded. */
        idle: () => resolve(missingCallIn(frozen, { found: calledBy(frozen) })),
        drifted: (drift) => resolve(driftText(drift)),
        lost: reject,
        rejected: reject,
        troubled: reject,
        ...{ leaseLost: reject, leaseBusy: reject },
      },
    );
    run = frozen;
    made?.(frozen);
    runCode(frozen, execution).then(resolve, reject);
    return await promise;
  } catch (error) {
    if (isOutage(error)) throw error;
    return { why: `The execution cannot be replayed: ${thrownText(error)}` };
  } finally {
    cancel();
    run?.over();
  }
}

/** Once history is used up, the code may end or throw, except with a bug. */
async function runCode(run: Run, execution: ExecutionRecord): Promise<Broken | undefined> {
  const { pipeline } = run;
  let input = await run.payloads.decode(execution.input, run.expectedInput);
  if (pipeline.input !== undefined) {
    input = await validated(`The input of "${pipeline.name}"`, pipeline.input, input);
  }
  const saved = run.ledger.restored;
  const restored =
    saved === undefined
      ? undefined
      : await run.payloads.decodeEnvelope(saved, run.expectedAt(CHECKPOINT));
  run.settling.begin();
  try {
    await pipeline.run(new RunContext(run, restored), input);
  } catch (thrown) {
    const bug = bugOf(pipeline, thrown);
    return missingCallIn(run, thrownEnd(thrown)) ?? (bug && { why: bugText(bug) });
  }
  return missingCallIn(run, { found: 'its end' });
}

/** The call that the code made in place of the missing one. */
function calledBy({ ledger, settling, calls }: Run): string {
  return ledger.driftAt(settling.cursor, calls)?.found ?? 'no call of ctx';
}

function missingCallIn(run: Run, end: Pick<Drift, 'found'>): Broken | undefined {
  const { missingCall } = run;
  return missingCall && driftText({ ...missingCall, ...end });
}

function driftText({ expected, found, seq }: Drift): Broken {
  return {
    seq,
    why: `History has ${expected} at event ${seq}, but the code has ${found} there.`,
  };
}

function frozenRun(
  config: WorkerConfig,
  of: {
    readonly pipeline: AnyPipeline;
    readonly execution: ExecutionRecord;
    readonly ledger: Ledger;
  },
  events: RunEvents,
): Run {
  const { pipeline, ledger, execution } = of;
  const claimed = {
    execution: { ...execution, inboxCount: 0 },
    fence: 0 as Fence,
    previous: 'parked',
    claimedAt: execution.submittedAt,
  } as const;
  const store = readOnly(config.store);
  const run = new Run(
    { ...config, store, observer: { report: () => undefined } },
    { claimed, pipeline, ledger, session: NO_SESSION },
    events,
  );
  run.freeze();
  return run;
}

/** A session without a worker. The replay writes nothing with it. */
const NO_SESSION: RunSession = {
  id: '' as SessionId,
  owner: '' as Owner,
  signal: new AbortController().signal,
  remainingMs: () => 0,
  acquire: async () => ({ kind: 'cancelled' }),
};

/** The store without its writes. */
function readOnly(store: WorkerStore): WorkerStore {
  const refuse = (): never => {
    throw new Fault('dry-replay', 'A replay was about to write. Nothing was written.');
  };
  const { executions } = store;
  return {
    ...store,
    executions: {
      room: () => executions.room(),
      read: (id) => executions.read(id),
      history: (query) => executions.history(query),
      interaction: (query) => executions.interaction(query),
      getBlob: (query) => executions.getBlob(query),
      inbox: async () => [],
      onWakeup: () => () => undefined,
      ...{ claim: refuse, announce: refuse, record: refuse, transact: refuse, finish: refuse },
      ...{ park: refuse, giveBack: refuse, expireAwaits: refuse, messageChild: refuse },
      ...{ putBlob: refuse, attributeBlobs: refuse },
    },
  };
}
