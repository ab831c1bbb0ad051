// A case: one operation of a holder, once through the store's port and once through the public API.

import { randomUUID } from 'node:crypto';
import { openSession, type Session } from '../../src/index.ts';
import {
  type AttemptId,
  type LeaseKey,
  type Owner,
  parseAttemptId,
  parseLeaseKey,
  parseOwner,
  parseSessionId,
  type SessionId,
} from '../../src/lease/names.ts';
import type { KernelStore } from '../../src/lease/port.ts';

export interface LeaseCase {
  readonly name: string;
  /** Durable commits that one operation makes. */
  readonly commits: number;
  /** Payload of one commit. Commits of the floor have the same size. */
  readonly bytes: number;
  readonly port: Prepare;
  readonly handle: Prepare;
}

export type Prepare = (store: KernelStore, inFlight: number) => Promise<Prepared>;

export interface Prepared {
  operation(worker: number): Promise<unknown>;
  close(): Promise<unknown>;
}

/** So long that no session sends a heartbeat during a measurement. */
const TTL_MS = 3_600_000;

const OWNER: Owner = parseOwner('bench');

export interface PortSession {
  readonly id: SessionId;
  readonly owner: Owner;
  close(): Promise<unknown>;
}

export async function openPortSession(store: KernelStore): Promise<PortSession> {
  const id = parseSessionId(randomUUID());
  const owner = OWNER;
  const opened = await store.sessions.open({
    id,
    owner,
    ttlMs: TTL_MS,
    graceMs: TTL_MS / 5,
    metadata: {},
  });
  expected(opened, 'opened');
  const by = { kind: 'owner', owner, exit: 'finished' } as const;
  return { id, owner, close: () => store.sessions.end({ id, by }) };
}

export async function openBenchSession(store: KernelStore): Promise<Session> {
  return openSession({ store, owner: OWNER, ttlMs: TTL_MS });
}

export function newAttempt(): AttemptId {
  return parseAttemptId(randomUUID());
}

let keys = 0;

/** Returns a key that this run has not used before. */
export function newKey(): LeaseKey {
  keys += 1;
  return parseLeaseKey(`bench/${keys}`);
}

/** Throws on a refusal: it is fast, and would make the rate look better. */
export function expected<Outcome extends { readonly kind: string }, Kind extends Outcome['kind']>(
  outcome: Outcome,
  kind: Kind,
): Extract<Outcome, { readonly kind: Kind }> {
  if (outcome.kind !== kind) {
    throw new Error(`Not measured: expected "${kind}", got ${JSON.stringify(outcome)}.`);
  }
  return outcome as Extract<Outcome, { readonly kind: Kind }>;
}

/** Returns the entry of a worker. */
export function entryOf<Entry>(entries: readonly Entry[], index: number): Entry {
  const entry = entries[index];
  if (entry === undefined) throw new Error(`No entry was prepared for worker ${index}.`);
  return entry;
}
