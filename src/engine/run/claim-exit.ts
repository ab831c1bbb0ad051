// The writes with which an owner leaves an execution: it ends, waits, or goes back. Each takes along
// what the journal still has, in one transaction, and happens once.

import { isNativeError } from 'node:util/types';
import type { TerminalStatus } from '../../execution/execution.ts';
import { type Failure, locatedMessage } from '../../execution/failure.ts';
import { type HistoryEventKind, NAMED_CALLS_MAX } from '../../execution/history.ts';
import type { Payload } from '../../execution/names.ts';
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
import { present, thrownText } from '../../support/options.ts';
import { ContinueAsNew, ExecutionCancelled, failureOf } from '../failures.ts';
import { tellOf } from '../observer.ts';
import type { AnyPipeline } from '../pipeline.ts';
import { HistoryDiffers } from '../store-answers.ts';
import type { Call, Wait } from './call.ts';
import { isRejection } from './guarded.ts';
import { lastWordsTo } from './inbox.ts';
import type { Drift } from './ledger.ts';
import type { Run } from './run.ts';

const GIVE_UP_MS = 1_000;

export interface End {
  readonly status: TerminalStatus;
  /** A field of the last event and of what the parent is told: `"out":…` or `"failure":…`. */
  readonly field: string;
  readonly failure?: Failure;
}

/** A write with which the owner leaves, and its event. */
interface Leaving<Answer> {
  readonly kind: HistoryEventKind;
  readonly body: string;
  readonly write: (base: OwnerWrite) => Promise<Answer>;
  readonly onWritten: (at: Instant) => void;
}

type Consequences = Pick<Finish, 'outcome' | 'deadLetter' | 'leavesAwaits'>;

const NONE: Consequences = Object.freeze({});

/** Y-10. */
const LEAVES_LETTER: ReadonlySet<TerminalStatus> = new Set<TerminalStatus>([
  'failed',
  'quarantined',
]);

export interface ClaimExitEvents {
  /** Nothing of its code is listened to any more: only the write with which it leaves is under way. */
  leaving(): void;
  /** The execution is with this worker no longer. */
  left(): void;
  troubled(error: unknown): void;
}

export class ClaimExit {
  readonly run: Run;
  readonly #events: ClaimExitEvents;
  #isLeaving = false;
  #wasRejected = false;
  #hasGivenUp = false;

  constructor(run: Run, events: ClaimExitEvents) {
    this.run = run;
    this.#events = events;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  finish(end: End): void {
    const { status, field, failure } = end;
    this.#end({ status, body: `{${field}}`, failure }, () => this.#consequences(end));
  }

  /** The write is the same in every try of it. */
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
  ): void {
    const { config, claimed } = this.run;
    this.#leave({
      kind: status,
      body,
      write: (base) => this.#executions.finish({ ...withoutAwaits(base), status, ...more() }),
      onWritten: (at) => {
        const event = { seq: 0, at, fence: claimed.fence, kind: status, body: body as Payload };
        config.ended({ id: claimed.execution.id, status, endedAt: at, event });
        tellOf(this.run, { kind: 'ended', status, ...(failure && { failure }) });
      },
    });
  }

  /** The consequences of an end: mostly none. */
  #consequences({ status, field, failure }: End): Consequences {
    const { id, parent } = this.run.claimed.execution;
    const { hasAwaited } = this.run.ledger;
    if (parent === undefined && failure === undefined && !hasAwaited) return NONE;
    const outcome = `{"id":"${id}","status":"${status}",${field}}` as Payload;
    const isLetter = failure !== undefined && LEAVES_LETTER.has(status);
    return {
      ...(parent !== undefined && { outcome }),
      ...(isLetter && { deadLetter: this.#letterOf(failure) }),
      ...(hasAwaited && { leavesAwaits: true }),
    };
  }

  continueAs(id: Submit['id'], input: Payload): void {
    const { id: continues, deadlineAt, ...same } = this.run.claimed.execution;
    const { project, pipeline, lane, tags, attributes } = same;
    const { key, intent, parent, concurrency, rate, template } = same;
    const { submittedBy, scheduled, traceparent } = same;
    // The overall deadline stays what it was.
    const deadlineMs = deadlineAt && Math.max(1, Math.ceil(deadlineAt - this.run.storeNow()));
    const successor: Submit = {
      // By which it is known to stay for as long as what it continues (F-2).
      body: JSON.stringify({ continues }) as Payload,
      // Its steps are others, so their idempotency keys are: it begins a lineage.
      ...{ id, project, pipeline, lane, input, lineage: id, tags, attributes },
      ...present({ deadlineMs, key, intent, parent }),
      ...present({ concurrency, rate, template, submittedBy, scheduled, traceparent }),
    };
    // Messages that this code received are in the same write.
    let news: Pick<Finish, 'newsSeen' | 'unread'> | undefined;
    this.#end({ status: 'completed', body: JSON.stringify({ continuedAs: id }) }, () => {
      const { inbox, ledger } = this.run;
      news ??= { newsSeen: inbox.seen, unread: inbox.unread };
      return { successor, ...news, ...(ledger.hasAwaited && { leavesAwaits: true }) };
    });
  }

  /** Y-2: what it did is undone, under a claim of its own. */
  turnBack({ status, field }: Pick<End, 'status' | 'field'>): void {
    this.#leave({
      kind: 'compensating',
      body: `{"status":"${status}",${field}}`,
      write: (base) => this.#executions.giveBack({ ...base, compensating: true }),
      onWritten: () => tellOf(this.run, { kind: 'given-back', why: 'compensating' }),
    });
  }

  drift(drift: Drift): void {
    const { expected, found, seq } = drift;
    const why = `History has ${expected} at event ${seq}; the code asked for ${found} instead. Deploy code that asks for the same, then resume the execution.`;
    this.block(why, drift);
  }

  /** Open, explained, and left alone until it is resumed; unless it was cancelled. */
  block(why: string, about?: Drift | { readonly failure: Failure }): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.run.over();
    this.#blockUnlessCancelled(why, about).catch((fault: unknown) => this.reject(fault));
  }

  /** Blocked, whatever was tried before; and tried again until it is, for as long as the session lives. */
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
        // The store may take it later, and no other worker can do it.
        await config.timers.pause(GIVE_UP_MS, session.signal);
      }
    }
    this.#events.left();
  }

  async #blockUnlessCancelled(why: string, about?: object): Promise<void> {
    const { journal, ledger } = this.run;
    const sentence = ledger.cause === undefined ? why : `What it did cannot be undone: ${why}`;
    const body = JSON.stringify({ why: sentence, ...about }) as Payload;
    for (;;) {
      // A cancel in the inbox would otherwise wait until it is resumed.
      const { seen, cancel } = await lastWordsTo(this.run);
      if (cancel !== undefined && ledger.cause === undefined && !this.#wasRejected) {
        this.#isLeaving = false;
        this.#hasGivenUp = false;
        this.#giveIn(endedBy('cancelled', new ExecutionCancelled(cancel)));
        return;
      }
      const answer = await journal.leave({ kind: 'blocked', body }, (base) =>
        this.#giveBack({ ...base, blocked: true, newsSeen: seen }),
      );
      if (answer?.kind === 'refused') continue;
      if (answer !== undefined) tellOf(this.run, { kind: 'blocked', why: sentence });
      this.#events.left();
      return;
    }
  }

  #giveIn(end: End): void {
    if (compensable(this.run).compensable === true) this.turnBack(end);
    else this.finish(end);
  }

  /** `abandoned`: steps of it still run here, so they may be run twice. */
  giveBack(why: 'stopping' | 'resumed', abandoned = false): void {
    this.#leave({
      kind: 'given-back',
      body: JSON.stringify({
        why,
        ...(abandoned && { abandoned }),
        ...(why === 'resumed' && { taken: this.run.inbox.pauses }),
      }),
      write: (base) => this.#giveBack(base),
      onWritten: () => tellOf(this.run, { kind: 'given-back', why }),
    });
  }

  /** Unless it was resumed, or cancelled, meanwhile. */
  pause(): void {
    const { inbox } = this.run;
    this.#leaveUnlessNews({
      kind: 'paused',
      body: JSON.stringify({ why: 'paused', taken: inbox.pauses }),
      write: (base) => this.#giveBack({ ...base, paused: true, newsSeen: inbox.seen }),
      onWritten: () => tellOf(this.run, { kind: 'given-back', why: 'paused' }),
    });
  }

  /** A write can never be stored: the execution fails with that, if that can be stored. */
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
    this.#leaveUnlessNews({
      kind: 'parked',
      body: JSON.stringify({ for: [...run.calls.keys()].slice(0, NAMED_CALLS_MAX) }),
      write: (base) =>
        this.#executions.park({
          ...base,
          newsSeen: run.inbox.seen,
          wakeAfter: wake.afterChildren,
          ...compensable(run),
          ...(wake.inMs === undefined ? {} : { wakeInMs: Math.max(0, Math.ceil(wake.inMs)) }),
        }),
      onWritten: () => tellOf(this.run, { kind: 'parked' }),
    });
  }

  /** Not over before it is done: something may have arrived, and then it stays. */
  #leaveUnlessNews(how: Leaving<Parked | GivenBack>): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const run = this.run;
    run.journal
      .leave({ kind: how.kind, body: how.body as Payload }, how.write)
      .then((answer) => {
        if (answer?.kind === 'refused') {
          this.#isLeaving = false;
          if (answer.why === 'unseen-news') run.inbox.notice(answer.news);
          run.rest();
          return;
        }
        run.over();
        if (answer !== undefined) how.onWritten(run.storeNow());
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
      (answer) => this.#gone(how, answer),
      (fault: unknown) => this.reject(fault),
    );
  }

  #gone(
    { onWritten }: Leaving<Finished | GivenBack>,
    answer: Finished | GivenBack | undefined,
  ): void {
    try {
      if (answer?.kind === 'finished') onWritten(answer.at);
      else if (answer !== undefined) onWritten(this.run.storeNow());
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

/** W-9: what ends opens nothing. */
function withoutAwaits(write: OwnerWrite): OwnerWrite {
  if (write.awaits === undefined) return write;
  const { awaits: _, ...base } = write;
  return base;
}

/** Y-3. Once registered they stay, also where history cannot be read. */
function compensable({ compensations, claimed }: Run): { readonly compensable?: true } {
  return compensations.isOwed || claimed.execution.compensable ? { compensable: true } : {};
}

/** The first time that one of them is due, the fewest children that one waits for. There may be any number. */
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

// How executions end that do not complete: what was thrown, as the end that is recorded.

export function endedBy(status: 'failed' | 'cancelled', error: unknown): End {
  return { status, ...failed(failureOf(error)) };
}

/** How the code ended instead of making its next call, for the explanation of a drift. */
export function thrownEnd(thrown: unknown): string {
  if (thrown instanceof ContinueAsNew) return 'its end';
  const name = thrown instanceof Error ? `${thrown.name}: ` : '';
  return `its end (it threw ${name}${thrownText(thrown).slice(0, 200)})`;
}

/** By their name: those of another realm, as under some test runners, count too. */
const BUGS: ReadonlySet<string> = new Set(['TypeError', 'ReferenceError']);

/** code that throws this is wrong, and says nothing about the work that it does. */
export function bugOf(pipeline: Pick<AnyPipeline, 'isBug'>, error: unknown): Failure | undefined {
  return !isRejection(error) && isBug(pipeline, error) ? failureOf(error) : undefined;
}

function isBug({ isBug: rule }: Pick<AnyPipeline, 'isBug'>, error: unknown): boolean {
  try {
    if (rule !== undefined) return rule(error) === true;
    return isNativeError(error) && BUGS.has(error.name);
  } catch {
    // A rule that throws is a bug, too.
    return true;
  }
}

export function bugText(failure: Failure): string {
  const thrown = `${failure.code}: ${locatedMessage(failure)}`;
  return `The code threw outside a step, and this looks like a bug: ${thrown}. Nothing was undone. Deploy code that is fixed, then resume the execution; or cancel it.`;
}

/** Trying again cannot help. */
export function endedForGood(error: unknown): End {
  return { status: 'failed', ...failed({ ...failureOf(error), category: 'permanent' }) };
}

export function poisoned(claimed: Claimed): End {
  return { status: 'quarantined', ...failed(poisonOf(claimed)) };
}

/** User code may throw a value that throws when it is inspected. */
export function lookable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('Something was thrown that cannot be described.');
  }
}

/** With where it happened, if that can be told. */
export function stackOf(thrown: unknown): string {
  try {
    const { stack } = thrown as Error;
    return typeof stack === 'string' ? stack : thrownText(thrown);
  } catch {
    return thrownText(thrown);
  }
}

/** Not the code's failure: a key that is missing here, a store that is broken or has been away too long. */
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
    message: `Its last ${execution.fruitlessClaims} claims recorded nothing, and the worker of each died or was lost. After the second it was tried beside no other such execution, by workers that had lived longer without it.`,
  };
}
