// The journal of one claimed execution. It appends events to the history, in order, one write at a
// time. Entries that arrive during a write go together into the next. The journal calls `stored`
// once an entry is durable, never before.
//
// - A refusal that ends the claim: the run is lost, once, and the journal writes nothing more.
// - Any other refusal: the history differs from what this owner expects. The journal writes no more
//   entries of its code, and the exit event follows the stored history.
// - A fault: the store is unavailable or did not respond. The journal repeats the same write until
//   the store responds or the session is over. Repeating is safe.

import type { Attributes } from '../../execution/execution.ts';
import type { HistoryEvent, NewEvent } from '../../execution/history.ts';
import type { Payload } from '../../execution/names.ts';
import type { OwnerRefusal } from '../../execution/refusal.ts';
import type { OwnerVerb } from '../../features/audit/model.ts';
import type { OpenAwait } from '../../features/awaits/model.ts';
import type {
  Attachment,
  Finished,
  GivenBack,
  OwnerWrite,
  Parked,
  Recorded,
  Submit,
  Transact,
  Transacted,
  WorkerExecutions,
} from '../../store/contract/execution-store.ts';
import type { Instant } from '../../support/clock.ts';
import { StoreSealed } from '../../support/fault.ts';
import { present } from '../../support/options.ts';
import { atEndOfTurn } from '../../support/timer.ts';
import {
  ClaimLost,
  HistoryDiffers,
  isClaimOver,
  tried,
  untilReplied,
  verbOf,
  whyOf,
} from '../store-replies.ts';
import { ignored } from './guarded.ts';
import type { Run } from './run.ts';

const HISTORY_PAGE = 1_000;
/** Progress and heartbeats of steps wait this long for another write. */
const PROGRESS_MS = 1_000;

/**
 * `behind`: the stored history is not what this owner expects. `closed`: the journal writes nothing
 * more.
 */
type Phase = 'open' | 'behind' | 'closed';

/**
 * `scheduled`: at the end of this turn. `after-write`: once the store has responded to the current
 * write.
 */
type Flush = 'none' | 'scheduled' | 'after-write';

/** The content of the next write. */
interface Batch {
  readonly entries: Entry[];
  /** The number of entries that are not notes. */
  work: number;
  progress: Payload | undefined;
  /** The code waits until one of the entries is durable. */
  isAwaited: boolean;
}

/** The store's response to a write with which the owner leaves. */
type Left = Finished | Parked | GivenBack;

export class Journal {
  readonly #run: Run;
  readonly #claim: Pick<OwnerWrite, 'id' | 'fence' | 'session'>;
  #phase: Phase = 'open';
  #next: number;
  #batch: Batch = { entries: [], work: 0, progress: undefined, isAwaited: false };
  /** Rejects when a leaving write can never succeed. */
  #writing: Promise<unknown> | undefined;
  /** The last write with which the owner tried to leave. */
  #leaving: Promise<unknown> | undefined;
  #flush: Flush = 'none';
  #cancelFlush: (() => void) | undefined;

  constructor(run: Run) {
    const { execution, fence } = run.claimed;
    this.#run = run;
    this.#claim = { id: execution.id, fence, session: run.session.id };
    this.#next = execution.seq + 1;
  }

  /** True if no entry of the code waits and no write is under way. */
  get isIdle(): boolean {
    return this.#writing === undefined && this.#batch.work === 0;
  }

  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  /** The owner has left, or it does not know yet whether it has. */
  get mayHaveLeft(): boolean {
    return this.#phase === 'closed' || (this.isWriting && this.#writing === this.#leaving);
  }

  /** The next write takes the entry along; `flush` forces one. */
  append(entry: Entry): void {
    if (this.#phase !== 'open') return;
    this.#batch.entries.push(entry);
    if (entry.isNote !== true) this.#batch.work += 1;
  }

  /** True if the checkpoint policy lets the code have the next result before it is durable. */
  get mayDefer(): boolean {
    const { pipeline, ledger } = this.#run;
    const policy = pipeline.checkpoint;
    // Deliver the results that are on their way to the code first, as a replay does.
    if (this.#batch.isAwaited || ledger.settlements.length > 0) return false;
    // The last step of a group waits until the whole group is durable.
    if (policy.every === 'steps') return this.#batch.work + 1 < policy.steps;
    return policy.every !== 'step';
  }

  /** Appends a result that the code already has. */
  defer(event: NewEvent): void {
    this.append({ event, stored: ignored });
    const policy = this.#run.pipeline.checkpoint;
    if (policy.every === 'time') this.flushWithin(policy.ms);
  }

  /** Writes soon, together with the other entries of this turn. */
  record(entry: Entry): void {
    this.#batch.isAwaited = true;
    this.append(entry);
    this.flush();
  }

  /** Resolves when no write is under way and no entry waits. */
  async settled(): Promise<void> {
    while (this.#phase !== 'closed' && (this.#writing !== undefined || this.#batch.work > 0)) {
      this.flush();
      await this.#writing?.catch(ignored);
    }
  }

  /** Goes with the next write, or alone after a second. */
  report(progress: Payload): void {
    this.#batch.progress = progress;
    this.flushWithin(PROGRESS_MS);
  }

  /** As `report`, for an event that no call waits for. */
  appendSoon(entry: Entry): void {
    this.append(entry);
    this.flushWithin(PROGRESS_MS);
  }

  /** As `report`, for heartbeats of steps. */
  reportHeartbeats(): void {
    this.flushWithin(PROGRESS_MS);
  }

  flush(): void {
    if (this.#flush === 'scheduled' || this.#phase === 'closed') return;
    if (this.#writing !== undefined) {
      this.#flush = 'after-write';
      return;
    }
    this.#flush = 'scheduled';
    atEndOfTurn(this.#flushNow);
  }

  /** Writes the appended entries within this time. */
  flushWithin(ms: number): void {
    this.#cancelFlush ??= this.#run.config.timers.after(ms, () => {
      this.#cancelFlush = undefined;
      this.flush();
    });
  }

  stopWaiting(): void {
    this.#cancelFlush?.();
  }

  /** One shared function instead of a closure per flush, because flushes are the hot path. */
  readonly #flushNow = (): void => {
    this.#flush = 'none';
    if (this.#phase === 'closed') return;
    if (this.#writing !== undefined) this.#flush = 'after-write';
    else if (this.#batch.work > 0 || this.#hasReports) this.#write();
  };

  /**
   * The write with which the owner leaves. It includes all waiting entries, in one transaction.
   * Returns undefined when the claim was lost or the owner has left already.
   */
  leave<Outcome extends Left>(
    event: NewEvent,
    write: (base: OwnerWrite) => Promise<Outcome>,
  ): Promise<Outcome | undefined> {
    const isFree = this.#phase === 'open' && this.#writing === undefined;
    return isFree ? this.#leaveNow(event, write) : this.#leaveLater(event, write);
  }

  async #leaveLater<Outcome extends Left>(
    event: NewEvent,
    write: (base: OwnerWrite) => Promise<Outcome>,
  ): Promise<Outcome | undefined> {
    if (this.#phase === 'behind') await this.#catchUp();
    while (this.#writing !== undefined) await this.#writing.catch(ignored);
    return this.#phase === 'closed' ? undefined : this.#leaveNow(event, write);
  }

  /**
   * Like `#write`, the first try takes the short path. Later entries wait, because two writes would
   * race for one seq.
   */
  #leaveNow<Outcome extends Left>(
    event: NewEvent,
    write: (base: OwnerWrite) => Promise<Outcome>,
  ): Promise<Outcome | undefined> {
    const entries = this.#take();
    const base = this.#base([...entries.map(eventOf), event], entries);
    const leaving = { event, entries, base };
    const left = tried(() => write(base)).then(
      (outcome) => this.#left(leaving, outcome),
      (fault: unknown) => this.#leaveAgain(leaving, write, fault),
    );
    this.#writing = left;
    this.#leaving = left;
    return left;
  }

  async #leaveAgain<Outcome extends Left>(
    leaving: Leaving,
    write: (base: OwnerWrite) => Promise<Outcome>,
    fault: unknown,
  ): Promise<Outcome | undefined> {
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#untilReplied(() => write(leaving.base), fault);
    } catch (rejection) {
      if (await this.#keep(leaving)) throw rejection;
    } finally {
      this.#writing = undefined;
    }
    return outcome === undefined ? undefined : this.#left(leaving, outcome);
  }

  /**
   * Records entries that went with a leaving write which the store can never accept. The reason may
   * be the end, and the steps before it must not run again. False if the claim is over.
   */
  async #keep({ entries, base: refused }: Leaving): Promise<boolean> {
    if (entries.every(({ isNote }) => isNote)) return true;
    if (refused.heartbeats !== undefined) this.#run.heartbeats.putBack();
    const base = this.#base(entries.map(eventOf), entries);
    const outcome = await this.#untilReplied(() => this.#executions.record(base));
    if (outcome?.kind === 'recorded') this.#next += entries.length;
    else if (outcome !== undefined) {
      this.#note('record', outcome);
      const differs = this.#lose(outcome);
      if (differs !== undefined) throw differs;
    }
    return outcome?.kind === 'recorded';
  }

  #left<Outcome extends Left>(
    { event, entries, base }: Leaving,
    outcome: Outcome,
  ): Outcome | undefined {
    this.#writing = undefined;
    if (outcome.kind !== 'refused') {
      this.#phase = 'closed';
      return outcome;
    }
    if (outcome.why !== 'unread-messages') {
      this.#note(verbOf(event.kind), outcome);
      const fault = this.#lose(outcome);
      if (fault !== undefined) throw fault;
      return undefined;
    }
    // The store wrote nothing, so the entries go back into the batch.
    for (const entry of [...entries, ...this.#take()]) this.append(entry);
    this.#batch.progress ??= base.progress;
    if (base.heartbeats !== undefined) this.#run.heartbeats.putBack();
    this.#goOn();
    return outcome;
  }

  /** Finds the real end of the history, which this owner did not expect. */
  async #catchUp(): Promise<void> {
    const { id } = this.#claim;
    const row = await this.#untilReplied(() => this.#executions.read(id));
    for (let last = row?.seq; last !== undefined; ) {
      const query = { id, after: last, limit: HISTORY_PAGE };
      const page = await this.#untilReplied(() => this.#executions.history(query));
      this.#next = last + 1;
      last = page?.at(-1)?.seq;
    }
  }

  /** Runs a write of the user and its event in one transaction. */
  async transact<Result>(
    transact: Pick<Transact<Result>, 'work' | 'events'>,
  ): Promise<Exclude<Transacted<Result>, { kind: 'refused' }> | Already | undefined> {
    while (this.#writing !== undefined || this.#batch.work > 0) {
      this.flush();
      await this.#writing?.catch(ignored);
    }
    if (this.#phase === 'closed') return undefined;
    // Hold the journal until the outcome is known, because every other write needs the next seq.
    const done = Promise.withResolvers<void>();
    this.#writing = done.promise;
    try {
      const request = { ...this.#claim, seq: this.#next, ...transact };
      const outcome = await this.#untilReplied(() => this.#executions.transact(request));
      if (outcome === undefined) return undefined;
      if (outcome.kind === 'refused') return await this.#afterRefusedTransact(outcome);
      if (outcome.kind === 'recorded') {
        this.#next += 1;
        this.#run.noteInbox(outcome.inboxCount);
      }
      return outcome;
    } finally {
      this.#writing = undefined;
      done.resolve();
      this.#goOn();
      this.#run.written();
    }
  }

  /** If this claim itself took the seq, an earlier try succeeded and its response was lost. */
  async #afterRefusedTransact(refusal: OwnerRefusal): Promise<Already | undefined> {
    if (refusal.why === 'seq-taken') {
      const { id, fence } = this.#claim;
      const query = { id, after: this.#next - 1, limit: 1 };
      const [event] = (await this.#untilReplied(() => this.#executions.history(query))) ?? [];
      if (event?.fence === fence) {
        this.#next += 1;
        return { kind: 'already', event };
      }
    }
    this.#refused('transact', refusal);
    return undefined;
  }

  /** The journal writes nothing from here on. */
  close(): void {
    this.#phase = 'closed';
    this.#take();
  }

  get #hasReports(): boolean {
    return this.#batch.progress !== undefined || this.#run.heartbeats.isChanged;
  }

  get #executions(): WorkerExecutions {
    return this.#run.config.store.executions;
  }

  #take(): readonly Entry[] {
    const { entries, progress, isAwaited } = this.#batch;
    this.#batch = { entries: [], work: 0, progress, isAwaited };
    return entries;
  }

  #base(events: readonly NewEvent[], entries: readonly Entry[]): OwnerWrite {
    const { id, fence, session } = this.#claim;
    const plain = { id, fence, session, seq: this.#next, events };
    if (!this.#hasReports && entries.every(isPlain)) return plain;
    const { progress } = this.#batch;
    this.#batch.progress = undefined;
    const heartbeats = this.#run.heartbeats.take();
    return { ...plain, ...brought(entries), ...present({ progress, heartbeats }) };
  }

  /** The first try takes the short path, because it is nearly always the only one. */
  #write(): void {
    const entries = this.#batch.work > 0 ? this.#take() : [];
    const base = this.#base(entries.map(eventOf), entries);
    this.#writing = this.#executions.record(base).then(
      (outcome) => this.#recorded(entries, outcome),
      (fault: unknown) => this.#recordAgain(entries, base, fault),
    );
  }

  async #recordAgain(entries: readonly Entry[], base: OwnerWrite, fault: unknown): Promise<void> {
    try {
      const outcome = await this.#untilReplied(() => this.#executions.record(base), fault);
      if (outcome === undefined) this.#writing = undefined;
      else this.#recorded(entries, outcome);
    } catch (rejection) {
      // The store wrote none of it, and no entry that depends on it may follow.
      this.#writing = undefined;
      this.#take();
      this.#run.rejected(rejection);
    }
  }

  #recorded(entries: readonly Entry[], outcome: Recorded): void {
    this.#writing = undefined;
    if (outcome.kind === 'refused') {
      this.#refused('record', outcome);
      return;
    }
    if (this.#phase === 'closed') return;
    this.#next += entries.length;
    try {
      // Read the inbox first: code must not run past a cancellation that came with this response.
      this.#run.noteInbox(outcome.inboxCount);
      // `record` flushes, so this write has every recorded entry.
      if (this.#batch.work === 0) this.#batch.isAwaited = false;
      for (const entry of entries) entry.stored(outcome.at);
      this.#goOn();
      this.#run.written();
    } catch (error) {
      this.#run.troubled(error);
    }
  }

  /**
   * Entries that were only appended keep waiting: the checkpoint policy decides when to write them.
   */
  #goOn(): void {
    if (this.#flush !== 'after-write') return;
    this.#flush = 'none';
    this.flush();
  }

  #refused(verb: OwnerVerb, refusal: OwnerRefusal): void {
    this.#note(verb, refusal);
    const fault = this.#lose(refusal);
    if (fault !== undefined) this.#run.rejected(fault);
  }

  /** Counts the refused write for the operator (J-10). */
  #note(verb: OwnerVerb, refusal: OwnerRefusal): void {
    const { config, claimed, session } = this.#run;
    const { id: execution, ...claim } = this.#claim;
    const { project } = claimed.execution;
    const from = { owner: session.owner, transport: 'embedded' } as const;
    const write = { execution, ...claim, project, ...from, verb };
    config.refusals?.note({ ...write, ...whyOf(refusal) });
  }

  /** Returns a fault when the refusal does not mean that the claim is over. */
  #lose(refusal: OwnerRefusal): HistoryDiffers | undefined {
    if (this.#phase === 'closed') return undefined;
    if (!isClaimOver(refusal)) {
      this.#phase = 'behind';
      this.#take();
      return new HistoryDiffers(refusal);
    }
    this.#end(new ClaimLost(refusal));
    return undefined;
  }

  /**
   * Repeats the call until the store replies. Returns undefined if the store is sealed: the claim is
   * over, and the store that imports the export continues the execution (EX-1).
   */
  async #untilReplied<Outcome>(
    call: () => Promise<Outcome>,
    fault?: unknown,
  ): Promise<Outcome | undefined> {
    try {
      return await untilReplied(this.#run, call, fault);
    } catch (last) {
      if (!(last instanceof StoreSealed)) throw last;
      if (this.#phase !== 'closed') this.#end(last);
      return undefined;
    }
  }

  #end(reason: Error): void {
    this.close();
    this.#run.lost(reason);
  }
}

// An entry of the journal: an event, and the rows stored together with it.

export interface Entry {
  readonly event: NewEvent;
  readonly children?: readonly Submit[];
  readonly awaits?: readonly OpenAwait[];
  readonly attachment?: Attachment;
  /** All attributes of the execution, from this event on. */
  readonly attributes?: Attributes;
  /**
   * The journal writes a note only together with other entries, because a note proves no progress
   * (X-53).
   */
  readonly isNote?: true;
  /** The journal calls this once the entry is durable. */
  stored(at: Instant): void;
}

/** A leaving write that is under way. */
export interface Leaving {
  readonly event: NewEvent;
  readonly entries: readonly Entry[];
  readonly base: OwnerWrite;
}

export function eventOf({ event }: Entry): NewEvent {
  return event;
}

/** True if the entry has nothing but its event. */
function isPlain({ children, awaits, attachment, attributes }: Entry): boolean {
  const isWithoutRows = children === undefined && awaits === undefined && attachment === undefined;
  return isWithoutRows && attributes === undefined;
}

/** Collects the rows of the entries, apart from their events, for one write. */
export function brought(
  entries: readonly Entry[],
): Pick<OwnerWrite, 'children' | 'awaits' | 'attachments' | 'attributes'> {
  const children = entries.flatMap((entry) => entry.children ?? []);
  const awaits = entries.flatMap((entry) => entry.awaits ?? []);
  const attachments = entries.flatMap((entry) => entry.attachment ?? []);
  return {
    ...(children.length > 0 ? { children } : {}),
    ...(awaits.length > 0 ? { awaits } : {}),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...present({ attributes: entries.findLast((entry) => entry.attributes)?.attributes }),
  };
}

/** An earlier try recorded the event. */
interface Already {
  readonly kind: 'already';
  readonly event: HistoryEvent;
}
