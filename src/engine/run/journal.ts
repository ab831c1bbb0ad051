// The journal of one claimed execution: puts events into its history, in order, one write at a time.
// Entries that come while a write is under way go together into the next. What it was told is durable
// when `stored` is called, never before.
//
//   - A refusal means that the claim is over: the run is lost, once, and nothing is written any more. One
//     that means something else says that history is not what this owner takes it for: then nothing of
//     its code is written any more, and it leaves after what is there.
//   - A fault means that the store is away or has not answered: the same write is repeated until it is
//     answered or the session is over. Repeating is safe.

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
import { atEndOfTurn } from '../../support/timer.ts';
import {
  ClaimLost,
  HistoryDiffers,
  isClaimOver,
  tried,
  untilAnswered,
  verbOf,
  whyOf,
} from '../store-answers.ts';
import { ignored } from './guarded.ts';
import type { Run } from './run.ts';

const HISTORY_PAGE = 1_000;
const PROGRESS_MS = 1_000;

/** `behind`: what is stored is not what this owner takes it for. `closed`: nothing is written from here on. */
type Phase = 'open' | 'behind' | 'closed';

/** `scheduled`: at the end of this turn. `after-write`: once the write that is under way has been answered. */
type Flush = 'none' | 'scheduled' | 'after-write';

/** The content of the next write. */
interface Batch {
  readonly entries: Entry[];
  /** How many of them are not notes. */
  work: number;
  progress: Payload | undefined;
  /** Something that was recorded until now is to be told to the code when it is durable. */
  isAwaited: boolean;
}

/** How a store answers a write with which the owner leaves. */
type Left = Finished | Parked | GivenBack;

export class Journal {
  readonly #run: Run;
  readonly #claim: Pick<OwnerWrite, 'id' | 'fence' | 'session'>;
  #phase: Phase = 'open';
  #next: number;
  #batch: Batch = { entries: [], work: 0, progress: undefined, isAwaited: false };
  /** Rejects when it was a write to leave with that can never be done. */
  #writing: Promise<unknown> | undefined;
  #flush: Flush = 'none';
  #cancelFlush: (() => void) | undefined;

  constructor(run: Run) {
    const { execution, fence } = run.claimed;
    this.#run = run;
    this.#claim = { id: execution.id, fence, session: run.session.id };
    this.#next = execution.seq + 1;
  }

  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  /** Written with what comes next, or by `flush`. */
  append(entry: Entry): void {
    if (this.#phase !== 'open') return;
    this.#batch.entries.push(entry);
    if (entry.isNote !== true) this.#batch.work += 1;
  }

  /** Whether the next result need not be durable before the code gets it: the checkpoint policy says so. */
  get mayDefer(): boolean {
    const { pipeline, ledger } = this.#run;
    const policy = pipeline.checkpoint;
    // Results that are on their way to the code are delivered first, as in a replay.
    if (this.#batch.isAwaited || ledger.settlements.length > 0) return false;
    // The step that fills the measure waits until all of them are durable.
    if (policy.every === 'steps') return this.#batch.work + 1 < policy.steps;
    return policy.every !== 'step';
  }

  /** The code has the result already. */
  defer(event: NewEvent): void {
    this.append({ event, stored: ignored });
    const policy = this.#run.pipeline.checkpoint;
    if (policy.every === 'time') this.flushWithin(policy.ms);
  }

  /** Written now, together with what else comes in this turn. */
  record(entry: Entry): void {
    this.#batch.isAwaited = true;
    this.append(entry);
    this.flush();
  }

  /** Nothing is being written and nothing waits to be. */
  async settled(): Promise<void> {
    while (this.#phase !== 'closed' && (this.#writing !== undefined || this.#batch.work > 0)) {
      this.flush();
      await this.#writing?.catch(ignored);
    }
  }

  /** Kept with the next write, or by itself after a second. */
  report(progress: Payload): void {
    this.#batch.progress = progress;
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

  /** Not later than this; what is appended may wait that long. */
  flushWithin(ms: number): void {
    this.#cancelFlush ??= this.#run.config.timers.after(ms, () => {
      this.#cancelFlush = undefined;
      this.flush();
    });
  }

  stopWaiting(): void {
    this.#cancelFlush?.();
  }

  /** One function for all flushes: they are the hot path. */
  readonly #flushNow = (): void => {
    this.#flush = 'none';
    if (this.#phase === 'closed') return;
    if (this.#writing !== undefined) this.#flush = 'after-write';
    else if (this.#batch.work > 0 || this.#batch.progress !== undefined) this.#write();
  };

  /**
   * The write with which the owner leaves: everything that waits goes with it, in the same transaction.
   * Undefined when the claim was lost, or has been left already.
   */
  leave<Answer extends Left>(
    event: NewEvent,
    write: (base: OwnerWrite) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const isFree = this.#phase === 'open' && this.#writing === undefined;
    return isFree ? this.#leaveNow(event, write) : this.#leaveLater(event, write);
  }

  async #leaveLater<Answer extends Left>(
    event: NewEvent,
    write: (base: OwnerWrite) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    if (this.#phase === 'behind') await this.#catchUp();
    while (this.#writing !== undefined) await this.#writing.catch(ignored);
    return this.#phase === 'closed' ? undefined : this.#leaveNow(event, write);
  }

  /** As `#write`: the first try without ceremony. What comes meanwhile waits: two writes would race for one seq. */
  #leaveNow<Answer extends Left>(
    event: NewEvent,
    write: (base: OwnerWrite) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const entries = this.#take();
    const base = this.#base([...entries.map(eventOf), event], entries);
    const leaving = { event, entries, base };
    const left = tried(() => write(base)).then(
      (answer) => this.#left(leaving, answer),
      (fault: unknown) => this.#leaveAgain(leaving, write, fault),
    );
    this.#writing = left;
    return left;
  }

  async #leaveAgain<Answer extends Left>(
    leaving: Leaving,
    write: (base: OwnerWrite) => Promise<Answer>,
    fault: unknown,
  ): Promise<Answer | undefined> {
    let answer: Answer | undefined;
    try {
      answer = await this.#untilAnswered(() => write(leaving.base), fault);
    } finally {
      this.#writing = undefined;
    }
    return answer === undefined ? undefined : this.#left(leaving, answer);
  }

  #left<Answer extends Left>(
    { event, entries, base }: Leaving,
    answer: Answer,
  ): Answer | undefined {
    this.#writing = undefined;
    if (answer.kind !== 'refused') {
      this.#phase = 'closed';
      return answer;
    }
    if (answer.why !== 'unseen-news') {
      this.#note(verbOf(event.kind), answer);
      const fault = this.#lose(answer);
      if (fault !== undefined) throw fault;
      return undefined;
    }
    // Nothing was written: the entries are still to be.
    for (const entry of [...entries, ...this.#take()]) this.append(entry);
    this.#batch.progress ??= base.progress;
    this.#goOn();
    return answer;
  }

  /** Where history ends, whatever this owner took it for. */
  async #catchUp(): Promise<void> {
    const { id } = this.#claim;
    const row = await this.#untilAnswered(() => this.#executions.read(id));
    for (let last = row?.seq; last !== undefined; ) {
      const query = { id, after: last, limit: HISTORY_PAGE };
      const page = await this.#untilAnswered(() => this.#executions.history(query));
      this.#next = last + 1;
      last = page?.at(-1)?.seq;
    }
  }

  /** A write of the user's own, with its event, in one transaction. */
  async transact<Result>(
    transact: Pick<Transact<Result>, 'work' | 'events'>,
  ): Promise<Exclude<Transacted<Result>, { kind: 'refused' }> | Already | undefined> {
    while (this.#writing !== undefined || this.#batch.work > 0) {
      this.flush();
      await this.#writing?.catch(ignored);
    }
    if (this.#phase === 'closed') return undefined;
    // Held until the outcome is known: whatever else is written needs the next seq.
    const done = Promise.withResolvers<void>();
    this.#writing = done.promise;
    try {
      const request = { ...this.#claim, seq: this.#next, ...transact };
      const answer = await this.#untilAnswered(() => this.#executions.transact(request));
      if (answer === undefined) return undefined;
      if (answer.kind === 'refused') return await this.#afterRefusedTransact(answer);
      if (answer.kind === 'recorded') {
        this.#next += 1;
        this.#run.news(answer.news);
      }
      return answer;
    } finally {
      this.#writing = undefined;
      done.resolve();
      this.#goOn();
      this.#run.written();
    }
  }

  /** Taken by this very claim: a try whose answer was lost had been done after all. */
  async #afterRefusedTransact(refusal: OwnerRefusal): Promise<Already | undefined> {
    if (refusal.why === 'seq-taken') {
      const { id, fence } = this.#claim;
      const query = { id, after: this.#next - 1, limit: 1 };
      const [event] = (await this.#untilAnswered(() => this.#executions.history(query))) ?? [];
      if (event?.fence === fence) {
        this.#next += 1;
        return { kind: 'already', event };
      }
    }
    this.#refused('transact', refusal);
    return undefined;
  }

  /** Nothing is written from here on. */
  close(): void {
    this.#phase = 'closed';
    this.#take();
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
    const { progress } = this.#batch;
    if (progress === undefined && entries.every(isPlain)) return plain;
    this.#batch.progress = undefined;
    return { ...plain, ...brought(entries), ...(progress === undefined ? {} : { progress }) };
  }

  /** The first try without ceremony, since it is nearly always the only one. */
  #write(): void {
    const entries = this.#batch.work > 0 ? this.#take() : [];
    const base = this.#base(entries.map(eventOf), entries);
    this.#writing = this.#executions.record(base).then(
      (answer) => this.#recorded(entries, answer),
      (fault: unknown) => this.#recordAgain(entries, base, fault),
    );
  }

  async #recordAgain(entries: readonly Entry[], base: OwnerWrite, fault: unknown): Promise<void> {
    try {
      const answer = await this.#untilAnswered(() => this.#executions.record(base), fault);
      if (answer === undefined) this.#writing = undefined;
      else this.#recorded(entries, answer);
    } catch (rejection) {
      // Nothing of it was written, and nothing that follows from it may be.
      this.#writing = undefined;
      this.#take();
      this.#run.rejected(rejection);
    }
  }

  #recorded(entries: readonly Entry[], answer: Recorded): void {
    this.#writing = undefined;
    if (answer.kind === 'refused') {
      this.#refused('record', answer);
      return;
    }
    if (this.#phase === 'closed') return;
    this.#next += entries.length;
    try {
      // First what others said: code does not run past a cancellation that came with this answer.
      this.#run.news(answer.news);
      // Everything that was recorded until now is in what was written: `record` flushes.
      if (this.#batch.work === 0) this.#batch.isAwaited = false;
      for (const entry of entries) entry.stored(answer.at);
      this.#goOn();
      this.#run.written();
    } catch (error) {
      this.#run.troubled(error);
    }
  }

  /** Entries that were only appended wait on: the checkpoint policy decides when they are written. */
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

  /** J-10. */
  #note(verb: OwnerVerb, refusal: OwnerRefusal): void {
    const { config, claimed, session } = this.#run;
    const { id: execution, ...claim } = this.#claim;
    const { project } = claimed.execution;
    const write = { execution, ...claim, project, owner: session.owner, verb };
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

  /** EX-1: the claim ended with a seal; what is left to do is done where the store was moved to. */
  async #untilAnswered<Answer>(
    call: () => Promise<Answer>,
    fault?: unknown,
  ): Promise<Answer | undefined> {
    try {
      return await untilAnswered(this.#run, call, fault);
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

// An entry of the journal: an event, and rows that are stored together with it.

export interface Entry {
  readonly event: NewEvent;
  readonly children?: readonly Submit[];
  readonly awaits?: readonly OpenAwait[];
  readonly attachment?: Attachment;
  /** Written only together with entries that are not: it proves no progress. */
  readonly isNote?: true;
  /** After it is durable. */
  stored(at: Instant): void;
}

/** A write with which the owner leaves, while it is under way. */
export interface Leaving {
  readonly event: NewEvent;
  readonly entries: readonly Entry[];
  readonly base: OwnerWrite;
}

export function eventOf({ event }: Entry): NewEvent {
  return event;
}

/** Brings nothing but its event. */
function isPlain({ children, awaits, attachment }: Entry): boolean {
  return children === undefined && awaits === undefined && attachment === undefined;
}

/** All that the entries bring beside their events, for one write. */
export function brought(
  entries: readonly Entry[],
): Pick<OwnerWrite, 'children' | 'awaits' | 'attachments'> {
  const children = entries.flatMap((entry) => entry.children ?? []);
  const awaits = entries.flatMap((entry) => entry.awaits ?? []);
  const attachments = entries.flatMap((entry) => entry.attachment ?? []);
  return {
    ...(children.length > 0 ? { children } : {}),
    ...(awaits.length > 0 ? { awaits } : {}),
    ...(attachments.length > 0 ? { attachments } : {}),
  };
}

/** The event was recorded by an earlier try. */
interface Already {
  readonly kind: 'already';
  readonly event: HistoryEvent;
}
