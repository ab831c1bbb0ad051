// Drives one claimed execution from its claim to its leaving this worker: reads its history, runs its
// code, and decides with which write it leaves.

import type { HistoryEvent } from '../../execution/history.ts';
import type { Session } from '../../lease/live-session.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import type { WorkerConfig } from '../config.ts';
import { ContinueAsNew } from '../continue-as-new.ts';
import { tell, tracedBy } from '../observer.ts';
import { runPipeline } from '../pipeline.ts';
import { Departure, type DepartureEvents, type End, nearestOf } from '../run/claim-exit.ts';
import { Undoing } from '../run/compensator.ts';
import {
  bugOf,
  bugText,
  endBy,
  endedBy,
  endedForGood,
  isOfTheStore,
  lookable,
  poisoned,
  stackOf,
  Unreadable,
  unreadable,
} from '../run/ends.ts';
import { after } from '../run/idle-detector.ts';
import { type Drift, Ledger } from '../run/ledger.ts';
import { Run, type RunEvents } from '../run/run.ts';
import { RunContext } from '../run/run-context.ts';
import { CHECKPOINT, inputOf, OUTPUT } from '../values/place.ts';
import { validated } from '../values/schema.ts';

export interface Assignment {
  readonly claimed: Claimed;
  readonly pipeline: Run['pipeline'];
  readonly session: Session;
}

const HISTORY_PAGE = 2_000;
const RETRY_MS = 200;
const DONE: Promise<void> = Promise.resolve();

/** What a worker is told of what it drives; each once, in this order. */
export interface DriveEvents {
  /** Its place is free: all that is left of it is a write. */
  leaving(): void;
  /** However it did. */
  left(drive: Drive): void;
}

export class Drive implements RunEvents, DepartureEvents {
  readonly #config: WorkerConfig;
  readonly #assignment: Assignment;
  readonly #events: DriveEvents;
  #isLeaving = false;
  #isGone = false;
  #run: Run | undefined;
  #departure: Departure | undefined;
  #isStopping = false;
  #isUndoing = false;
  /** The code threw this: it is blocked once its steps have ended. */
  #bug: ReturnType<typeof bugOf>;
  /** A notice came before there was a run to look for it. */
  #looksAtStart = false;
  #cancelDeadline: (() => void) | undefined;

  constructor(config: WorkerConfig, assignment: Assignment, events: DriveEvents) {
    this.#config = config;
    this.#assignment = assignment;
    this.#events = events;
  }

  start(): void {
    try {
      this.#tellClaimed();
      this.#begin().catch((error: unknown) => this.troubled(error));
    } catch (error) {
      this.troubled(error);
    }
  }

  /** Lets what runs finish and starts nothing new; then the execution is given back. */
  yield(): void {
    this.#isStopping = true;
    this.#run?.hold();
  }

  /** Gives the execution back although steps of it still run; what they write is refused from then on. */
  abandon(): void {
    this.#isStopping = true;
    this.#run?.stop.abort(new Fault('worker-stopping', 'The worker stops and its time is up.'));
    this.#departure?.giveBack('stopping', (this.#run?.activeSteps ?? 0) > 0);
  }

  /** Somebody may have left a message: look without waiting for the next write. */
  lookAtInbox(): void {
    if (this.#run === undefined) this.#looksAtStart = true;
    else this.#run.inbox.look();
  }

  /** The session is over: nothing can be written any more. */
  sessionOver(): void {
    this.#run?.lost(new Fault('session-over', 'The session of this worker is over.'));
    this.left();
  }

  /** Nothing is awaited for an execution that is run for the first time, as nearly all are: each wait costs. */
  #begin(): Promise<void> {
    const { claimed } = this.#assignment;
    if (claimed.previous === 'none') return this.#beginAfter([]);
    return this.#readHistory()
      .catch(unreadable)
      .then((read) => this.#beginAfter(read));
  }

  #beginAfter(read: readonly HistoryEvent[] | Unreadable): Promise<void> {
    if (this.#isGone) return DONE;
    const { claimed } = this.#assignment;
    const { submittedAt } = claimed.execution;
    const ledger = read instanceof Unreadable ? read : ledgerOf(read, claimed);
    const run = this.#runOf(ledger instanceof Unreadable ? new Ledger([], submittedAt) : ledger);
    const departure = new Departure(run, this);
    this.#run = run;
    this.#departure = departure;
    if (ledger instanceof Unreadable) {
      departure.block(`Its history cannot be read: ${ledger.why}`);
      return DONE;
    }
    if (claimed.execution.fruitlessClaims >= this.#config.fruitlessClaimsMax) {
      departure.finish(poisoned(claimed));
      return DONE;
    }
    const news = claimed.execution.news + (this.#looksAtStart ? 1 : 0);
    if (news === 0) return this.#goOn(run, departure);
    return run.inbox.readAtStart(news).then(() => this.#goOn(run, departure));
  }

  #goOn(run: Run, departure: Departure): Promise<void> {
    if (run.isPastDeadline) return this.#endAtDeadline(run, departure);
    if (this.#isStopping) run.hold();
    this.#watchDeadline(run);
    return this.#runCode(run, departure);
  }

  #runOf(ledger: Ledger): Run {
    const { claimed, pipeline, session } = this.#assignment;
    return new Run(this.#config, { claimed, pipeline, ledger, session }, this);
  }

  async #runCode(run: Run, departure: Departure): Promise<void> {
    const { pipeline, claimed } = this.#assignment;
    const { payloads } = run;
    try {
      const stored = payloads.decode(claimed.execution.input, run.expectedInput);
      let input = stored instanceof Promise ? await stored : stored;
      if (pipeline.input !== undefined) {
        const checked = validated(`The input of "${pipeline.name}"`, pipeline.input, input);
        input = checked instanceof Promise ? await checked : checked;
      }
      const saved = run.ledger.restored;
      const restored =
        saved === undefined
          ? undefined
          : await payloads.decodeEnvelope(saved, run.expectedAt(CHECKPOINT));
      let output: unknown = await runPipeline(pipeline, new RunContext(run, restored), input);
      if (run.calls.size > 0) await stepsLeft(run);
      if (run.isOver || this.#undoes(run, departure) || !usedUp(run, departure)) return;
      if (pipeline.output !== undefined) {
        output = await validated(`The output of "${pipeline.name}"`, pipeline.output, output);
      }
      const encoded = payloads.encode(`The output of "${pipeline.name}"`, output, {
        ...{ owner: claimed.execution.id, position: OUTPUT },
      });
      const payload = encoded instanceof Promise ? await encoded : encoded;
      departure.finish({ status: 'completed', field: `"out":${payload}` });
    } catch (thrown) {
      if (run.isOver || this.#undoes(run, departure)) return;
      await this.#threw(run, departure, lookable(thrown));
    }
  }

  /** True when what it did is being undone: then all that was wanted of the code is how. */
  #undoes(run: Run, departure: Departure): boolean {
    if (run.ledger.cause === undefined) return false;
    if (!this.#isUndoing) {
      this.#isUndoing = true;
      new Undoing(run, departure).start().catch((error: unknown) => this.troubled(error));
    }
    return true;
  }

  /** Y-2: what can be undone is, once nothing of it runs any more; otherwise this is the end. */
  async #giveUp(run: Run, departure: Departure, end: End): Promise<void> {
    await run.saga.settled();
    if (run.isOver) return;
    if (run.saga.isOwed) departure.turnBack(end);
    else departure.finish(end);
  }

  async #threw(run: Run, departure: Departure, error: unknown): Promise<void> {
    if (run.cancelled !== undefined) {
      await this.#giveUp(run, departure, endedBy('cancelled', run.cancelled));
      return;
    }
    if (isOfTheStore(error)) {
      departure.block(`A value cannot be read or written: ${error.message}`);
      return;
    }
    if (!usedUp(run, departure, endBy(error))) return;
    if (!(error instanceof ContinueAsNew)) {
      this.#bug = bugOf(this.#assignment.pipeline, error);
      if (this.#bug !== undefined) {
        run.hold();
        return;
      }
      await this.#giveUp(run, departure, endedBy('failed', error));
      return;
    }
    const { name } = this.#assignment.pipeline;
    // Nothing reaches this code any more: what arrives is for its successor.
    run.over();
    try {
      const id = run.config.ids.next();
      const place = inputOf(id);
      const what = `The input of "${name}"`;
      departure.continueAs(id, await run.payloads.encode(what, error.input, place));
    } catch (unfit) {
      departure.finish(endedBy('failed', unfit));
    }
  }

  /** Nothing runs here: either it leaves, or what it waits for is near. */
  idle(): void {
    const run = this.#run;
    const departure = this.#departure;
    if (run === undefined || departure === undefined) return;
    if (run.isFrozen && !run.isHeld) {
      this.#undoes(run, departure);
      return;
    }
    if (departure.isLeaving || run.isReadingInbox || run.journal.isWriting) return;
    if (this.#bug !== undefined) {
      departure.block(bugText(this.#bug), { failure: this.#bug });
      return;
    }
    if (run.isHeld) {
      if (this.#isStopping) departure.giveBack('stopping');
      // Somebody resumed it while it was held: whoever has it next starts what was not started here.
      else if (!run.inbox.isPaused) departure.giveBack('resumed');
      else departure.pause();
      return;
    }
    const { children, dueAt = Infinity } = nearestOf(run.calls.values());
    // Its deadline wakes it, too: whoever claims it then ends it.
    const { deadlineAt = Infinity } = this.#assignment.claimed.execution;
    const wakeAt = Math.min(dueAt, deadlineAt);
    const inMs = wakeAt === Infinity ? undefined : wakeAt - run.storeNow();
    if (inMs !== undefined && inMs <= this.#config.parkAfterMs) {
      run.journal.flush();
      return;
    }
    departure.park({ inMs, afterChildren: children ?? 0 });
  }

  #watchDeadline(run: Run): void {
    const { deadlineAt } = this.#assignment.claimed.execution;
    if (deadlineAt === undefined || this.#isGone) return;
    const delayMs = Math.max(0, deadlineAt - run.storeNow());
    this.#cancelDeadline = after(run, delayMs, () => {
      if (run.isOver) return;
      // A timer of the process may be early, or cut short when the wait is very long; and while it is
      // being parked it may yet have to stay.
      if (this.#departure?.isLeaving === true) {
        this.#cancelDeadline = after(run, RETRY_MS, () => this.#watchDeadline(run));
        return;
      }
      if (deadlineAt > run.storeNow()) {
        this.#watchDeadline(run);
        return;
      }
      const departure = this.#departure as Departure;
      this.#endAtDeadline(run, departure).catch((error: unknown) => this.troubled(error));
    });
  }

  #endAtDeadline(run: Run, departure: Departure): Promise<void> {
    const passed = new Fault('deadline-passed', 'The overall deadline has passed.');
    run.stop.abort(passed);
    run.freeze();
    return this.#giveUp(run, departure, endedForGood(passed));
  }

  async #readHistory(): Promise<readonly HistoryEvent[]> {
    const { id, seq } = this.#assignment.claimed.execution;
    const events: HistoryEvent[] = [];
    for (let last = 0; last < seq && !this.#isGone; ) {
      try {
        const query = { id, after: last, limit: HISTORY_PAGE };
        const page = await this.#config.store.executions.history(query);
        for (const event of page) events.push(event);
        last = page.at(-1)?.seq ?? seq;
      } catch (fault) {
        if (!(fault instanceof StoreUnavailable) && !(fault instanceof OutcomeUnknown)) throw fault;
        await this.#config.timers.pause(RETRY_MS, this.#assignment.session.signal);
      }
    }
    return events;
  }

  drifted(drift: Drift): void {
    this.#departure?.drift(drift);
  }

  rejected(fault: unknown): void {
    this.#departure?.reject(fault);
  }

  lost(reason: Error): void {
    this.#tell({ kind: 'lost', why: reason.message });
    this.left();
  }

  /** A mistake of ours: the worker goes on, and the execution is left where people find it. */
  troubled(error: unknown): void {
    const cause = stackOf(error);
    tell(this.#config.observer, { kind: 'trouble', what: 'An execution could not be run', cause });
    if (this.#departure !== undefined) this.#departure.giveUp(`The engine failed: ${cause}`);
    else this.left();
  }

  leaving(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#events.leaving();
  }

  left(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#cancelDeadline?.();
    this.leaving();
    this.#events.left(this);
  }

  #tellClaimed(): void {
    if (this.#config.observer === undefined) return;
    const { previous, execution, claimedAt } = this.#assignment.claimed;
    const since = previous === 'none' ? execution.submittedAt : claimedAt;
    this.#tell({ kind: 'claimed', previous, waitedMs: Math.max(0, claimedAt - since) });
  }

  #tell(
    report:
      | {
          readonly kind: 'claimed';
          readonly previous: Claimed['previous'];
          readonly waitedMs: number;
        }
      | { readonly kind: 'lost'; readonly why: string },
  ): void {
    const { claimed, pipeline } = this.#assignment;
    const { id: execution } = claimed.execution;
    const about = { execution, fence: claimed.fence, ...tracedBy(claimed) };
    tell(this.#config.observer, { ...about, pipeline: pipeline.name, ...report });
  }
}

function ledgerOf(history: readonly HistoryEvent[], { execution }: Claimed): Ledger | Unreadable {
  try {
    return new Ledger(history, execution.submittedAt);
  } catch (error) {
    return unreadable(error);
  }
}

/** what the code began and did not wait for is not lost; it ends before the execution does. */
async function stepsLeft(run: Run): Promise<void> {
  for (;;) {
    const left = [...run.calls.values()].flatMap((call) => call.ended?.() ?? []);
    if (left.length === 0 || run.isOver) break;
    await Promise.all(left);
  }
  // They were stopped, and the execution with them.
  if (run.cancelled !== undefined) throw run.cancelled;
}

/** False when history has something that the code did not ask for: then it is blocked. */
function usedUp(run: Run, departure: Departure, found = 'its end'): boolean {
  const { unasked } = run;
  if (unasked === undefined) return true;
  departure.drift({ ...unasked, found });
  return false;
}
