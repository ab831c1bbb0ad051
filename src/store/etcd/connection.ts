// The connection to etcd. It reads keys at one revision, records when it learned of each revision,
// keeps store time, and caches the last seen value of each key.

import type { Clock } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import type { EtcdClient } from './client.ts';
import { RevisionClock, RevisionLog } from './clock.ts';
import { afterPrefix, type KeySpace } from './keys.ts';
import { type Header, type KeyValue, RANGE, type RangeRequest, TXN } from './messages.ts';
import { lastIssuedIn, toEpoch } from './records.ts';

/** A key and its value at one revision. */
export interface Kv {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly lease: string;
}

/** The cluster that replied, and the raft term of its leader. */
export interface Identity {
  readonly cluster: string;
  readonly term: number;
}

export type RangeOptions = Pick<RangeRequest, 'limit' | 'revision' | 'keysOnly'> & {
  readonly from?: string;
  readonly to?: string;
};

const REMEMBERED_MAX = 8_192;
/** etcd's default limit of operations per transaction. */
const OPERATIONS_MAX = 128;

export class Connection {
  readonly client: EtcdClient;
  readonly keys: KeySpace;
  readonly log: RevisionLog = new RevisionLog();
  readonly clock: RevisionClock;
  /** Called with the current revision when the store has gone back to an earlier one. */
  onGoneBack: (revision: number) => void = () => undefined;
  /** The last seen value of each key; null if it did not exist. It may be stale. */
  readonly #remembered: Map<string, Kv | null> = new Map();
  #identity: Identity = NO_IDENTITY;
  #seenFence = 0;

  constructor(client: EtcdClient, keys: KeySpace, clock: Clock) {
    this.client = client;
    this.keys = keys;
    this.clock = new RevisionClock(clock, this.log);
    client.onAnswer = (header) => this.#onHeader(header);
  }

  /** The newest identity that any transaction or read has shown. */
  get identity(): Identity {
    return this.#identity;
  }

  /** The highest fence that this client knows, from grants or from revisions. */
  get seenFence(): number {
    return this.#seenFence;
  }

  noteFence(fence: number): void {
    this.#seenFence = Math.max(this.#seenFence, fence);
  }

  recall(key: string): Kv | null | undefined {
    return this.#remembered.get(key);
  }

  remember(key: string, kv: Kv | null): void {
    const known = this.#remembered.get(key);
    if ((known?.modRevision ?? 0) > (kv?.modRevision ?? Number.POSITIVE_INFINITY)) return;
    this.#remembered.delete(key);
    this.#remembered.set(key, kv);
    if (this.#remembered.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }

  forget(keys: Iterable<string>): void {
    for (const key of keys) this.#remembered.delete(key);
  }

  /** A client that was cut off must forget everything, because the store may have changed. */
  forgetAll(): void {
    const epoch = this.#remembered.get(this.keys.epoch);
    if (epoch) this.noteFence(lastIssuedIn(toEpoch(epoch), this.log.newest));
    this.#remembered.clear();
  }

  /**
   * For linearizable replies to requests sent when `newest` was known. An older revision means a
   * restored copy, for which all knowledge of revisions is void.
   */
  checkGoneBack(header: Header | undefined, newest: number): void {
    if (header === undefined || header.revision >= newest) return;
    this.forgetAll();
    this.log.clear();
    this.clock.clear();
    this.#identity = NO_IDENTITY;
    this.#onHeader(header);
    this.onGoneBack(header.revision);
  }

  /** Reads keys at one revision: the newest, or `revision`. */
  async fetch(
    keys: readonly string[],
    revision = 0,
  ): Promise<{
    readonly revision: number;
    readonly kvs: ReadonlyMap<string, Kv>;
    readonly identity: Identity;
  }> {
    const kvs = new Map<string, Kv>();
    let at = revision;
    let identity = NO_IDENTITY;
    for (let from = 0; from < keys.length; from += OPERATIONS_MAX) {
      const part = keys.slice(from, from + OPERATIONS_MAX);
      const success = part.map((key) => ({ range: { key: Buffer.from(key), revision: at } }));
      const { newest } = this.log;
      const response = await this.client.read(TXN, { compare: [], success, failure: [] });
      this.checkGoneBack(response.header, newest);
      at = at === 0 ? (response.header?.revision ?? 0) : at;
      identity = this.identify(response.header);
      for (const { range } of response.responses) {
        for (const kv of range?.kvs ?? []) kvs.set(kv.key.toString(), toKv(kv));
      }
    }
    this.learnClock(kvs.get(this.keys.clock));
    return { revision: at, kvs, identity };
  }

  /** Lists the keys below `prefix`, in order. */
  async list(
    prefix: string,
    options: RangeOptions = {},
  ): Promise<{ readonly revision: number; readonly kvs: readonly Kv[] }> {
    const { from = prefix, to, ...range } = options;
    const { newest } = this.log;
    const response = await this.client.read(RANGE, {
      key: Buffer.from(from),
      rangeEnd: to === undefined ? afterPrefix(prefix) : Buffer.from(to),
      ...range,
    });
    this.checkGoneBack(response.header, newest);
    return { revision: response.header?.revision ?? 0, kvs: response.kvs.map(toKv) };
  }

  /** Lists the keys below `prefix`, without the prefix. */
  async names<Name extends string>(
    prefix: string,
    options: Omit<RangeOptions, 'keysOnly'> = {},
  ): Promise<readonly Name[]> {
    const { kvs } = await this.list(prefix, { ...options, keysOnly: true });
    return kvs.map(({ key }) => key.slice(prefix.length) as Name);
  }

  /** Writes without a condition, for messages between clients. */
  async put(key: string, value: string): Promise<void> {
    const put = { key: Buffer.from(key), value: Buffer.from(value) };
    await this.client.write(TXN, { compare: [], success: [{ put }], failure: [] });
  }

  learnClock(kv: Kv | undefined): void {
    const at = toNumber(kv);
    if (kv !== undefined && at !== undefined) this.clock.learn(at, kv.modRevision);
  }

  /**
   * Records which member replied. Use it only for linearizable requests: a lagging member replies
   * to watches and renewals with an old term. Replies may overtake each other, so the newest term
   * stays.
   */
  identify(header: Header | undefined): Identity {
    if (header === undefined) return NO_IDENTITY;
    const { clusterId: cluster, raftTerm: term } = header;
    const known = this.#identity;
    if (cluster !== known.cluster || term > known.term) this.#identity = { cluster, term };
    return { cluster, term };
  }

  /**
   * The store is another cluster, or this one at an earlier time. The earlier identity does not
   * apply to it.
   */
  moved(identity: Identity): void {
    this.#identity = identity;
  }

  #onHeader(header: Header): void {
    this.log.note(header.revision, this.clock.tick);
  }
}

const NO_IDENTITY: Identity = { cluster: '', term: 0 };

export function toKv(kv: KeyValue): Kv {
  const { value, createRevision, modRevision, lease } = kv;
  return { key: kv.key.toString(), value, createRevision, modRevision, lease };
}

export function toNumber(kv: Kv | undefined): number | undefined {
  if (kv === undefined) return undefined;
  const value = Number(kv.value.toString());
  if (Number.isSafeInteger(value)) return value;
  throw new StoreCorrupt(`"${kv.key}" is not a whole number: ${kv.value.toString().slice(0, 80)}`);
}
