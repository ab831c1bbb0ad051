// A client of a lease store: it makes random calls and writes each one down before it sends it, until
// the test kills it.

import { randomUUID } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { recordLeaseCalls } from '../../contract/testing/linearizability/index.ts';
import {
  parseAttemptId,
  parseLeaseKey,
  parseOwner,
  parseSessionId,
} from '../../src/lease/names.ts';
import type { Acquire, KernelStore, Tenure } from '../../src/lease/port.ts';
import { digestOf } from '../../src/support/digest.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../src/support/fault.ts';
import { type Random, seededRandom } from '../../src/support/random.ts';
import { emit, serveCalls } from '../processes/children/serve-calls.ts';
import { openStoreAt, type StoreAddress } from '../processes/stage/store-address.ts';
import { GRACE_MS, KEYS, POLICY, TTL_MS } from './scene.ts';

export interface HistoryClient {
  readonly store: StoreAddress;
  readonly name: string;
  readonly seed: number;
  /** One line for each call, and for each reply. */
  readonly file: string;
}

export interface HistoryClientApi {
  /** Emits `turn` after each turn, and `takeover` after a grant that replaces an expired term. */
  play(input: HistoryClient): Promise<never>;
}

const TURN_PAUSE_MS = 1;
const RETRY_MS = 20;

serveCalls<HistoryClientApi>({
  async play({ store: address, name, seed, file }) {
    const fd = openSync(file, 'a');
    const store = recordLeaseCalls(await openWhenUp(address), name, (event) => {
      const line = JSON.stringify(event, (_, value) => (value instanceof Uint8Array ? [] : value));
      writeSync(fd, `${line}\n`);
    });
    const client = new Client(store, name, seededRandom(seed));
    for (;;) {
      await client.turn();
      void emit('turn');
      await pause(TURN_PAUSE_MS);
    }
  },
});

/** The server may be restarting. */
async function openWhenUp(address: StoreAddress): Promise<KernelStore> {
  for (;;) {
    try {
      return (await openStoreAt(address, POLICY)) as KernelStore;
    } catch (fault) {
      if (!isOutage(fault)) throw fault;
      await pause(RETRY_MS);
    }
  }
}

function isOutage(fault: unknown): boolean {
  return fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown;
}

class Client {
  readonly #store: KernelStore;
  readonly #name: string;
  readonly #random: Random;
  #session = newSession();
  #isOpen = false;
  #beatAt = 0;
  /** Terms that it was granted, also those that it has lost since. */
  readonly #terms: Tenure[] = [];
  /** An acquire without a reply, to be repeated. */
  #unsure: Acquire | undefined;
  #seq = 0;

  constructor(store: KernelStore, name: string, random: Random) {
    this.#store = store;
    this.#name = name;
    this.#random = random;
  }

  async turn(): Promise<void> {
    try {
      if (!this.#isOpen) await this.#open();
      else if (performance.now() - this.#beatAt > TTL_MS / 4) await this.#beat();
      else await this.#call();
    } catch (fault) {
      if (!isOutage(fault)) throw fault;
      await pause(RETRY_MS);
    }
  }

  async #open(): Promise<void> {
    const owner = parseOwner(this.#name);
    const id = this.#session;
    const settings = { ttlMs: TTL_MS, graceMs: GRACE_MS, metadata: {} };
    const result = await this.#store.sessions.open({ id, owner, ...settings });
    if (result.kind === 'refused') this.#session = newSession();
    this.#isOpen = result.kind === 'opened';
    this.#beatAt = performance.now();
  }

  async #beat(): Promise<void> {
    const request = { id: this.#session, owner: parseOwner(this.#name) };
    const result = await this.#store.sessions.heartbeat(request);
    this.#beatAt = performance.now();
    if (result.kind !== 'refused') return;
    this.#session = newSession();
    this.#isOpen = false;
  }

  async #call(): Promise<void> {
    const { leases } = this.#store;
    const dice = this.#random.next();
    const term = this.#terms.at(this.#random.next() < 0.8 ? -1 : 0);
    if (dice < 0.1) await leases.inspect(this.#key());
    else if (term === undefined || dice < 0.4) await this.#acquire();
    else if (dice < 0.7) {
      this.#seq += 1;
      const seq = Math.ceil(performance.now() / 50);
      const bytes = Buffer.from(`${this.#name} ${this.#seq}`);
      await leases.checkpoint({ ...term, seq, bytes, digest: digestOf(bytes) });
    } else if (dice < 0.75) await leases.verify(term);
    else await leases.release({ ...term, exit: dice < 0.9 ? 'finished' : 'yielded' });
  }

  async #acquire(): Promise<void> {
    const isSame = this.#unsure?.session === this.#session;
    const fresh = {
      key: this.#key(),
      session: this.#session,
      attempt: parseAttemptId(randomUUID()),
    };
    const request = (isSame ? this.#unsure : undefined) ?? fresh;
    this.#unsure = request;
    const result = await this.#store.leases.acquire(request);
    this.#unsure = undefined;
    if (result.kind !== 'granted') return;
    if (result.predecessor.exit === 'expired') void emit('takeover');
    const { key, session } = request;
    this.#terms.push({ key, session, fence: result.fence });
    if (this.#terms.length > TERMS_MAX) this.#terms.shift();
  }

  #key() {
    const index = Math.floor(this.#random.next() * KEYS.length);
    return parseLeaseKey(KEYS[index] ?? '');
  }
}

const TERMS_MAX = 3;

function newSession() {
  return parseSessionId(randomUUID());
}
