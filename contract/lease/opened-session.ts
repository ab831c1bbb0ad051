// Builders for cases: people with sessions, their requests and the expected results.

import assert from 'node:assert/strict';
import {
  type AttemptId,
  type LeaseKey,
  type Owner,
  parseAttemptId,
  parseEffectId,
  parseLeaseKey,
  parseOwner,
  parseRequestId,
  parseSessionId,
  type RequestId,
  type SessionId,
} from '../../src/lease/names.ts';
import type {
  Acquire,
  AcquireResult,
  BeginIntent,
  KernelStore,
  OpenSession,
  RequestDrain,
  Revoke,
  SaveCheckpoint,
  Tenure,
} from '../../src/lease/port.ts';
import { digestOf } from '../../src/support/digest.ts';
import { expectKind } from './expect.ts';

export const KEY: LeaseKey = parseLeaseKey('orders/17');
export const OTHER_KEY: LeaseKey = parseLeaseKey('orders/18');
/** By default, people have a ttl of ten seconds, and its last two are grace. */
export const TTL_MS = 10_000;
export const GRACE_MS = 2_000;
export const AUTHORITY_MS: number = TTL_MS - GRACE_MS;

export interface OpenedSession {
  readonly id: SessionId;
  readonly owner: Owner;
}

export type Granted = Extract<AcquireResult, { kind: 'granted' }>;
export type Held = Granted & { readonly tenure: Tenure };

/** A UUID that is always the same for the same words. */
function uuidOf(words: string): string {
  const hex = digestOf(new TextEncoder().encode(words));
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

export function sessionIdOf(name: string): SessionId {
  return parseSessionId(uuidOf(`session ${name}`));
}

export function attemptOf(name: string): AttemptId {
  return parseAttemptId(uuidOf(`attempt ${name}`));
}

export function requestOf(name: string): RequestId {
  return parseRequestId(uuidOf(`request ${name}`));
}

export function ownerOf(name: string): Owner {
  return parseOwner(name);
}

export function keyOf(name: string): LeaseKey {
  return parseLeaseKey(name);
}

export function openingOf(name: string, options: Partial<OpenSession> = {}): OpenSession {
  return {
    id: sessionIdOf(name),
    owner: ownerOf(name),
    ttlMs: TTL_MS,
    graceMs: GRACE_MS,
    metadata: {},
    ...options,
  };
}

export async function openedSession(
  store: KernelStore,
  name: string,
  options: Partial<OpenSession> = {},
): Promise<OpenedSession> {
  const request = openingOf(name, options);
  expectKind(await store.sessions.open(request), 'opened');
  return { id: request.id, owner: request.owner };
}

/** Opens sessions for several people, named after `name` and a number. */
export async function several(
  store: KernelStore,
  name: string,
  options: { readonly count: number } & Partial<OpenSession>,
): Promise<readonly OpenedSession[]> {
  const { count, ...opening } = options;
  const people: OpenedSession[] = [];
  for (let number = 1; number <= count; number += 1) {
    people.push(await openedSession(store, `${name} ${number}`, opening));
  }
  return people;
}

let attempts = 0;

/** Each request has its own attempt id, unless the case names one. */
export function acquiring(who: OpenedSession, options: Partial<Acquire> = {}): Acquire {
  attempts += 1;
  return { key: KEY, session: who.id, attempt: attemptOf(`number ${attempts}`), ...options };
}

export async function mustAcquire(
  store: KernelStore,
  who: OpenedSession,
  options: Partial<Acquire> = {},
): Promise<Held> {
  const granted = expectKind(await store.leases.acquire(acquiring(who, options)), 'granted');
  const { key, fence } = granted;
  return { ...granted, tenure: { key, fence, session: who.id } };
}

export async function mustRelease(
  store: KernelStore,
  tenure: Tenure,
  exit: 'finished' | 'yielded' | 'abandoned' | 'failed' | 'retired' = 'finished',
): Promise<void> {
  expectKind(await store.leases.release({ ...tenure, exit }), 'released');
}

export async function mustBeat(store: KernelStore, who: OpenedSession): Promise<void> {
  expectKind(await store.sessions.heartbeat(who), 'alive');
}

export function saving(tenure: Tenure, seq: number, text = `state ${seq}`): SaveCheckpoint {
  const bytes = new TextEncoder().encode(text);
  return { ...tenure, seq, bytes, digest: digestOf(bytes) };
}

export async function mustSave(store: KernelStore, tenure: Tenure, seq: number): Promise<void> {
  expectKind(await store.leases.checkpoint(saving(tenure, seq)), 'saved');
}

export function beginning(tenure: Tenure, effect: string): BeginIntent {
  return { ...tenure, effect: parseEffectId(effect) };
}

export function draining(
  tenure: Pick<Tenure, 'key' | 'fence'>,
  options: Partial<RequestDrain> = {},
): RequestDrain {
  const { key, fence } = tenure;
  const by = { request: requestOf('drain'), actor: 'olga', reason: 'rebalance' };
  return { key, fence, ...by, deadlineMs: 0, ...options };
}

export function revoking(
  tenure: Pick<Tenure, 'key' | 'fence'>,
  options: Partial<Revoke> = {},
): Revoke {
  const { key, fence } = tenure;
  return { key, fence, request: requestOf('revoke'), actor: 'olga', reason: 'stuck', ...options };
}

export function textOf(bytes: Uint8Array | undefined): string {
  assert(bytes !== undefined, 'there must be bytes');
  return new TextDecoder().decode(bytes);
}
