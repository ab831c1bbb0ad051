// What an operation sees of the store. All operations of one transaction share one `now`, read
// after the write lock was taken, so that a wait for the lock cannot make a decision stale (C-1).

import type { StatementSync } from 'node:sqlite';
import type { NewLeaseEvent } from '../../lease/event.ts';
import type { Fence } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Instant } from '../../support/clock.ts';
import { fromEvent } from '../lease-rows.ts';
import { halt } from '../sql/leases/events.ts';
import type { ArrayStatement, Connection, Parameters, ToldRow } from './connection.ts';
import { play } from './gateway.ts';

const APPEND_EVENT = `
  insert into event (at, kind, key, fence, rev, session_id, owner, detail)
  values (:at, :kind, :key, :fence, :rev, :session_id, :owner, :detail)`;

// itself and all above it are there and have not ended. What is missing was deleted as ended.
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

/** Thrown by an operation that has ended the transaction by itself, with all that was in it. */
export class TransactionUndone extends Error {
  /** Of that operation: all others are run again. */
  readonly answer: unknown;

  constructor(answer: unknown) {
    super('An operation has undone the transaction.');
    this.answer = answer;
  }
}

/** For operations that change nothing. */
export interface ReadTransaction {
  readonly now: Instant;
  readonly policy: LeasePolicy;
  get<Row>(sql: string, parameters?: Parameters): Row | undefined;
  all<Row>(sql: string, parameters?: Parameters): readonly Row[];
  /** Parameters by position, rows as arrays. */
  arrays<Row extends readonly unknown[]>(sql: string): ArrayStatement<Row>;
}

export class Transaction implements ReadTransaction {
  readonly now: Instant;
  readonly policy: LeasePolicy;
  readonly #connection: Connection;
  readonly #hints: Set<LeaseKey> = new Set();
  readonly #openSessions: Map<SessionId, boolean> = new Map();
  #hintsWaiting = false;
  #rings = false;

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

  /** Parameters by position. */
  statement(sql: string): StatementSync {
    return this.#connection.statement(sql);
  }

  arrays<Row extends readonly unknown[]>(sql: string): ArrayStatement<Row> {
    return this.#connection.arrays(sql);
  }

  get told(): Readonly<ToldRow> {
    return this.#connection.told;
  }

  /** The connection itself, for what wraps user code in a savepoint. */
  get connection(): Connection {
    return this.#connection;
  }

  /**
   * neither this session nor one above it has ended. Asked once per session and transaction, in
   * which only an end can change it; whoever ends a session, or undoes that, calls `forgetSessions`.
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

  /** An execution may have become ready, or has ended. */
  ring(): void {
    this.#rings = true;
  }

  get rings(): boolean {
    return this.#rings;
  }

  append(event: NewLeaseEvent): void {
    this.run(APPEND_EVENT, { ...fromEvent(event) });
  }

  /** A caller showed a fence that was never issued: stop granting until a person looks (T-4). */
  haltFor(fence: Fence): void {
    play(this, halt(fence));
  }

  hint(key: LeaseKey): void {
    this.#hints.add(key);
  }

  /** A session ended: any key that somebody waits for may have become free. */
  hintWaiting(): void {
    this.#hintsWaiting = true;
  }

  /** What to ring for once this is committed. */
  hints(): readonly LeaseKey[] {
    if (this.#hintsWaiting) {
      for (const { key } of this.all<{ key: LeaseKey }>(WAITING_KEYS)) this.#hints.add(key);
    }
    return [...this.#hints];
  }
}
