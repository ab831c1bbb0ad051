// One try of a verb: what it has read, what must still be so, what it writes.

import type { NewLeaseEvent } from '../../lease/event.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import { AssertionFault, assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { OutcomeUnknown, StoreCorrupt } from '../../support/fault.ts';
import { systemRandom } from '../../support/random.ts';
import { isCompacted } from './client.ts';
import { type Connection, type Identity, type Kv, type RangeOptions, toKv } from './connection.ts';
import { afterPrefix, type KeySpace } from './keys.ts';
import {
  type Compare,
  CREATE_REVISION,
  EQUAL,
  LESS,
  MOD_REVISION,
  type RequestOp,
  TXN,
  type TxnResponse,
} from './messages.ts';
import { type Epoch, fromEvent } from './records.ts';

/**
 * What a read is conditioned on when the transaction writes. `unchanged`: nobody has written the key.
 * `same-life`: it was not deleted; heartbeats of a session do not matter. `seen`: nothing.
 */
export type Guard = 'unchanged' | 'same-life' | 'seen';

export interface Committed {
  /** At which it was written, or read when there was nothing to write. */
  readonly revision: number;
  /** What the transaction was asked to read after it had written. */
  readonly fetched: ReadonlyMap<string, Kv>;
}

interface Read {
  readonly kv: Kv | undefined;
  readonly guard: Guard;
}

interface Write {
  /** Absent: the key is deleted. */
  readonly value?: Uint8Array;
  readonly lease?: string;
}

export class Transaction {
  /** Read from etcd at one revision; else from what is remembered, as far as it is. */
  readonly isFresh: boolean;
  readonly keys: KeySpace;
  /** The greatest that was known before anything was read: the store has issued it, or has gone back. */
  readonly seenFence: number;
  readonly #connection: Connection;
  readonly #read: Map<string, Read> = new Map();
  readonly #writes: Map<string, Write> = new Map();
  readonly #fetches: string[] = [];
  readonly #ranges: Compare[] = [];
  #id = '';
  #events = 0;
  #revision = 0;
  #identity: Identity | undefined;
  #time: { readonly now: Instant; readonly revision: number } | undefined;

  constructor(connection: Connection, isFresh: boolean) {
    this.#connection = connection;
    this.keys = connection.keys;
    this.isFresh = isFresh;
    this.seenFence = connection.seenFence;
  }

  get hasWrites(): boolean {
    return this.#writes.size > 0;
  }

  /** At which everything was read; the newest that is known when it was not read. */
  get revision(): number {
    return this.#revision === 0 ? this.#connection.log.newest : this.#revision;
  }

  /** Who answered its reads; who answered last when it has made none. */
  get identity(): Identity {
    return this.#identity ?? this.#connection.identity;
  }

  /** Store time. The same for the whole try, and looked at after what was read first (C-1). */
  get now(): Instant {
    return this.#moment().now;
  }

  /**
   * The clock is moved on in this transaction: who is promised time by it counts from its sending. To a
   * later time only by who can prove that it is no earlier.
   */
  moveClock(to: Instant = this.now): void {
    this.put(this.keys.clock, String(to));
  }

  /** `guess`: what was never seen is taken to be absent, until the transaction says otherwise. */
  async load(keys: readonly string[], guard: Guard = 'unchanged', guess = false): Promise<void> {
    const missing: string[] = [];
    for (const key of keys) {
      const read = this.#read.get(key);
      if (read !== undefined) {
        if (STRENGTH[read.guard] < STRENGTH[guard]) this.#read.set(key, { ...read, guard });
        continue;
      }
      const known = this.isFresh || guard === 'seen' ? undefined : this.#connection.recall(key);
      if (known !== undefined || (guess && !this.isFresh)) {
        this.#read.set(key, { kv: known ?? undefined, guard });
      } else missing.push(key);
    }
    if (missing.length === 0) return;
    const kvs = await this.#fetch(missing);
    for (const key of missing) this.#read.set(key, { kv: kvs.get(key), guard });
  }

  get(key: string): Kv | undefined {
    const read = this.#read.get(key);
    assert(read !== undefined, `a transaction looks at "${key}", which it has not read`);
    return read.kv;
  }

  /** Keys below `prefix`, without a guard, and the revision at which they were so. */
  async list(
    prefix: string,
    options: Omit<RangeOptions, 'revision'> = {},
  ): Promise<{ readonly revision: number; readonly kvs: readonly Kv[] }> {
    if (!this.isFresh) return this.#connection.list(prefix, options);
    if (this.#revision === 0) await this.#fetch([]);
    const { kvs } = await this.#connection.list(prefix, { ...options, revision: this.#revision });
    return { kvs, revision: this.#revision };
  }

  /** What follows `prefix` in the keys below it. */
  async names<Name extends string>(
    prefix: string,
    options: Omit<RangeOptions, 'revision' | 'keysOnly'> = {},
  ): Promise<readonly Name[]> {
    const { kvs } = await this.list(prefix, { ...options, keysOnly: true });
    return kvs.map(({ key }) => key.slice(prefix.length) as Name);
  }

  /** Below `prefix` no key was written for the first time after this revision. */
  guardNoNewcomer(prefix: string, revision: number): void {
    this.#ranges.push({
      result: LESS,
      target: CREATE_REVISION,
      key: Buffer.from(prefix),
      rangeEnd: afterPrefix(prefix),
      createRevision: revision + 1,
    });
  }

  put(key: string, value: string | Uint8Array, lease?: string): void {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    this.#writes.set(key, { value: bytes, ...(lease === undefined ? {} : { lease }) });
  }

  delete(key: string): void {
    this.#writes.set(key, {});
  }

  /** O-1: in the transaction that makes it true. The revision of that is the fence of a grant. */
  append(event: NewLeaseEvent, epoch?: Epoch): void {
    const { revision } = this.#moment();
    this.#id ||= systemRandom.uuid();
    const key = `${this.keys.eventsUnder(revision)}${this.#id}-${this.#events}`;
    this.put(key, fromEvent(event, this.#events, epoch));
    this.#events += 1;
  }

  /** Read after the writes, in the same transaction; of a prefix, its first key. */
  fetch(key: string): void {
    this.#fetches.push(key);
  }

  /** Nothing when something it has read has changed, and nothing was written. */
  async commit(): Promise<Committed | undefined> {
    const { client, clock, log } = this.#connection;
    const { newest } = log;
    const isMoved = this.#writes.has(this.keys.clock);
    if (this.#time !== undefined && clock.isOld && !isMoved) this.moveClock();
    const answer = await client
      .write(TXN, {
        compare: this.#compares(),
        success: this.#operations(),
        failure: this.#guarded().map((key) => ({ range: { key: Buffer.from(key) } })),
      })
      .catch((fault: unknown) => {
        if (fault instanceof OutcomeUnknown) this.#connection.forget(this.#writes.keys());
        throw fault;
      });
    this.#connection.checkGoneBack(answer.header, newest);
    this.#connection.identify(answer.header);
    const fetched = fetchedBy(answer);
    const revision = answer.header?.revision ?? 0;
    if (!answer.succeeded) {
      this.#connection.learnClock(fetched.get(this.keys.clock));
      for (const key of this.#guarded()) this.#connection.remember(key, fetched.get(key) ?? null);
      return undefined;
    }
    this.#rememberWrites(revision);
    const time = this.#writes.get(this.keys.clock)?.value;
    if (time !== undefined) clock.learn(Number(Buffer.from(time).toString()), revision, true);
    return { revision, fetched };
  }

  #moment(): { readonly now: Instant; readonly revision: number } {
    const { clock } = this.#connection;
    this.#time ??= { now: clock.now(), revision: clock.revision };
    return this.#time;
  }

  /** The first read of a fresh try pins the revision, and looks at the clock on its way. */
  async #fetch(keys: readonly string[]): Promise<ReadonlyMap<string, Kv>> {
    const isFirst = this.isFresh && this.#revision === 0;
    const all = isFirst ? [this.keys.clock, ...keys] : keys;
    const { revision, kvs, identity } = await this.#connection
      .fetch(all, this.#revision)
      .catch((fault: unknown) => {
        // Compacted between two reads: what is there now will do, since whoever writes compares.
        if (!isCompacted(fault)) throw fault;
        return this.#connection.fetch(all);
      });
    if (isFirst) this.#revision = revision;
    if (this.isFresh) this.#identity = identity;
    for (const key of keys) this.#connection.remember(key, kvs.get(key) ?? null);
    return kvs;
  }

  /** What it is conditioned on. If it fails, all of that is read again on the same way. */
  #guarded(): readonly string[] {
    const keys = [...this.#read].filter(([, { guard }]) => guard !== 'seen').map(([key]) => key);
    return [this.keys.clock, ...keys];
  }

  #compares(): readonly Compare[] {
    const compares = [...this.#ranges];
    for (const [key, { kv, guard }] of this.#read) {
      if (guard !== 'seen') compares.push(compareOf(key, kv, guard));
    }
    if (this.#time !== undefined) {
      const modRevision = this.#time.revision;
      const key = Buffer.from(this.keys.clock);
      compares.push({ result: EQUAL, target: MOD_REVISION, key, modRevision });
    }
    return compares;
  }

  #operations(): readonly RequestOp[] {
    const operations: RequestOp[] = [];
    for (const [name, { value, lease }] of this.#writes) {
      const key = Buffer.from(name);
      if (value === undefined) operations.push({ deleteRange: { key } });
      else operations.push({ put: lease === undefined ? { key, value } : { key, value, lease } });
    }
    for (const name of this.#fetches) {
      const range = { key: Buffer.from(name), limit: 1 };
      operations.push({
        range: name.endsWith('/')
          ? { ...range, rangeEnd: afterPrefix(name), keysOnly: true }
          : range,
      });
    }
    return operations;
  }

  /** Only what verbs read again is worth it. */
  #rememberWrites(revision: number): void {
    for (const [key, { value, lease = '0' }] of this.#writes) {
      const read = this.#read.get(key);
      if (read === undefined) this.#connection.forget([key]);
      else if (value === undefined) this.#connection.remember(key, null);
      else {
        const createRevision = read.kv?.createRevision ?? revision;
        const kv = { key, value: Buffer.from(value), createRevision, modRevision: revision, lease };
        this.#connection.remember(key, kv);
      }
    }
  }
}

const STRENGTH: Readonly<Record<Guard, number>> = { seen: 0, 'same-life': 1, unchanged: 2 };

function compareOf(name: string, kv: Kv | undefined, guard: Guard): Compare {
  const key = Buffer.from(name);
  return guard === 'unchanged' || kv === undefined
    ? { result: EQUAL, target: MOD_REVISION, key, modRevision: kv?.modRevision ?? 0 }
    : { result: EQUAL, target: CREATE_REVISION, key, createRevision: kv.createRevision };
}

function fetchedBy(answer: TxnResponse): ReadonlyMap<string, Kv> {
  const kvs = answer.responses.flatMap(({ range }) => range?.kvs ?? []).map(toKv);
  return new Map(kvs.map((kv) => [kv.key, kv]));
}

// Verbs as transactions. A verb reads what it needs, decides, and names what it writes; what it has
// read is compared with what is there in the transaction that writes. If anything has moved, nothing is
// written and the verb is asked again. So no read is trusted, and most need not be made: what this
// client has seen or written last is good enough to try with.

interface Written<Result> extends Committed {
  readonly result: Result;
}

/** Each round that fails follows a change that somebody made; this many in a row is a bug. */
const ROUNDS_MAX = 200;
/** A try that fails brings back what it was wrong about, so that the next from memory may be right. */
const FROM_MEMORY_MAX = 2;

export class Database {
  readonly connection: Connection;
  readonly policy: LeasePolicy;
  /** How far sweeps have looked for leases of sessions that nobody knows. */
  lookedThrough: string | undefined;

  constructor(connection: Connection, policy: LeasePolicy) {
    this.connection = connection;
    this.policy = policy;
  }

  /**
   * Runs the verb until what it has read is still so when it writes, or it has nothing to write. The
   * first try is made from memory, unless it must not be.
   */
  async write<Result>(
    verb: (tx: Transaction) => Promise<Result>,
    from: 'memory' | 'etcd' = 'memory',
  ): Promise<Written<Result>> {
    let isFresh = from === 'etcd';
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      isFresh ||= round > FROM_MEMORY_MAX;
      const tx = new Transaction(this.connection, isFresh);
      const tried = await attempt(verb, tx);
      if (tried === undefined) {
        isFresh = true;
        continue;
      }
      const { result } = tried;
      if (tx.hasWrites) {
        const committed = await tx.commit();
        if (committed !== undefined) return { result, ...committed };
      } else {
        if (isFresh) return { result, revision: tx.revision, fetched: new Map() };
        // A no is never said on the strength of what is remembered.
        isFresh = true;
      }
    }
    throw new AssertionFault(`A-1: a transaction was in vain ${ROUNDS_MAX} times`);
  }

  /** Everything that the verb reads, it reads at one revision. */
  async read<Result>(verb: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return verb(new Transaction(this.connection, true));
  }
}

/** Keys that are remembered from different moments may not go together: then nothing can be said. */
async function attempt<Result>(
  verb: (tx: Transaction) => Promise<Result>,
  tx: Transaction,
): Promise<{ readonly result: Result } | undefined> {
  try {
    return { result: await verb(tx) };
  } catch (fault) {
    if (tx.isFresh || !(fault instanceof StoreCorrupt)) throw fault;
    return undefined;
  }
}
