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
 * `envelopes`: messages travel in them. `limit`: what is larger than its size does not go through. `signed`:
 * others can write to the channel. `calls`: workers are called.
 */
export type TransportOffer = 'envelopes' | 'limit' | 'signed' | 'calls';

/**
 * A transport has each of these unless its backend lists it under `lacks`. `asking`: workers claim.
 * `references`: they read large values.
 */
export type TransportHabit = 'asking' | 'references';

export type TransportNeed = TransportOffer | TransportHabit;

export interface TransportCase {
  /** Ids of the rules, such as `M-1, M-3`. */
  readonly upholds: string;
  /** One sentence about behaviour. */
  readonly name: string;
  readonly needs?: TransportNeed;
  run(harness: TransportHarness): Promise<void>;
}

/** Whose access key a transport uses: the project's, another project's, or one that does not exist. */
export type CallerKind = 'worker' | 'stranger' | 'nobody';

/** What is done to a message that is signed, before it is delivered. */
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

export interface TransportHarness {
  /** Who is not known is not answered, rather than refused. */
  readonly isSilent?: boolean;
  /** What the coordinator keeps. */
  readonly store: CoordinatorStore;
  /** Where workers are called: all calls come here. `transport` is their way back. */
  readonly endpoint?: FakeEndpoint;
  /** Where workers are called: handlers have no coordinator connection, and all that they record is in their answers. */
  readonly withoutConnection?: boolean;
  /** A new one; closed with the harness. */
  transport(as?: CallerKind): Promise<Transport>;
  /** Delivers the same message twice by the transport's own means, and answers with both replies. */
  twice(message: TransportRequest): Promise<readonly [unknown, unknown]>;
  /** Delivers this envelope as it is. */
  deliver(envelope: unknown): Promise<ReplyEnvelope>;
  /** Delivers it so; undefined when it is not answered, and was put aside. */
  forge(message: TransportRequest, how: Forgery): Promise<ReplyEnvelope | undefined>;
}

export interface OpenTransportHarness extends TransportHarness {
  /** The coordinator stops; the store can still be looked into. */
  stop?(): Promise<void>;
  close(): Promise<void>;
}

export interface TransportBackend {
  readonly name: string;
  readonly offers: readonly TransportOffer[];
  readonly lacks?: readonly TransportHabit[];
  open(): Promise<OpenTransportHarness>;
}

const WITHOUT: Readonly<Record<TransportNeed, string>> = {
  envelopes: 'has no envelopes: path and body say what they would',
  limit: 'has no limit of its own',
  signed: 'has a channel that nobody else writes to',
  calls: 'is not called: it asks',
  asking: 'is called: the coordinator claims for it',
  references: 'has no way to read what is too large for a row',
};

/** Undefined when the backend can run it. */
export function transportSkipReason(
  { needs }: TransportCase,
  { name, offers, lacks = [] }: TransportBackend,
): string | undefined {
  if (needs === undefined) return undefined;
  const isHabit = needs === 'asking' || needs === 'references';
  const isThere = isHabit ? !lacks.includes(needs) : offers.includes(needs);
  return isThere ? undefined : `${name} ${WITHOUT[needs]}`;
}

/** Runs one case on a coordinator of its own; rejects when the transport breaks the contract. */
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
