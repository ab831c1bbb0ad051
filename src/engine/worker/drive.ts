// Drives one claimed execution until it leaves this worker: reads its history, runs its code, and
// chooses the write with which it leaves.

import type { ClaimReport } from '../../execution/report.ts';
import type { Session } from '../../lease/live-session.ts';
import type { LeaseNotHeld } from '../../lease/not-held.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { thrownText } from '../../support/options.ts';
import type { WorkerConfig } from '../config.ts';
import { ContinueAsNew } from '../failures.ts';
import { reportClaim, sendReport } from '../observer.ts';
import {
  bugOf,
  bugText,
  ClaimExit,
  type ClaimExitEvents,
  type End,
  endedBy,
  endedForGood,
  type GivenBackWhy,
  inspectable,
  isOfTheStore,
  nearestOf,
  poisoned,
  stackOf,
  thrownEnd,
} from '../run/claim-exit.ts';
import { Compensator } from '../run/compensator.ts';
import { redoAfter, retryAfter } from '../run/execution-retry.ts';
import { after } from '../run/guarded.ts';
import { type Drift, Ledger, type MissingCall } from '../run/ledger.ts';
import { Run, type RunEvents } from '../run/run.ts';
import { RunContext } from '../run/run-context.ts';
import { readHistory } from '../store-replies.ts';
import { CHECKPOINT, inputOf, OUTPUT } from '../values/place.ts';
import { type Schema, ValueRefused, validated } from '../values/schema.ts';

interface Assignment {
  readonly claimed: Claimed;
  readonly pipeline: Run['pipeline'];
  readonly session: Session;
}

const RETRY_MS = 200;
/** The write that gives the execution back is under way. */
const TRYING_AGAIN = Symbol('trying again');
const DONE: Promise<void> = Promise.resolve();

interface CodeFailure {
  readonly error: unknown;
  readonly again: NonNullable<ReturnType<typeof retryAfter>>;
}

/** Each event fires once per execution, in this order. */
export interface DriveEvents {
  /** The slot is free; only the last write is under way. */
  leaving(): void;
  /** The execution has left, by any exit. */
  left(drive: Drive): void;
}

export class Drive implements RunEvents, ClaimExitEvents {
  readonly #config: WorkerConfig;
  readonly #assignment: Assignment;
  readonly #events: DriveEvents;
  #isLeaving = false;
  #hasLeft = false;
  #isLost = false;
  /** The exit of the run; undefined until there is a run. */
  #exit: ClaimExit | undefined;
  #isStopping = false;
  #isUndoing = false;
  /**
   * The error that looks like a bug. The drive blocks the execution once its steps have
   * ended.
   */
  #bug: ReturnType<typeof bugOf>;
  /** The error for which the execution is tried again, once its steps have ended. */
  #failure: CodeFailure | typeof TRYING_AGAIN | undefined;
  /** A notice arrived before the run existed. */
  #readsInboxAtStart = false;
  #cancelDeadline: (() => void) | undefined;

  constructor(config: WorkerConfig, assignment: Assignment, events: DriveEvents) {
    this.#config = config;
    this.#assignment = assignment;
    this.#events = events;
  }

  /** The execution has ended. Otherwise it has parked, gone back or been lost. */
  get hasEnded(): boolean {
    return this.#exit?.hasEnded === true;
  }

  start(): void {
    try {
      this.#reportClaimed();
      this.#begin().catch((error: unknown) => this.troubled(error));
    } catch (error) {
      this.troubled(error);
    }
  }

  /** Lets running steps finish and starts nothing new. Then the execution goes back. */
  yield(): void {
    this.#isStopping = true;
    this.#exit?.run.hold();
  }

  /** Gives the execution back while its steps still run. The store refuses their later writes. */
  abandon(): void {
    this.#isStopping = true;
    const why = 'The worker is stopping, and stopGraceMs has passed. The execution was given back.';
    this.#interrupt('stopping', new Fault('worker-stopping', why));
  }

  #interrupt(why: GivenBackWhy, reason: Error): void {
    if (this.#exit === undefined) return;
    const { run } = this.#exit;
    run.stop.abort(reason);
    this.#exit.giveBack(why, run.activeSteps > 0);
  }

  /** The next owner acquires the lease again, under a higher fence. */
  leaseLost(reason: LeaseNotHeld): void {
    if (this.#exit?.isLeaving === false) this.#interrupt('lease-lost', reason);
  }

  leaseBusy(delayMs: number): void {
    this.#exit?.giveBack('lease-busy', false, delayMs);
  }

  /** A message may have arrived: read the inbox without waiting for the next write. */
  readInbox(): void {
    if (this.#exit === undefined) this.#readsInboxAtStart = true;
    else this.#exit.run.inbox.check();
  }

  /** The session is over, so this worker can write nothing more. */
  sessionOver(): void {
    const run = this.#exit?.run;
    // If the run is over, its last write is under way and may have succeeded.
    if (run?.isOver === false) {
      run.lost(
        new Fault(
          'session-over',
          'The session of this worker is over. Another worker continues the execution.',
        ),
      );
    }
    this.left();
  }

  /**
   * Avoids every await for an execution that runs for the first time: nearly all do, and each await
   * costs.
   */
  #begin(): Promise<void> {
    const { claimed } = this.#assignment;
    const { id, submittedAt } = claimed.execution;
    if (claimed.previous === 'none') return this.#beginAfter(new Ledger([], submittedAt));
    const { session } = this.#assignment;
    return readHistory({ config: this.#config, session }, id)
      .then((history) => new Ledger(history, submittedAt))
      .then(
        (ledger) => this.#beginAfter(ledger),
        (fault: unknown) => this.#cannotBegin(thrownText(fault)),
      );
  }

  #beginAfter(ledger: Ledger): Promise<void> {
    if (this.#hasLeft) return DONE;
    const { claimed } = this.#assignment;
    const exit = this.#exitOf(ledger);
    if (claimed.execution.claimsWithoutProgress >= this.#config.maxClaimsWithoutProgress) {
      exit.finish(poisoned(claimed));
      return DONE;
    }
    const inboxCount = claimed.execution.inboxCount + (this.#readsInboxAtStart ? 1 : 0);
    if (inboxCount === 0) return this.#goOn(exit);
    return exit.run.inbox.readAtStart(inboxCount).then(() => this.#goOn(exit));
  }

  #cannotBegin(why: string): void {
    if (this.#hasLeft) return;
    const { submittedAt } = this.#assignment.claimed.execution;
    this.#exitOf(new Ledger([], submittedAt)).block(`The history cannot be read: ${why}`);
  }

  #exitOf(ledger: Ledger): ClaimExit {
    const run = new Run(this.#config, { ...this.#assignment, ledger }, this);
    this.#exit = new ClaimExit(run, this);
    return this.#exit;
  }

  #goOn(exit: ClaimExit): Promise<void> {
    const { run } = exit;
    if (run.isPastDeadline) return this.#endAtDeadline(exit);
    if (this.#isStopping) run.hold();
    this.#watchDeadline(exit);
    return this.#runCode(exit);
  }

  async #runCode(exit: ClaimExit): Promise<void> {
    const { run } = exit;
    const { pipeline, claimed, payloads } = run;
    const name = `"${pipeline.name}"`;
    try {
      const stored = payloads.decode(claimed.execution.input, run.expectedInput);
      let input = stored instanceof Promise ? await stored : stored;
      if (pipeline.input !== undefined) {
        const checked = checkedInput(name, pipeline.input, input);
        input = checked instanceof Promise ? await checked : checked;
      }
      const saved = run.ledger.restored;
      const restored =
        saved === undefined
          ? undefined
          : await payloads.decodeEnvelope(saved, run.expectedAt(CHECKPOINT));
      run.settling.begin();
      let output: unknown = await pipeline.run(new RunContext(run, restored), input);
      if (run.cancelled !== undefined) await run.cleanedUp();
      if (run.calls.size > 0) await stepsLeft(run);
      if (run.isOver || this.#undoes(exit) || !usedUp(exit)) return;
      if (pipeline.output !== undefined) {
        output = await validated(`The output of ${name}`, pipeline.output, output);
      }
      const place = { owner: claimed.execution.id, position: OUTPUT };
      const encoded = payloads.encode(`The output of ${name}`, output, place);
      const payload = encoded instanceof Promise ? await encoded : encoded;
      exit.finish({ status: 'completed', field: `"out":${payload}` });
    } catch (thrown) {
      if (run.isOver || this.#undoes(exit)) return;
      await this.#threw(exit, thrown);
    }
  }

  /**
   * True if the execution is undoing its steps. The replay of the code then only collects the
   * compensations.
   */
  #undoes(exit: ClaimExit): boolean {
    if (exit.run.ledger.cause === undefined) return false;
    if (!this.#isUndoing) {
      this.#isUndoing = true;
      new Compensator(exit).start().catch((error: unknown) => this.troubled(error));
    }
    return true;
  }

  /**
   * Undoes the steps once none is running, or ends the execution if there is nothing to undo (Y-2).
   */
  async #giveUp(exit: ClaimExit, end: End): Promise<void> {
    const { run } = exit;
    await run.compensations.settled();
    if (run.isOver) return;
    if (run.compensations.isOwed) exit.turnBack(end);
    else exit.finish(end);
  }

  async #threw(exit: ClaimExit, thrown: unknown): Promise<void> {
    const { run } = exit;
    if (run.cancelled !== undefined) {
      await run.cleanedUp();
      if (run.isOver) return;
      if (run.cleanupFailure === undefined) {
        await this.#giveUp(exit, endedBy('cancelled', run.cancelled));
        return;
      }
    }
    const error = inspectable(run.cleanupFailure === undefined ? thrown : run.cleanupFailure.error);
    if (isOfTheStore(error)) {
      exit.block(`A value cannot be read or written: ${error.message} Then resume the execution.`);
      return;
    }
    if (!usedUp(exit, thrownEnd(error))) return;
    if (!(error instanceof ContinueAsNew)) {
      this.#bug = bugOf(run.pipeline, error);
      if (this.#bug === undefined) await this.#failed(exit, error);
      else run.hold();
      return;
    }
    // Nothing reaches this code any more: new messages are for its successor.
    run.over();
    try {
      const id = run.config.ids.next();
      const what = `The input of "${run.pipeline.name}"`;
      exit.continueAs(id, await run.payloads.encode(what, error.input, inputOf(id)));
    } catch (unfit) {
      exit.finish(endedBy('failed', unfit));
    }
  }

  /** Tries the execution again once its steps have ended, or ends it. */
  async #failed(exit: ClaimExit, error: unknown): Promise<void> {
    const again = retryAfter(exit.run, error);
    if (again === undefined) return this.#giveUp(exit, endedBy('failed', error));
    this.#failure = { error, again };
    exit.run.hold();
  }

  /** The steps have ended, so the history has all their results. */
  async #tryAgain(exit: ClaimExit, { error, again }: CodeFailure): Promise<void> {
    const redone = await redoAfter(exit.run, again);
    if (exit.run.isOver) return;
    if (redone !== undefined) exit.retry(redone);
    else await this.#giveUp(exit, endedBy('failed', error));
  }

  /** Nothing runs here: leave, or stay if the next event is near. */
  idle(): void {
    const exit = this.#exit;
    if (exit === undefined) return;
    const { run } = exit;
    if (run.isFrozen && !run.isHeld) {
      this.#undoes(exit);
      return;
    }
    if (exit.isLeaving || run.isReadingInbox || run.journal.isWriting) return;
    if (this.#bug !== undefined) {
      exit.block(bugText(this.#bug), { failure: this.#bug });
      return;
    }
    if (this.#failure !== undefined) {
      const failure = this.#failure;
      if (failure === TRYING_AGAIN) return;
      this.#failure = TRYING_AGAIN;
      this.#tryAgain(exit, failure).catch((fault: unknown) => this.troubled(fault));
      return;
    }
    if (run.isHeld) {
      if (this.#isStopping) exit.giveBack('stopping');
      // An operator resumed it while it was held. The next owner starts the calls that this one
      // held back.
      else if (!run.inbox.isPaused) exit.giveBack('resumed');
      else exit.pause();
      return;
    }
    const { children, dueAt = Infinity } = nearestOf(run.calls.values());
    // The deadline also wakes it, and the worker that claims it then ends it. So does the limit of
    // a cleanup.
    const { deadlineAt = Infinity } = this.#assignment.claimed.execution;
    const wakeAt = Math.min(dueAt, deadlineAt, run.cleanupUntil ?? Infinity);
    const inMs = wakeAt === Infinity ? undefined : wakeAt - run.storeNow();
    if (inMs !== undefined && inMs <= this.#config.parkAfterMs) {
      run.journal.flush();
      return;
    }
    exit.park({ inMs, afterChildren: children ?? 0 });
  }

  #watchDeadline(exit: ClaimExit): void {
    const { run } = exit;
    const { deadlineAt } = run.claimed.execution;
    if (deadlineAt === undefined || this.#hasLeft) return;
    const delayMs = Math.max(0, deadlineAt - run.storeNow());
    this.#cancelDeadline = after(run, delayMs, () => {
      if (run.isOver) return;
      // Timers of the process may fire early, and Node caps very long ones. If the execution is
      // parking, it may yet have to stay.
      if (exit.isLeaving) {
        this.#cancelDeadline = after(run, RETRY_MS, () => this.#watchDeadline(exit));
      } else if (deadlineAt > run.storeNow()) {
        this.#watchDeadline(exit);
      } else this.#endAtDeadline(exit).catch((error: unknown) => this.troubled(error));
    });
  }

  #endAtDeadline(exit: ClaimExit): Promise<void> {
    const passed = new Fault('deadline-passed', 'The deadline of the execution has passed.');
    exit.run.stop.abort(passed);
    exit.run.freeze();
    return this.#giveUp(exit, endedForGood(passed));
  }

  drifted(drift: Drift): void {
    this.#exit?.drift(drift);
  }

  rejected(fault: unknown): void {
    this.#exit?.reject(fault);
  }

  /** Also after it has left: its last write can be refused when its session is over. */
  lost(reason: Error): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#report({ kind: 'lost', why: reason.message });
    this.left();
  }

  /** A bug in the engine: the worker continues, and the execution is blocked for an operator. */
  troubled(error: unknown): void {
    const cause = stackOf(error);
    const what = 'An execution could not be run';
    sendReport(this.#config.observer, { kind: 'trouble', code: 'not-run', what, cause });
    if (this.#exit !== undefined) this.#exit.giveUp(`The engine failed: ${cause}`);
    else this.left();
  }

  leaving(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#events.leaving();
  }

  left(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#cancelDeadline?.();
    this.leaving();
    this.#events.left(this);
  }

  #reportClaimed(): void {
    if (this.#config.observer === undefined) return;
    const { previous, execution, claimedAt } = this.#assignment.claimed;
    const since = previous === 'none' ? execution.submittedAt : claimedAt;
    this.#report({ kind: 'claimed', previous, waitedMs: Math.max(0, claimedAt - since) });
  }

  #report(report: ClaimReport): void {
    reportClaim({ config: this.#config, ...this.#assignment }, report);
  }
}

/** Steps that the code began but did not await still end before the execution does. */
async function stepsLeft(run: Run): Promise<void> {
  for (;;) {
    const left = [...run.calls.values()].flatMap((call) => call.ended?.() ?? []);
    if (left.length === 0 || run.isOver) break;
    await Promise.all(left);
  }
  // The cancellation stopped the steps, and stops the execution too.
  if (run.cancelled !== undefined) throw run.cancelled;
}

/** False when history has a call that the code did not make. The execution is then blocked. */
function usedUp(
  exit: ClaimExit,
  end: Omit<Drift, keyof MissingCall> = { found: 'its end' },
): boolean {
  const { missingCall } = exit.run;
  if (missingCall === undefined) return true;
  exit.drift({ ...missingCall, ...end });
  return false;
}

/** Has its own code, because a re-drive with another input may help. */
class InputRefused extends InvalidInput {
  override readonly code: Code = 'input-refused';
}

function checkedInput(name: string, schema: Schema, input: unknown): unknown {
  const refuse = (error: unknown): never => {
    throw error instanceof ValueRefused ? new InputRefused(error.message) : error;
  };
  try {
    const checked = validated(`The input of ${name}`, schema, input);
    return checked instanceof Promise ? checked.catch(refuse) : checked;
  } catch (error) {
    return refuse(error);
  }
}
