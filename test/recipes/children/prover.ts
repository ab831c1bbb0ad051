// A process with a watchdog session whose event loop the test blocks, announced or not.

import { LeaseNotHeld, type Session } from '../../../src/index.ts';
import {
  type Overrun,
  openWatchdogSession,
  type WatchdogSession,
  withLease,
} from '../../../src/recipes/index.ts';
import { emit, serveCalls } from '../../processes/children/serve-calls.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface OpenProver {
  readonly store: StoreAddress;
  readonly ttlMs: number;
  /** An option of the session: the thread ends the process. */
  readonly exitOnOverrun?: boolean;
}

export interface Block {
  readonly key: string;
  /** How long it really blocks. */
  readonly ms: number;
  /** How long it announces to be busy. Absent: it does not announce. */
  readonly announcedMs?: number;
  /** In a child session of the watchdog session. */
  readonly below?: boolean;
}

export interface Stubborn {
  readonly key: string;
  readonly settleMs: number;
  readonly exitOnOverrun: boolean;
}

export interface ProverApi {
  open(input: OpenProver): Promise<void>;
  /**
   * Acquires, emits `blocking`, blocks, and returns the result of `assertHeld` in the next line.
   */
  block(input: Block): Promise<string>;
  release(input: { readonly key: string }): Promise<string>;
  /**
   * Work that ignores its abort signal. Emits `working`, and `overrun` when the session reports it.
   */
  beStubborn(input: Stubborn): Promise<string>;
}

let open: WatchdogSession | undefined;
let holder: Session | undefined;

function session(): WatchdogSession {
  if (open === undefined) throw new Error('open first');
  return open;
}

function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

serveCalls<ProverApi>({
  async open({ store: address, ttlMs, exitOnOverrun = false }) {
    const store = await openStoreAt(address);
    open = await openWatchdogSession({ store, owner: 'prover', ttlMs, exitOnOverrun });
  },
  async block({ key, ms, announcedMs, below }) {
    const child = { owner: 'child', ttlMs: session().ttlMs };
    holder = below === true ? await session().openChild(child) : session();
    const outcome = await holder.acquire(key);
    if (outcome.kind !== 'acquired') throw new Error(JSON.stringify(outcome));
    await emit('blocking');
    if (announcedMs === undefined) blockFor(ms);
    else session().busy(announcedMs, () => blockFor(ms));
    try {
      outcome.lease.assertHeld(0);
      return 'held';
    } catch (error) {
      if (!(error instanceof LeaseNotHeld)) throw error;
      return error.by;
    }
  },
  async release({ key }) {
    const lease = holder?.leases.find((each) => each.key === key);
    if (lease === undefined) throw new Error(`"${key}" is not held`);
    return (await lease.release('finished')).kind;
  },
  async beStubborn({ key, settleMs, exitOnOverrun }) {
    const onOverrun = (overrun: Overrun): void => void emit('overrun', overrun);
    const options = { session: session(), key, settleMs, exitOnOverrun, onOverrun };
    const outcome = await withLease(options, async () => {
      await emit('working');
      await new Promise(() => undefined);
    });
    return outcome.kind;
  },
});
