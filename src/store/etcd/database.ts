// One try of a verb: its reads, its conditions and its writes.

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
 * The condition of a read when the transaction writes. `unchanged`: the key was not written since.
 * `same-life`: the key was not deleted; heartbeats may have written it. `seen`: no condition.
 */
export type Guard = 'unchanged' | 'same-life' | 'seen';

export interface Committed {
  /** The revision at which it was written, or read if there was nothing to write. */
  readonly revision: number;
  /** The keys that the transaction read after its writes. */
  readonly fetched: ReadonlyMap<string, Kv>;
}

interface Read {
  readonly kv: Kv | undefined;
  readonly guard: Guard;
}

interface Write {
  /** Absent if the key is deleted. */
  readonly value?: Uint8Array;
  readonly lease?: string;
}

export class Transaction {
  /**
   * True if it reads from etcd at one revision. Otherwise it reads from the cache where possible.
   */
  readonly isFresh: boolean;
  readonly keys: KeySpace;
  /**
   * The greatest known fence before the first read. If the store has issued less, it has gone back.
   */
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

  /** The revision of all reads, or the newest known one before the first read. */
  get revision(): number {
    return this.#revision === 0 ? this.#connection.log.newest : this.#revision;
  }

  /** The identity of the cluster that replied to its reads, or the last known one. */
  get identity(): Identity {
    return this.#identity ?? this.#connection.identity;
  }

  /** Store time. It is the same for the whole try, and is read after the first reads (C-1). */
  get now(): Instant {
    return this.#moment().now;
  }

  /**
   * Advances the clock in this transaction, because a caller that is promised time counts from its
   * sending. Pass a later time only if it is proved to have passed.
   */
  moveClock(to: Instant = this.now): void {
    this.put(this.keys.clock, String(to));
  }

  /**
   * With `guess`, a key that was never seen counts as absent until the transaction disproves it.
   */
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

  /** Lists the keys below `prefix`, without a guard, and the revision of the list. */
  async list(
    prefix: string,
    options: Omit<RangeOptions, 'revision'> = {},
  ): Promise<{ readonly revision: number; readonly kvs: readonly Kv[] }> {
    if (!this.isFresh) return this.#connection.list(prefix, options);
    if (this.#revision === 0) await this.#fetch([]);
    const { kvs } = await this.#connection.list(prefix, { ...options, revision: this.#revision });
    return { kvs, revision: this.#revision };
  }

  /** Lists the keys below `prefix`, without the prefix. */
  async names<Name extends string>(
    prefix: string,
    options: Omit<RangeOptions, 'revision' | 'keysOnly'> = {},
  ): Promise<readonly Name[]> {
    const { kvs } = await this.list(prefix, { ...options, keysOnly: true });
    return kvs.map(({ key }) => key.slice(prefix.length) as Name);
  }

  /** Requires that no key below `prefix` was created after this revision. */
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

  /**
   * Appends an event in the transaction that makes it true (O-1). For a grant, the transaction's
   * revision gives the fence.
   */
  append(event: NewLeaseEvent, epoch?: Epoch): void {
    const { revision } = this.#moment();
    this.#id ||= systemRandom.uuid();
    const key = `${this.keys.eventsUnder(revision)}${this.#id}-${this.#events}`;
    this.put(key, fromEvent(event, this.#events, epoch));
    this.#events += 1;
  }

  /**
   * Reads a key after the writes, in the same transaction. For a prefix, it reads the first key.
   */
  fetch(key: string): void {
    this.#fetches.push(key);
  }

  /** Returns undefined if a key that it read has changed. Then nothing was written. */
  async commit(): Promise<Committed | undefined> {
    const { client, clock, log } = this.#connection;
    const { newest } = log;
    const isMoved = this.#writes.has(this.keys.clock);
    if (this.#time !== undefined && clock.isOld && !isMoved) this.moveClock();
    const response = await client
      .write(TXN, {
        compare: this.#compares(),
        success: this.#operations(),
        failure: this.#guarded().map((key) => ({ range: { key: Buffer.from(key) } })),
      })
      .catch((fault: unknown) => {
        if (fault instanceof OutcomeUnknown) this.#connection.forget(this.#writes.keys());
        throw fault;
      });
    this.#connection.checkGoneBack(response.header, newest);
    this.#connection.identify(response.header);
    const fetched = fetchedBy(response);
    const revision = response.header?.revision ?? 0;
    if (!response.succeeded) {
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

  /** The first read of a fresh try fixes the revision, and also reads the clock. */
  async #fetch(keys: readonly string[]): Promise<ReadonlyMap<string, Kv>> {
    const isFirst = this.isFresh && this.#revision === 0;
    const all = isFirst ? [this.keys.clock, ...keys] : keys;
    const { revision, kvs, identity } = await this.#connection
      .fetch(all, this.#revision)
      .catch((fault: unknown) => {
        // The revision was compacted between two reads. Current values are good enough, because a
        // write compares them.
        if (!isCompacted(fault)) throw fault;
        return this.#connection.fetch(all);
      });
    if (isFirst) this.#revision = revision;
    if (this.isFresh) this.#identity = identity;
    for (const key of keys) this.#connection.remember(key, kvs.get(key) ?? null);
    return kvs;
  }

  /**
   * The keys that the commit is conditioned on. If it fails, the same request reads all of them
   * again.
   */
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

  /** Caches only keys that verbs read again. */
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

function fetchedBy(response: TxnResponse): ReadonlyMap<string, Kv> {
  const kvs = response.responses.flatMap(({ range }) => range?.kvs ?? []).map(toKv);
  return new Map(kvs.map((kv) => [kv.key, kv]));
}

// Runs verbs as transactions. A verb reads, decides, and names its writes. The transaction that
// writes compares everything that was read. If anything changed, nothing is written and the verb
// runs again. So no read needs to be current, and most are not sent: the first try uses the values
// that this client last saw or wrote.

interface Written<Result> extends Committed {
  readonly result: Result;
}

/** Each failed round follows a change by another client. This many in a row is a bug. */
const ROUNDS_MAX = 200;
/** A failed try returns the current values, so the next try from the cache may succeed. */
const FROM_MEMORY_MAX = 2;

export class Database {
  readonly connection: Connection;
  readonly policy: LeasePolicy;
  /** The position up to which sweeps have searched for leases of unknown sessions. */
  sweptUntil: string | undefined;

  constructor(connection: Connection, policy: LeasePolicy) {
    this.connection = connection;
    this.policy = policy;
  }

  /**
   * Runs the verb until its reads are still valid when it writes, or it has nothing to write. The
   * first try uses the cache, unless `from` is `etcd`.
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
        // A refusal is never based on cached values.
        isFresh = true;
      }
    }
    throw new AssertionFault(`A-1: a transaction was in vain ${ROUNDS_MAX} times`);
  }

  /** Reads everything at one revision. */
  async read<Result>(verb: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return verb(new Transaction(this.connection, true));
  }
}

/**
 * Cached keys of different revisions may contradict each other. Then the try counts for nothing.
 */
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
