// What the store knows of etcd: how to read keys at one moment, when it heard of which revision, what
// time it is, and what it has last seen of each key.

import type { Clock } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import type { EtcdClient } from './client.ts';
import { RevisionClock, RevisionLog } from './clock.ts';
import { afterPrefix, type KeySpace } from './keys.ts';
import { type Header, type KeyValue, RANGE, type RangeRequest, TXN } from './messages.ts';
import { lastIssuedIn, toEpoch } from './records.ts';

/** A key and its value at some moment. */
export interface Kv {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly lease: string;
}

/** The cluster that answered, and the term of its leader. */
export interface Identity {
  readonly cluster: string;
  readonly term: number;
}

export type RangeOptions = Pick<RangeRequest, 'limit' | 'revision' | 'keysOnly'> & {
  readonly from?: string;
  readonly to?: string;
};

const REMEMBERED_MAX = 8_192;
/** As many operations as etcd takes in one transaction, unless it was told otherwise. */
const OPERATIONS_MAX = 128;

export class Connection {
  readonly client: EtcdClient;
  readonly keys: KeySpace;
  readonly log: RevisionLog = new RevisionLog();
  readonly clock: RevisionClock;
  /** Called when the store has gone back to an earlier time, with the revision it is at. */
  onGoneBack: (revision: number) => void = () => undefined;
  /** What was last seen of a key; null: that it is not there. Only ever a guess. */
  readonly #remembered: Map<string, Kv | null> = new Map();
  #identity: Identity = NOBODY;
  #seenFence = 0;

  constructor(client: EtcdClient, keys: KeySpace, clock: Clock) {
    this.client = client;
    this.keys = keys;
    this.clock = new RevisionClock(clock, this.log);
    client.onAnswer = (header) => this.#heard(header);
  }

  /** The newest that any transaction or read has shown. */
  get identity(): Identity {
    return this.#identity;
  }

  /** No fence above this is known to this client, by being told it or by the revision it has heard of. */
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

  /** Who was cut off knows nothing: the store may not be the one that it was. */
  forgetAll(): void {
    const epoch = this.#remembered.get(this.keys.epoch);
    if (epoch) this.noteFence(lastIssuedIn(toEpoch(epoch), this.log.newest));
    this.#remembered.clear();
  }

  /**
   * For answers that all members agree on, to what was asked when `newest` had been heard of. One from
   * before that is of a copy that was restored: nothing that is known of revisions holds for it.
   */
  checkGoneBack(header: Header | undefined, newest: number): void {
    if (header === undefined || header.revision >= newest) return;
    this.forgetAll();
    this.log.clear();
    this.clock.clear();
    this.#identity = NOBODY;
    this.#heard(header);
    this.onGoneBack(header.revision);
  }

  /** Keys at one moment: now, or at `revision`. */
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
    let identity = NOBODY;
    for (let from = 0; from < keys.length; from += OPERATIONS_MAX) {
      const part = keys.slice(from, from + OPERATIONS_MAX);
      const success = part.map((key) => ({ range: { key: Buffer.from(key), revision: at } }));
      const { newest } = this.log;
      const answer = await this.client.read(TXN, { compare: [], success, failure: [] });
      this.checkGoneBack(answer.header, newest);
      at = at === 0 ? (answer.header?.revision ?? 0) : at;
      identity = this.identify(answer.header);
      for (const { range } of answer.responses) {
        for (const kv of range?.kvs ?? []) kvs.set(kv.key.toString(), toKv(kv));
      }
    }
    this.learnClock(kvs.get(this.keys.clock));
    return { revision: at, kvs, identity };
  }

  /** Keys below `prefix`, in order. */
  async list(
    prefix: string,
    options: RangeOptions = {},
  ): Promise<{ readonly revision: number; readonly kvs: readonly Kv[] }> {
    const { from = prefix, to, ...range } = options;
    const { newest } = this.log;
    const answer = await this.client.read(RANGE, {
      key: Buffer.from(from),
      rangeEnd: to === undefined ? afterPrefix(prefix) : Buffer.from(to),
      ...range,
    });
    this.checkGoneBack(answer.header, newest);
    return { revision: answer.header?.revision ?? 0, kvs: answer.kvs.map(toKv) };
  }

  /** What follows `prefix` in the keys below it. */
  async names<Name extends string>(
    prefix: string,
    options: Omit<RangeOptions, 'keysOnly'> = {},
  ): Promise<readonly Name[]> {
    const { kvs } = await this.list(prefix, { ...options, keysOnly: true });
    return kvs.map(({ key }) => key.slice(prefix.length) as Name);
  }

  /** Not conditioned on anything: for what clients tell each other. */
  async put(key: string, value: string): Promise<void> {
    const put = { key: Buffer.from(key), value: Buffer.from(value) };
    await this.client.write(TXN, { compare: [], success: [{ put }], failure: [] });
  }

  learnClock(kv: Kv | undefined): void {
    const at = toNumber(kv);
    if (kv !== undefined && at !== undefined) this.clock.learn(at, kv.modRevision);
  }

  /**
   * Who answered. Only what all members agree on may be asked: one that lags behind answers watches and
   * renewals with a term of the past. Answers may overtake each other, so the newest term stays.
   */
  identify(header: Header | undefined): Identity {
    if (header === undefined) return NOBODY;
    const { clusterId: cluster, raftTerm: term } = header;
    const known = this.#identity;
    if (cluster !== known.cluster || term > known.term) this.#identity = { cluster, term };
    return { cluster, term };
  }

  /** Another cluster, or this one at an earlier time: what was newest before says nothing about it. */
  moved(identity: Identity): void {
    this.#identity = identity;
  }

  #heard(header: Header): void {
    this.log.note(header.revision, this.clock.tick);
  }
}

const NOBODY: Identity = { cluster: '', term: 0 };

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
