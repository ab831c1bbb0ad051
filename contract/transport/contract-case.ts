// The rules of every transport of the worker protocol, as data. Each case names the rules of
// docs/spec/transport.md that it upholds and runs the check. It has a real coordinator, on a store
// that it can read.

import assert from 'node:assert/strict';
import type {
  ReplyEnvelope,
  Transport,
  TransportRequest,
} from '../../src/protocol/messages/envelope.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { checkEverything } from '../execution/check.ts';
import type { FakeEndpoint } from './fake-endpoint.ts';

/**
 * A capability of some transports.
 *
 * - `envelopes`: messages travel in envelopes.
 * - `limit`: messages above a size do not pass.
 * - `signed`: others can write to the channel, so messages are signed.
 * - `calls`: the coordinator calls the workers.
 */
export type TransportOffer = 'envelopes' | 'limit' | 'signed' | 'calls';

/**
 * A capability that a transport has unless its backend lists it under `lacks`.
 *
 * - `asking`: workers claim.
 * - `references`: workers can read large values.
 * - `heartbeats`: heartbeats of steps reach the coordinator while their step runs.
 * - `leases`: workers can acquire leases.
 */
export type TransportHabit = 'asking' | 'references' | 'heartbeats' | 'leases';

/** A capability that a case needs. */
export type TransportNeed = TransportOffer | TransportHabit;

/** A case of the contract of transports. */
export interface TransportCase {
  /** Ids of the rules that it checks. */
  readonly upholds: string;
  /** The behaviour, in one sentence. */
  readonly name: string;
  /** The capability that the transport must have. Default none. */
  readonly needs?: TransportNeed;
  /** Checks the behaviour. Rejects if the transport breaks it. */
  run(harness: TransportHarness): Promise<void>;
}

/**
 * The key that a transport uses: that of a `worker` of the project, of a `stranger` of another
 * project, or `anonymous`, an unknown key.
 */
export type CallerKind = 'worker' | 'stranger' | 'anonymous';

/** The change to a signed message before it is delivered. */
export type Forgery =
  | 'none'
  | 'unsigned'
  | 'tampered'
  | 'of-another-key'
  | 'of-an-unknown-key'
  | 'of-an-older-key'
  | 'expired'
  | 'waited-long'
  | 'turned-around'
  | 'reply-elsewhere';

/** A coordinator and the means to reach it over one transport. */
export interface TransportHarness {
  /** True if unknown callers get no response instead of a refusal. Default false. */
  readonly isSilent?: boolean;
  /** The store of the coordinator. */
  readonly store: CoordinatorStore;
  /** The push endpoint, if the coordinator calls the workers. */
  readonly endpoint?: FakeEndpoint;
  /**
   * True if push handlers have no coordinator connection, so that their responses have all records.
   */
  readonly withoutConnection?: boolean;
  /** Opens a transport. It is closed with the harness. */
  transport(as?: CallerKind): Promise<Transport>;
  /** Delivers a message twice and returns both responses. */
  twice(message: TransportRequest): Promise<readonly [unknown, unknown]>;
  /** Delivers an envelope unchanged. */
  deliver(envelope: unknown): Promise<ReplyEnvelope>;
  /** Stops the coordinator, also twice. The store stays open. */
  stop?(): Promise<void>;
  /** Delivers a forged message. Returns undefined if it gets no response. */
  forge(message: TransportRequest, how: Forgery): Promise<ReplyEnvelope | undefined>;
}

/**
 * A harness that its runner must close.
 *
 * @example
 * declare const backend: TransportBackend;
 *
 * const harness = await backend.open();
 * await harness.close();
 */
export interface OpenTransportHarness extends TransportHarness {
  /** Stops the coordinator and closes the store. */
  close(): Promise<void>;
}

/**
 * Opens the coordinators that the cases run on.
 *
 * @example
 * declare const backend: TransportBackend;
 *
 * const runnable = transportContract.filter((each) => transportSkipReason(each, backend) === undefined);
 */
export interface TransportBackend {
  /** The name of the transport. */
  readonly name: string;
  /** Its capabilities. */
  readonly offers: readonly TransportOffer[];
  /** Common capabilities that it does not have. Default none. */
  readonly lacks?: readonly TransportHabit[];
  /** Starts a coordinator on a new, empty store. */
  open(): Promise<OpenTransportHarness>;
}

const WITHOUT: Readonly<Record<TransportNeed, string>> = {
  envelopes: 'has no envelopes: paths and bodies carry their fields',
  limit: 'has no size limit of its own',
  signed: 'has a channel that outsiders cannot write to',
  calls: 'is not called: its workers claim',
  asking: 'is called: the coordinator claims for it',
  references: 'cannot read values that are too large for a row',
  heartbeats: 'sends its writes when its steps have ended',
  leases: 'has no connection to acquire leases with',
};

function isHabit(need: TransportNeed): need is TransportHabit {
  return ['asking', 'references', 'heartbeats', 'leases'].includes(need);
}

/**
 * Returns why a transport cannot run a case, or undefined if it can.
 *
 * @example
 * declare const backend: TransportBackend;
 *
 * const runnable = transportContract.filter((each) => transportSkipReason(each, backend) === undefined);
 */
export function transportSkipReason(
  { needs }: TransportCase,
  { name, offers, lacks = [] }: TransportBackend,
): string | undefined {
  if (needs === undefined) return undefined;
  const isThere = isHabit(needs) ? !lacks.includes(needs) : offers.includes(needs);
  return isThere ? undefined : `${name} ${WITHOUT[needs]}`;
}

/**
 * Runs a case on a coordinator of its own. Rejects if the transport breaks the contract.
 *
 * @example
 * import { test } from 'node:test';
 *
 * declare const backend: TransportBackend;
 *
 * for (const each of transportContract) test(each.name, () => runTransportCase(each, backend));
 */
export async function runTransportCase(
  transportCase: TransportCase,
  backend: TransportBackend,
): Promise<void> {
  const harness = await backend.open();
  try {
    await transportCase.run(harness);
    // A coordinator that calls workers would continue to claim.
    await harness.stop?.();
    await checkEverything(harness.store);
  } finally {
    await harness.close();
  }
}

/** The code of the problem that it is refused with. */
export async function refusedWith(
  asked: Promise<unknown>,
  ...codes: readonly string[]
): Promise<void> {
  const result = await asked.then(
    (value) => assert.fail(`refused with ${codes.join(' or ')}, not ${JSON.stringify(value)}`),
    (fault: { readonly code?: string; readonly message?: string }) => fault,
  );
  assert.ok(
    codes.includes(result.code ?? ''),
    `${codes.join(' or ')}, not ${result.code}: ${result.message}`,
  );
}
