// The open database: group commit for writes, snapshots for reads.
//
//   verbs ──▶ queue ──▶ flush: begin immediate · read the clock · every operation · commit ──▶ results
//                ▲                     │ another process has the lock: pause, then try again
//                └─────────────────────┘
//
//   - An answer leaves only after its COMMIT succeeded (P3).
//   - No batching delay: a flush takes all queued operations, and later ones wait for the next.
//   - An operation that throws is undone and rejected alone. Throwing means a bug or a failing disk,
//     so the first pass has no savepoints. After a throw, the flush repeats with one each.

import type { WakeupCause, WokenProjects } from '../../execution/wakeups.ts';
import { describeSeal, type Seal } from '../../features/export/model.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import {
  OutcomeUnknown,
  StoreCorrupt,
  StoreSealed,
  StoreUnavailable,
} from '../../support/fault.ts';
import { Listeners } from '../../support/listeners.ts';
import { thrownText } from '../../support/options.ts';
import { jittered, type Random } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';
import { type Connection, isBusy, isFull, positional, toFault } from './connection.ts';
import type { OtherProcesses } from './other-processes.ts';
import { StoreClock } from './store-clock.ts';
import { type ReadTransaction, Transaction, TransactionUndone } from './transaction.ts';

export interface DatabaseConfig {
  readonly policy: LeasePolicy;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly busyTimeoutMs: number;
  /** Absent if no other process can open the database, and in tests that replace the timers. */
  readonly others?: OtherProcesses;
  /**
   * For tests that end the process: runs around every commit that contains an execution verb
   * (X-24).
   */
  readonly onBoundary?: (phase: 'before' | 'after', n: number) => void;
}

/** Bounds the time for which one flush holds the lock and the event loop. */
const FLUSH_OPERATIONS_MAX = 1_000;

/** Longer pauses would let a process that flushes without pause starve the others. */
const BUSY_PAUSE_MS_MAX = 3;

type Operation = (transaction: Transaction, request: unknown) => unknown;

/**
 * The kind of an operation. The store counts commits that contain an execution verb. A seal
 * stops all kinds except its own.
 */
type Subject = 'leases' | 'executions' | 'seals';

interface Queued {
  readonly operation: Operation;
  readonly request: unknown;
  readonly subject: Subject;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
  result: unknown;
  waitedMs: number;
}

const READ_META = 'select clock_at, clock_seen, sealed from meta where id = 1';

const KEEP_CLOCK = positional(
  'now seen',
  `
  update meta
     set clock_at = :now,
         clock_seen = :seen
   where id = 1
     and clock_at < :now`,
);

/** As an array, because every transaction reads it. */
type MetaRow = readonly [clockAt: number, clockSeen: string | null, sealed: string | null];

function readMeta(connection: Connection): MetaRow {
  const row = connection.arrays<MetaRow>(READ_META).get();
  if (row === undefined) throw new StoreCorrupt('The row of table "meta" is missing.');
  return row;
}

/** Sets the time of a transaction and stores it (C-2). */
function tick(connection: Connection, clock: StoreClock, meta: MetaRow): Instant {
  const [clockAt, clockSeen, sealed] = meta;
  const now = clock.read(clockAt, clockSeen);
  if (sealed === null && now > clockAt) connection.statement(KEEP_CLOCK).run(now, clock.kept);
  return now;
}

function sealedFault(sealed: string): StoreSealed {
  return new StoreSealed(describeSeal(JSON.parse(sealed) as Seal));
}

/** Waits for the write lock, or fails, before anything is read. */
const LOCK = 'update meta set clock_at = clock_at where id = 1';

/** Expects an open transaction of a caller. */
export function joinTransaction(
  connection: Connection,
  { policy, clock }: { readonly policy: LeasePolicy; readonly clock: StoreClock },
): Transaction {
  connection.run(LOCK);
  const meta = readMeta(connection);
  const [, , sealed] = meta;
  if (sealed !== null) throw sealedFault(sealed);
  return new Transaction(connection, policy, tick(connection, clock, meta));
}

export class Database {
  readonly hints: Listeners<[LeaseKey]> = new Listeners();
  readonly #wakeups: Listeners<[WokenProjects, WakeupCause?]> = new Listeners();
  readonly #connection: Connection;
  readonly #config: DatabaseConfig;
  readonly #clock: StoreClock;
  #queue: Queued[] = [];
  #isScheduled = false;
  /** The next flush undoes and rejects operations one by one. */
  #isolates = false;
  #boundaries = 0;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(connection: Connection, config: DatabaseConfig) {
    this.#connection = connection;
    this.#config = config;
    this.#clock = new StoreClock(config.clock);
  }

  /** The number of operations that wait for the next flush. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Runs a whole transition in the next flush. It may run twice, so it must use nothing but its
   * transaction.
   */
  write<Result>(operation: (transaction: Transaction) => Result): Promise<Result> {
    return this.#enqueue(operation as Operation, undefined, 'leases') as Promise<Result>;
  }

  /** Like `write`, for a verb of executions. It passes the request without a closure. */
  perform<Request, Result>(
    verb: (transaction: Transaction, request: Request) => Result,
    request: Request,
  ): Promise<Result> {
    return this.#enqueue(verb as Operation, request, 'executions') as Promise<Result>;
  }

  /** For the verbs of seals, which a seal does not stop. */
  operate<Result>(operation: (transaction: Transaction) => Result): Promise<Result> {
    return this.#enqueue(operation as Operation, undefined, 'seals') as Promise<Result>;
  }

  #enqueue(operation: Operation, request: unknown, subject: Subject): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      if (this.#closing !== undefined) return reject(closedFault());
      const result = undefined;
      const waitedMs = 0;
      this.#queue.push({ operation, request, subject, resolve, reject, result, waitedMs });
      this.#schedule();
    });
  }

  /** Runs at once on a snapshot of what all processes have committed. */
  async read<Result>(operation: (transaction: ReadTransaction) => Result): Promise<Result> {
    for (let waitedMs = 0, tries = 1; ; tries += 1) {
      if (this.#closing !== undefined) throw closedFault();
      try {
        return this.#snapshot(operation);
      } catch (error) {
        if (!isBusy(error)) throw toFault(error);
        if (waitedMs >= this.#config.busyTimeoutMs) throw busyFault(error, waitedMs);
      }
      waitedMs += await this.#pauseAfter(tries);
    }
  }

  /**
   * Calls the listener once per flush in which an execution may have become ready or has ended, and
   * when another process had such a flush.
   */
  onWakeup(listener: (projects?: WokenProjects, cause?: WakeupCause) => void): () => void {
    this.#config.others?.watch(() => this.#wakeups.call(undefined));
    return this.#wakeups.listen(listener);
  }

  /** Milliseconds by which store time was ahead of the host's clock in the last transaction. */
  get leadMs(): number {
    return this.#clock.leadMs;
  }

  get policy(): LeasePolicy {
    return this.#config.policy;
  }

  get clock(): Clock {
    return this.#config.clock;
  }

  /** The absolute path of the file; empty in memory. */
  get file(): string {
    return this.#connection.file;
  }

  /** Waits until every queued operation has its result. */
  close(): Promise<void> {
    this.#closing ??= this.#drain().then(() => {
      this.hints.clear();
      this.#wakeups.clear();
      this.#config.others?.close();
      this.#connection.close();
    });
    return this.#closing;
  }

  async #drain(): Promise<void> {
    if (!this.#isScheduled) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #snapshot<Result>(operation: (transaction: ReadTransaction) => Result): Result {
    this.#connection.run('begin');
    try {
      const [clockAt, clockSeen] = readMeta(this.#connection);
      const now = this.#clock.read(clockAt, clockSeen);
      return operation(new Transaction(this.#connection, this.#config.policy, now));
    } finally {
      if (this.#connection.isInTransaction) this.#connection.run('rollback');
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#config.timers.soon(() => this.#flush(1));
  }

  #flush(tries: number): void {
    try {
      this.#connection.run('begin immediate');
    } catch (error) {
      if (isBusy(error)) this.#waitForLock(error, tries);
      else this.#failAll(this.#take(), error);
      return;
    }
    const batch = this.#take();
    try {
      this.#commit(batch);
    } catch (error) {
      this.#connection.undo();
      this.#failAll(batch, error);
      return;
    }
    this.#goOn();
  }

  /** For operations that were certainly not applied. */
  #failAll(batch: readonly Queued[], error: unknown): void {
    for (const queued of batch) queued.reject(toFault(error));
    this.#goOn();
  }

  #goOn(): void {
    this.#isScheduled = false;
    if (this.#queue.length > 0) this.#schedule();
    else this.#idle?.();
  }

  #take(): readonly Queued[] {
    if (this.#queue.length > FLUSH_OPERATIONS_MAX)
      return this.#queue.splice(0, FLUSH_OPERATIONS_MAX);
    const all = this.#queue;
    this.#queue = [];
    return all;
  }

  /** Expects a transaction that has just begun, and leaves none open. */
  #commit(taken: readonly Queued[]): void {
    const meta = readMeta(this.#connection);
    const [, , sealed] = meta;
    const batch = sealed === null ? taken : this.#admit(taken, sealed);
    const now = tick(this.#connection, this.#clock, meta);
    const transaction = new Transaction(this.#connection, this.#config.policy, now);
    const performed = this.#isolates
      ? this.#performIsolated(batch, transaction)
      : this.#performTogether(batch, transaction);
    if (performed === undefined) return;
    const hints = this.hints.size === 0 ? [] : transaction.hints();
    const isBoundary = performed.some(({ subject }) => subject === 'executions');
    if (isBoundary) this.#config.onBoundary?.('before', ++this.#boundaries);
    try {
      this.#connection.run('commit');
    } catch (error) {
      const fault = this.#afterFailedCommit(error);
      for (const queued of performed) queued.reject(fault);
      return;
    }
    if (isBoundary) this.#config.onBoundary?.('after', this.#boundaries);
    for (const queued of performed) queued.resolve(queued.result);
    for (const key of hints) this.hints.call(key);
    if (!transaction.notifies) return;
    this.wake(transaction.woken, transaction.cause);
  }

  /** Wakes this process and the others that have the file. */
  wake(projects?: WokenProjects, cause?: WakeupCause): void {
    this.#wakeups.call(projects, cause);
    this.#config.others?.notify();
  }

  /**
   * Refuses every queued operation on a sealed store, even one that would write nothing (EX-1). The
   * tables themselves refuse only writes.
   */
  #admit(taken: readonly Queued[], sealed: string): readonly Queued[] {
    const fault = sealedFault(sealed);
    for (const queued of taken) if (queued.subject !== 'seals') queued.reject(fault);
    return taken.filter(({ subject }) => subject === 'seals');
  }

  /** Returns undefined if one threw: all are then undone and queued again, to run one by one. */
  #performTogether(
    batch: readonly Queued[],
    transaction: Transaction,
  ): readonly Queued[] | undefined {
    let nth = 0;
    try {
      for (const queued of batch) {
        queued.result = queued.operation(transaction, queued.request);
        nth += 1;
      }
      return batch;
    } catch (error) {
      this.#connection.undo();
      const left = this.#answerUndone(batch[nth], error) ? batch.toSpliced(nth, 1) : batch;
      this.#isolates = left === batch;
      this.#queue = [...left, ...this.#queue];
      return undefined;
    }
  }

  /** Returns undefined if one undid the transaction: the others are then queued again. */
  #performIsolated(
    batch: readonly Queued[],
    transaction: Transaction,
  ): readonly Queued[] | undefined {
    this.#isolates = false;
    const performed: Queued[] = [];
    for (const [nth, queued] of batch.entries()) {
      this.#connection.run('savepoint operation');
      try {
        queued.result = queued.operation(transaction, queued.request);
        this.#connection.run('release operation');
        performed.push(queued);
      } catch (error) {
        if (this.#answerUndone(queued, error)) {
          this.#queue = [...performed, ...batch.slice(nth + 1), ...this.#queue];
          return undefined;
        }
        // A failing disk can make SQLite undo the whole transaction. All operations have then
        // failed.
        if (!this.#connection.isInTransaction) throw error;
        this.#connection.undo('operation');
        transaction.forgetSessions();
        queued.reject(toFault(error));
      }
    }
    return performed;
  }

  /** Nothing of it was kept, so its result need not wait for a commit. */
  #answerUndone(queued: Queued | undefined, error: unknown): boolean {
    if (!(error instanceof TransactionUndone)) return false;
    this.#connection.undo();
    queued?.resolve(error.result);
    return true;
  }

  /**
   * If the transaction is still open, nothing was applied. Otherwise its last frame may be on disk.
   */
  #afterFailedCommit(error: unknown): unknown {
    const isUndone = this.#connection.isInTransaction;
    this.#connection.undo();
    // The commit is the last frame, and a full disk cannot have taken all of it.
    if (isUndone || isFull(error)) return toFault(error);
    return new OutcomeUnknown(
      `SQLite failed during a commit (${thrownText(error)}). The change may or may not be on the disk.`,
      { cause: error },
    );
  }

  #waitForLock(error: unknown, tries: number): void {
    this.#pauseAfter(tries).then((pausedMs) => {
      const waiting: Queued[] = [];
      for (const queued of this.#queue) {
        if (queued.waitedMs >= this.#config.busyTimeoutMs) {
          queued.reject(busyFault(error, queued.waitedMs));
        } else {
          queued.waitedMs += pausedMs;
          waiting.push(queued);
        }
      }
      this.#queue = waiting;
      if (waiting.length === 0) this.#goOn();
      else this.#flush(tries + 1);
    }, unreachableRejection);
  }

  /** Pauses are short and jittered, so that waiting processes do not stay in step. */
  async #pauseAfter(tries: number): Promise<number> {
    const ms = Math.max(1, jittered(this.#config.random, Math.min(tries, BUSY_PAUSE_MS_MAX), 0.5));
    await this.#config.timers.pause(ms);
    return ms;
  }
}

function closedFault(): StoreUnavailable {
  return new StoreUnavailable(
    'The store is closed. Nothing was done. Open it again; a memory store opens empty.',
  );
}

function busyFault(cause: unknown, waitedMs: number): StoreUnavailable {
  return new StoreUnavailable(
    `Another process kept the SQLite file locked for ${Math.round(waitedMs)} ms. Nothing was done. Try again.`,
    { cause },
  );
}

/** `Timers.pause` never rejects. */
function unreachableRejection(reason: unknown): never {
  throw reason;
}
