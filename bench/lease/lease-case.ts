// One thing a holder does, through the store's port and through the handles people use.

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
  /** What one commit carries; the floor beside it carries as much. */
  readonly bytes: number;
  readonly port: Prepare;
  readonly handle: Prepare;
}

export type Prepare = (store: KernelStore, inFlight: number) => Promise<Prepared>;

export interface Prepared {
  operation(worker: number): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Long, so that no session sends a heartbeat during a measurement. */
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

/** Never used before in this run. */
export function newKey(): LeaseKey {
  keys += 1;
  return parseLeaseKey(`bench/${keys}`);
}

/** A refusal is fast; counting it would flatter. */
export function expected<Answer extends { readonly kind: string }, Kind extends Answer['kind']>(
  answer: Answer,
  kind: Kind,
): Extract<Answer, { readonly kind: Kind }> {
  if (answer.kind !== kind) {
    throw new Error(`Expected "${kind}", got ${JSON.stringify(answer)}.`);
  }
  return answer as Extract<Answer, { readonly kind: Kind }>;
}

/** Worker `index` of an array that has one entry per worker. */
export function entryOf<Entry>(entries: readonly Entry[], index: number): Entry {
  const entry = entries[index];
  if (entry === undefined) throw new Error(`No entry was prepared for worker ${index}.`);
  return entry;
}
