// The writes with which an owner leaves an execution: it ends, parks, or goes back. Each write
// happens once and includes the journal's remaining entries, in one transaction.

import { isNativeError } from 'node:util/types';
import type { TerminalStatus } from '../../execution/execution.ts';
import { type Failure, locatedMessage } from '../../execution/failure.ts';
import { type HistoryEventKind, NAMED_CALLS_MAX } from '../../execution/history.ts';
import type { CallKey, Payload } from '../../execution/names.ts';
import { type DeadLetter, deadLetterOf } from '../../features/repair/model.ts';
import type {
  Claimed,
  Finish,
  Finished,
  GiveBack,
  GivenBack,
  OwnerWrite,
  Parked,
  Submit,
} from '../../store/contract/execution-store.ts';
import type { Instant } from '../../support/clock.ts';
import { Fault, StoreCorrupt, StoreUnavailable } from '../../support/fault.ts';
import { present, thrownText, wordsIn } from '../../support/options.ts';
import { ContinueAsNew, ExecutionCancelled, failureOf } from '../failures.ts';
import { reportClaim } from '../observer.ts';
import type { AnyPipeline } from '../pipeline.ts';
import { HistoryDiffers } from '../store-replies.ts';
import type { Call, Wait } from './call.ts';
import { isMisuse, isRejection } from './guarded.ts';
import { lastWordsTo } from './inbox.ts';
import { type Drift, type MissingCall, RETRYING } from './ledger.ts';
import type { Run } from './run.ts';

const GIVE_UP_MS = 1_000;

export interface End {
  readonly status: TerminalStatus;
  /** A field of the last event and of the message to the parent: `"out":…` or `"failure":…`. */
  readonly field: string;
  readonly failure?: Failure;
}

/** A write with which the owner leaves, and its event. */
interface Leaving<Result> {
  readonly kind: HistoryEventKind;
  readonly body: string;
  readonly write: (base: OwnerWrite) => Promise<Result>;
  readonly onWritten: (at: Instant) => void;
  /** The store refused the write because messages came before it. */
  readonly onUnread?: () => Promise<void>;
}

/** Why an owner returns an execution that is neither paused nor blocked. */
export type GivenBackWhy = 'stopping' | 'resumed' | 'lease-lost' | 'lease-busy';

/** A give-back after which the code runs again, from its recorded results. */
export interface ExecutionRetry {
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly retryInMs: number;
  readonly failure: Failure;
  /** The call that begins anew. */
  readonly redo?: CallKey;
}

type Consequences = Pick<Finish, 'outcome' | 'deadLetter' | 'leavesAwaits' | 'inboxSeen'>;

const NONE: Consequences = Object.freeze({});

/** Ends in these statuses leave a dead letter (Y-10). */
const LEAVES_LETTER: ReadonlySet<TerminalStatus> = new Set<TerminalStatus>(
  wordsIn('failed quarantined'),
);

export interface ClaimExitEvents {
  /** The run no longer listens to its code; only the leaving write is under way. */
  leaving(): void;
  /** This worker no longer has the execution. */
  left(): void;
  troubled(error: unknown): void;
}

export class ClaimExit {
  readonly run: Run;
  readonly #events: ClaimExitEvents;
  #isLeaving = false;
  #hasEnded = false;
  #wasRejected = false;
  #hasGivenUp = false;

  constructor(run: Run, events: ClaimExitEvents) {
    this.run = run;
    this.#events = events;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** The store has recorded the end of the execution. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * If the code ran ahead, no reply has shown yet whether a cancel came first. Then the store
   * refuses the end while there are unread messages.
   */
  finish(end: End, inboxSeen: number | undefined = this.#seenBefore(end)): void {
    const { status, field, failure } = end;
    this.#end({ status, body: `{${field}}`, failure }, () => this.#consequences(end, inboxSeen), {
      onUnread: () => this.#finishAfterMessages(end),
    });
  }

  #seenBefore({ status }: End): number | undefined {
    const { settling, inboxSeen } = this.run;
    return settling.isAhead && status !== 'cancelled' ? inboxSeen : undefined;
  }

  /** A cancel among the messages replaces the end. */
  async #finishAfterMessages(end: End): Promise<void> {
    const { seen, cancel } = await lastWordsTo(this.run);
    this.#isLeaving = false;
    if (cancel === undefined) this.finish(end, seen);
    else this.#giveIn(endedBy('cancelled', new ExecutionCancelled(cancel)));
  }

  /** Every retry sends the same write. */
  #end(
    {
      status,
      body,
      failure,
    }: {
      readonly status: TerminalStatus;
      readonly body: string;
      readonly failure?: Failure | undefined;
    },
    more: () => Partial<Finish>,
    unread?: Pick<Leaving<Finished>, 'onUnread'>,
  ): void {
    const { config, claimed } = this.run;
    this.#leave({
      ...unread,
      kind: status,
      body,
      write: (base) => this.#executions.finish({ ...withoutAwaits(base), status, ...more() }),
      onWritten: (at) => {
        this.#hasEnded = true;
        const event = { seq: 0, at, fence: claimed.fence, kind: status, body: body as Payload };
        config.ended({ id: claimed.execution.id, status, endedAt: at, event });
        reportClaim(this.run, { kind: 'ended', status, ...(failure && { failure }) });
      },
    });
  }

  /** The further writes of an end; most ends have none. */
  #consequences({ status, field, failure }: End, inboxSeen: number | undefined): Consequences {
    const { id, parent } = this.run.claimed.execution;
    const { hasAwaited } = this.run.ledger;
    const seen = inboxSeen === undefined ? NONE : { inboxSeen };
    if (parent === undefined && failure === undefined && !hasAwaited) return seen;
    const outcome = `{"id":"${id}","status":"${status}",${field}}` as Payload;
    const isLetter = failure !== undefined && LEAVES_LETTER.has(status);
    return {
      ...seen,
      ...(parent !== undefined && { outcome }),
      ...(isLetter && { deadLetter: this.#letterOf(failure) }),
      ...(hasAwaited && { leavesAwaits: true }),
    };
  }

  continueAs(id: Submit['id'], input: Payload): void {
    const { id: continues, deadlineAt, ...same } = this.run.claimed.execution;
    const { project, pipeline, lane, tags } = same;
    const { now: attributes } = this.run.attributes;
    const { key, intent, parent, concurrency, rate, template } = same;
    const { submittedBy, scheduled, traceparent } = same;
    // The overall deadline stays the same.
    const deadlineMs = deadlineAt && Math.max(1, Math.ceil(deadlineAt - this.run.storeNow()));
    const successor: Submit = {
      // Retention keeps the successor as long as its predecessor exists, and finds it by this link
      // (F-2).
      body: JSON.stringify({ continues }) as Payload,
      // The successor runs new steps with new idempotency keys, so it begins a new lineage.
      ...{ id, project, pipeline, lane, input, lineage: id, tags, attributes },
      ...present({ deadlineMs, key, intent, parent }),
      ...present({ concurrency, rate, template, submittedBy, scheduled, traceparent }),
    };
    // Read it only when the write happens: by then the journal has the events of all messages that
    // this code received.
    let carried: Pick<Finish, 'inboxSeen' | 'unread'> | undefined;
    this.#end({ status: 'completed', body: JSON.stringify({ continuedAs: id }) }, () => {
      const { inbox, ledger } = this.run;
      carried ??= { inboxSeen: inbox.seen, unread: inbox.unread };
      return { successor, ...carried, ...(ledger.hasAwaited && { leavesAwaits: true }) };
    });
  }

  /** Gives the execution back; a new claim undoes its steps (Y-2). */
  turnBack({ status, field }: Pick<End, 'status' | 'field'>): void {
    this.#leave({
      kind: 'compensating',
      body: `{"status":"${status}",${field}}`,
      write: (base) => this.#executions.giveBack({ ...base, compensating: true }),
      onWritten: () => reportClaim(this.run, { kind: 'given-back', why: 'compensating' }),
    });
  }

  drift(drift: Drift): void {
    const { expected, found, seq } = drift;
    const why = `History has ${expected} at event ${seq}, but the code has ${found} there. The recorded steps stay. Deploy code that makes the same calls, then resume the execution.`;
    this.block(why, drift);
  }

  /**
   * Leaves the execution open, with a reason, until an operator resumes it. If it was cancelled
   * meanwhile, it ends instead.
   */
  block(why: string, about?: Drift | { readonly failure: Failure }): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.run.over();
    this.#blockUnlessCancelled(why, about).catch((fault: unknown) => this.reject(fault));
  }

  /** Blocks the execution whatever was tried before, and retries while the session lives. */
  giveUp(why: string): void {
    if (this.#hasGivenUp) return;
    this.#hasGivenUp = true;
    this.#isLeaving = true;
    this.run.over();
    this.#blockAtLast(why).catch(() => this.#events.left());
  }

  async #blockAtLast(why: string): Promise<void> {
    const { session, config } = this.run;
    while (!session.signal.aborted) {
      try {
        await this.#blockUnlessCancelled(why);
        return;
      } catch {
        // The store may accept it later, and no other worker can do it.
        await config.timers.pause(GIVE_UP_MS, session.signal);
      }
    }
    this.#events.left();
  }

  /** If it was cancelled meanwhile, it ends instead. */
  retry(again: ExecutionRetry): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.run.over();
    const how = {
      kind: 'given-back',
      why: RETRYING,
      about: again,
      delayMs: again.retryInMs,
    } as const;
    this.#leaveUnlessCancelled(how).catch((fault: unknown) => this.reject(fault));
  }

  #blockUnlessCancelled(why: string, about: object = {}): Promise<void> {
    const isUndoing = this.run.ledger.cause !== undefined;
    const sentence = isUndoing ? `Its steps cannot be undone: ${why}` : why;
    return this.#leaveUnlessCancelled({ kind: 'blocked', why: sentence, about });
  }

  async #leaveUnlessCancelled({
    kind,
    why,
    about,
    delayMs,
  }: {
    readonly kind: 'blocked' | 'given-back';
    readonly why: string;
    readonly about: object;
    readonly delayMs?: number;
  }): Promise<void> {
    const { journal, ledger } = this.run;
    const body = JSON.stringify({ why, ...about }) as Payload;
    const given = kind === 'blocked' ? { blocked: true } : present({ delayMs });
    for (;;) {
      // Without this check, a cancel in the inbox would wait until the execution is claimed again.
      const { seen, cancel } = await lastWordsTo(this.run);
      const isKnown = this.run.cleanupUntil !== undefined;
      if (cancel !== undefined && !isKnown && ledger.cause === undefined && !this.#wasRejected) {
        this.#isLeaving = false;
        this.#hasGivenUp = false;
        this.#giveIn(endedBy('cancelled', new ExecutionCancelled(cancel)));
        return;
      }
      const result = await journal.leave({ kind, body }, (base) =>
        this.#giveBack({ ...base, ...given, inboxSeen: seen }),
      );
      if (result?.kind === 'refused') continue;
      if (result !== undefined) reportClaim(this.run, { kind, why });
      this.#events.left();
      return;
    }
  }

  #giveIn(end: End): void {
    if (compensable(this.run).compensable === true) this.turnBack(end);
    else this.finish(end);
  }

  /** `abandoned`: some of its steps still run here, so the next owner may run them twice. */
  giveBack(why: GivenBackWhy, abandoned = false, delayMs?: number): void {
    this.#leave({
      kind: 'given-back',
      body: JSON.stringify({
        why,
        ...(abandoned && { abandoned }),
        ...(why === 'resumed' && { taken: this.run.inbox.pauses }),
      }),
      write: (base) => this.#giveBack({ ...base, ...present({ delayMs }) }),
      onWritten: () => reportClaim(this.run, { kind: 'given-back', why }),
    });
  }

  /** Pauses, unless a resume or a cancel arrived meanwhile. */
  pause(): void {
    const { pauses: taken, seen: inboxSeen } = this.run.inbox;
    this.#leaveUnlessUnread({
      kind: 'paused',
      body: JSON.stringify({ why: 'paused', taken }),
      write: (base) => this.#giveBack({ ...base, paused: true, inboxSeen }),
      onWritten: () => reportClaim(this.run, { kind: 'given-back', why: 'paused' }),
    });
  }

  /**
   * The store can never accept a write: the execution fails with that error, if the store accepts
   * that.
   */
  reject(fault: unknown): void {
    if (fault instanceof HistoryDiffers) {
      this.giveUp(fault.message);
      return;
    }
    if (this.#wasRejected) {
      this.#events.troubled(fault);
      return;
    }
    this.#wasRejected = true;
    this.#isLeaving = false;
    this.finish(endedForGood(fault));
  }

  park(wake: { readonly inMs: number | undefined; readonly afterChildren: number }): void {
    const run = this.run;
    const { seen: inboxSeen } = run.inbox;
    this.#leaveUnlessUnread({
      kind: 'parked',
      body: JSON.stringify({ for: [...run.calls.keys()].slice(0, NAMED_CALLS_MAX) }),
      write: (base) =>
        this.#executions.park({
          ...base,
          inboxSeen,
          wakeAfter: wake.afterChildren,
          ...compensable(run),
          ...(wake.inMs === undefined ? {} : { wakeInMs: Math.max(0, Math.ceil(wake.inMs)) }),
        }),
      onWritten: () => reportClaim(this.run, { kind: 'parked' }),
    });
  }

  /**
   * The run is over only after the write. If a message arrived meanwhile, the execution stays. A retry
   * must not count messages that were read since the first try, because the code has not had them.
   */
  #leaveUnlessUnread(how: Leaving<Parked | GivenBack>): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const run = this.run;
    run.journal
      .leave({ kind: how.kind, body: how.body as Payload }, how.write)
      .then((result) => {
        if (result?.kind === 'refused') {
          this.#isLeaving = false;
          if (result.why === 'unread-messages') run.inbox.notice(result.inboxCount);
          run.rest();
          return;
        }
        run.over();
        if (result !== undefined) how.onWritten(run.storeNow());
        this.#events.left();
      })
      .catch((fault: unknown) => this.reject(fault));
  }

  #leave(how: Leaving<Finished | GivenBack>): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.run.over();
    this.#events.leaving();
    this.run.journal.leave({ kind: how.kind, body: how.body as Payload }, how.write).then(
      (result) => this.#onExitWritten(how, result),
      (fault: unknown) => this.reject(fault),
    );
  }

  #onExitWritten(
    { onWritten, onUnread }: Leaving<Finished | GivenBack>,
    result: Finished | GivenBack | undefined,
  ): void {
    try {
      if (result?.kind === 'refused' && onUnread !== undefined) {
        onUnread().catch((fault: unknown) => this.reject(fault));
        return;
      }
      if (result?.kind === 'finished') onWritten(result.at);
      else if (result !== undefined) onWritten(this.run.storeNow());
      this.#events.left();
    } catch (fault) {
      this.reject(fault);
    }
  }

  #letterOf(failure: Failure): DeadLetter {
    const { failedCall } = this.run;
    return deadLetterOf(failure, failedCall?.key === failure.at ? failedCall?.attempts : 0);
  }

  #giveBack(request: GiveBack): Promise<GivenBack> {
    return this.#executions.giveBack({ ...request, ...compensable(this.run) });
  }

  get #executions(): Run['config']['store']['executions'] {
    return this.run.config.store.executions;
  }
}

/** An execution that ends opens no awaits (W-9). */
function withoutAwaits(write: OwnerWrite): OwnerWrite {
  if (write.awaits === undefined) return write;
  const { awaits: _, ...base } = write;
  return base;
}

/** Registered compensations stay registered, even if this worker cannot read the history (Y-3). */
function compensable({ compensations, claimed }: Run): { readonly compensable?: true } {
  return compensations.isOwed || claimed.execution.compensable ? { compensable: true } : {};
}

/**
 * The earliest due time and the fewest missing children among the calls. A loop, because there may
 * be very many.
 */
export function nearestOf(calls: Iterable<Call>): Wait {
  let dueAt: Instant | undefined;
  let children: number | undefined;
  for (const { waits } of calls) {
    const at = waits?.dueAt ?? dueAt;
    if (dueAt === undefined || (at !== undefined && at < dueAt)) dueAt = at;
    const count = waits?.children ?? children;
    if (children === undefined || (count !== undefined && count < children)) children = count;
  }
  return present({ dueAt, children });
}

// Ends of executions that do not complete: turns thrown values into recorded ends.

export function endedBy(status: 'failed' | 'cancelled', error: unknown): End {
  return { status, ...failed(failureOf(error)) };
}

/** Describes how the code ended instead of making its next call, to explain a drift. */
export function thrownEnd(thrown: unknown): Omit<Drift, keyof MissingCall> {
  if (thrown instanceof ContinueAsNew) return { found: 'its end' };
  const failure = failureOf(thrown);
  return { found: `its end (it threw ${thrownBy(failure)})`, failure };
}

function thrownBy(failure: Failure): string {
  return `${failure.code}: ${locatedMessage(failure)}`;
}

/** Compares names, so that errors of another realm count too, as under some test runners. */
const BUGS: ReadonlySet<string> = new Set(['TypeError', 'ReferenceError']);

/** An error that shows a bug in the code rather than a failure of the work. */
export function bugOf(pipeline: Pick<AnyPipeline, 'isBug'>, error: unknown): Failure | undefined {
  return !isRejection(error) && isBug(pipeline, error) ? failureOf(error) : undefined;
}

function isBug({ isBug: rule }: Pick<AnyPipeline, 'isBug'>, error: unknown): boolean {
  try {
    if (rule !== undefined) return rule(error) === true;
    return isNativeError(error) && (BUGS.has(error.name) || isMisuse(error));
  } catch {
    // A rule that throws is a bug, too.
    return true;
  }
}

export function bugText(failure: Failure): string {
  return `The code threw outside a step, and this looks like a bug: ${thrownBy(failure)}. Nothing was undone. Deploy fixed code and resume the execution, or cancel it.`;
}

/** A failure that no retry can change. */
export function endedForGood(error: unknown): End {
  return { status: 'failed', ...failed({ ...failureOf(error), category: 'permanent' }) };
}

export function poisoned(claimed: Claimed): End {
  return { status: 'quarantined', ...failed(poisonOf(claimed)) };
}

/** User code may throw a value that throws when it is inspected. */
export function inspectable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('The code threw a value that cannot be described.');
  }
}

/** The stack if there is one, so that the report has the location. */
export function stackOf(thrown: unknown): string {
  try {
    const { stack } = thrown as Error;
    return typeof stack === 'string' ? stack : thrownText(thrown);
  } catch {
    return thrownText(thrown);
  }
}

/**
 * A failure of the environment, not of the code: a missing codec key, or a store that is corrupt or
 * was unavailable for too long.
 */
export function isOfTheStore(error: unknown): error is Fault {
  if (error instanceof StoreCorrupt || error instanceof StoreUnavailable) return true;
  return error instanceof Fault && error.code.startsWith('codec-');
}

function failed(failure: Failure): { readonly field: string; readonly failure: Failure } {
  return { field: `"failure":${JSON.stringify(failure)}`, failure };
}

function poisonOf({ execution }: Claimed): Failure {
  return {
    category: 'permanent',
    code: 'poison',
    message: `The last ${execution.claimsWithoutProgress} claims recorded nothing, and the worker of each died or was lost. After the second loss, only long-lived workers tried it, without other suspects. Find out why it crashes its worker, then re-drive it.`,
  };
}
