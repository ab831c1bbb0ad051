// The store as an operation sees it. All operations of one transaction share one `now`. The
// transaction reads it after it has the write lock, so waiting for the lock cannot make a decision
// stale (C-1).

import type { StatementSync } from 'node:sqlite';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import {
  type KnownEffects,
  type WakeupCause,
  WakeupCauses,
  type WokenProjects,
} from '../../execution/wakeups.ts';
import type { NewLeaseEvent } from '../../lease/event.ts';
import type { Fence } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Instant } from '../../support/clock.ts';
import { fromEvent } from '../lease-rows.ts';
import { halt } from '../sql/leases/events.ts';
import type { ArrayStatement, Connection, FoundRow, Parameters } from './connection.ts';
import { play } from './gateway.ts';

const APPEND_EVENT = `
  insert into event (at, kind, key, fence, rev, session_id, owner, detail)
  values (:at, :kind, :key, :fence, :rev, :session_id, :owner, :detail)`;

// The session and its ancestors exist and have not ended. A missing one had ended and was
// deleted.
const IS_OPEN = `
  select 1 as open
    from session as holder
   where holder.id = :id
     and not exists (
           select 1
             from json_each(holder.path) as step
             left join session as member on member.id = step.value
            where member.id is null
               or member.ended_at is not null)`;

const WAITING_KEYS = 'select distinct key from ticket';

/** Thrown by an operation that ended the transaction itself, with all its writes. */
export class TransactionUndone extends Error {
  /** The result of that operation. All others run again. */
  readonly result: unknown;

  constructor(result: unknown) {
    super('An operation has undone the transaction.');
    this.result = result;
  }
}

/** For operations that only read. */
export interface ReadTransaction {
  readonly now: Instant;
  readonly policy: LeasePolicy;
  get<Row>(sql: string, parameters?: Parameters): Row | undefined;
  all<Row>(sql: string, parameters?: Parameters): readonly Row[];
  /** Takes positional parameters and returns rows as arrays. */
  arrays<Row extends readonly unknown[]>(sql: string): ArrayStatement<Row>;
}

export class Transaction implements ReadTransaction {
  readonly now: Instant;
  readonly policy: LeasePolicy;
  readonly #connection: Connection;
  readonly #hints: Set<LeaseKey> = new Set();
  readonly #openSessions: Map<SessionId, boolean> = new Map();
  #hintsWaiting = false;
  #notifies = false;
  /** Undefined: any project. */
  #woken: Set<ProjectName> | undefined = new Set();
  #causes: WakeupCauses | undefined;

  constructor(connection: Connection, policy: LeasePolicy, now: Instant) {
    this.#connection = connection;
    this.policy = policy;
    this.now = now;
  }

  get<Row>(sql: string, parameters?: Parameters): Row | undefined {
    return this.#connection.get<Row>(sql, parameters);
  }

  all<Row>(sql: string, parameters?: Parameters): readonly Row[] {
    return this.#connection.all<Row>(sql, parameters);
  }

  run(sql: string, parameters?: Parameters): number {
    return this.#connection.run(sql, parameters);
  }

  /** Takes positional parameters. */
  statement(sql: string): StatementSync {
    return this.#connection.statement(sql);
  }

  arrays<Row extends readonly unknown[]>(sql: string): ArrayStatement<Row> {
    return this.#connection.arrays(sql);
  }

  get found(): Readonly<FoundRow> {
    return this.#connection.found;
  }

  /** The connection itself, for code that runs user code in a savepoint. */
  get connection(): Connection {
    return this.#connection;
  }

  /**
   * Returns true if neither this session nor an ancestor has ended. The transaction reads it
   * once per session, because only an end can change it. Code that ends a session, or undoes that,
   * must call `forgetSessions`.
   */
  isOpen(session: SessionId): boolean {
    const known = this.#openSessions.get(session);
    if (known !== undefined) return known;
    const isOpen = this.get(IS_OPEN, { id: session }) !== undefined;
    this.#openSessions.set(session, isOpen);
    return isOpen;
  }

  forgetSessions(): void {
    this.#openSessions.clear();
  }

  /** Marks that an execution may have become ready or has ended, in this project or in any. */
  notify(project?: ProjectName, effects?: KnownEffects): void {
    this.#notifies = true;
    this.#causes ??= new WakeupCauses();
    this.#causes.add(effects);
    if (project === undefined) this.#woken = undefined;
    else this.#woken?.add(project);
  }

  claimed(id: ExecutionId): void {
    this.#causes?.claimed(id);
  }

  get woken(): WokenProjects {
    return this.#woken;
  }

  get cause(): WakeupCause | undefined {
    return this.#causes?.cause;
  }

  get notifies(): boolean {
    return this.#notifies;
  }

  append(event: NewLeaseEvent): void {
    this.run(APPEND_EVENT, { ...fromEvent(event) });
  }

  /**
   * A caller showed a fence that this store never issued. Halt grants until an operator acts (T-4).
   */
  haltFor(fence: Fence): void {
    play(this, halt(fence));
  }

  hint(key: LeaseKey): void {
    this.#hints.add(key);
  }

  /** A session ended, so any key with waiters may be free. */
  hintWaiting(): void {
    this.#hintsWaiting = true;
  }

  /** The keys whose waiters need a hint after the commit. */
  hints(): readonly LeaseKey[] {
    if (this.#hintsWaiting) {
      for (const { key } of this.all<{ key: LeaseKey }>(WAITING_KEYS)) this.#hints.add(key);
    }
    return [...this.#hints];
  }
}
