// Builders for cases: submits, claims, and writes of owners.

import assert from 'node:assert/strict';
import type { Lane } from '../../src/execution/execution.ts';
import type { NewEvent } from '../../src/execution/history.ts';
import {
  DEFAULT_PROJECT,
  type ExecutionId,
  type ExecutionRef,
  type Payload,
  type PipelineName,
  type ProjectName,
  parseExecutionId,
  parsePipelineName,
  parseProject,
} from '../../src/execution/names.ts';
import type { Fence } from '../../src/lease/fence.ts';
import type { SessionId } from '../../src/lease/names.ts';
import type { OpenSession } from '../../src/lease/port.ts';
import type {
  Claim,
  Claimed,
  ClaimResult,
  Command,
  CoordinatorStore,
  Finish,
  OwnerWrite,
  Park,
  Signal,
  Submit,
  Transact,
} from '../../src/store/contract/execution-store.ts';
import { expectKind } from '../lease/expect.ts';
import { type OpenedSession, openedSession } from '../lease/opened-session.ts';

export const PROJECT: ProjectName = DEFAULT_PROJECT;
export const OTHER_PROJECT: ProjectName = parseProject('other');
export const THIRD_PROJECT: ProjectName = parseProject('third');
export const PROJECTS: readonly ProjectName[] = [PROJECT, OTHER_PROJECT, THIRD_PROJECT];
export const PIPELINE: PipelineName = parsePipelineName('orders');
export const OTHER_PIPELINE: PipelineName = parsePipelineName('reports');

/** Options of sessions that outlive the case without heartbeats. */
export const LONG: Partial<OpenSession> = { ttlMs: 3_600_000, graceMs: 0 };

export function payload(value: unknown): Payload {
  return JSON.stringify(value) as Payload;
}

let ids = 0;

/** Each id is greater than the previous ones, like UUIDs of version 7. */
export function nextId(): ExecutionId {
  ids += 1;
  return parseExecutionId(`01900000-0000-7000-8000-${ids.toString(16).padStart(12, '0')}`);
}

export function submitting(options: Partial<Submit> = {}): Submit {
  const id = options.id ?? nextId();
  return {
    id,
    project: PROJECT,
    pipeline: PIPELINE,
    lane: 'interactive',
    input: payload({ order: 17 }),
    lineage: id,
    tags: [],
    attributes: {},
    ...options,
  };
}

export async function mustSubmit(
  store: CoordinatorStore,
  options: Partial<Submit> = {},
): Promise<ExecutionId> {
  const request = submitting(options);
  const result = expectKind(await store.executions.submit(request), 'submitted');
  assert.deepEqual(result, { kind: 'submitted', id: request.id, existing: false });
  return result.id;
}

/** A worker whose session lasts longer than any case. */
export function worker(
  store: CoordinatorStore,
  name: string = 'ann',
  options: Partial<OpenSession> = {},
): Promise<OpenedSession> {
  return openedSession(store, name, { ...LONG, ...options });
}

export type ClaimedResult = Extract<ClaimResult, { kind: 'claimed' }>;

export function claiming(
  who: Pick<OpenedSession, 'id'>,
  limit: number = 100,
  options: Partial<Claim> = {},
): Claim {
  const lanes: readonly Lane[] = ['interactive', 'batch'];
  return {
    session: who.id,
    pipelines: [PIPELINE],
    shares: lanes.map((lane) => ({ lane, limit })),
    ...options,
  };
}

/** Makes one claim call. */
export async function claimOnce(store: CoordinatorStore, request: Claim): Promise<ClaimedResult> {
  return expectKind(await store.executions.claim(request), 'claimed');
}

/** Claims until there is no more. */
export async function claimAll(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  options: Partial<Claim> = {},
): Promise<readonly Claimed[]> {
  const claims: Claimed[] = [];
  for (let calls = 0; calls < 200; calls += 1) {
    const result = await claimOnce(store, claiming(who, 100, options));
    claims.push(...result.claims);
    if (!result.more) return claims;
  }
  throw new Error('X-11: `more` does not end');
}

/** Claims everything claimable and returns the ids in order. */
export async function claimIds(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
): Promise<readonly ExecutionId[]> {
  return (await claimAll(store, who)).map(({ execution }) => execution.id);
}

/** The owner's knowledge of its claim. `seq` is the position of its next event. */
export interface Held {
  readonly id: ExecutionId;
  readonly fence: Fence;
  readonly session: SessionId;
  readonly seq: number;
}

export function heldOf({ execution, fence }: Claimed, who: Pick<OpenedSession, 'id'>): Held {
  return { id: execution.id, fence, session: who.id, seq: execution.seq + 1 };
}

/** Claims the one claimable execution, and asserts that there is no other. */
export async function mustClaim(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  id?: ExecutionId,
): Promise<Held & { readonly claimed: Claimed }> {
  const claims = await claimAll(store, who);
  const [claimed] = claims;
  assert(claimed !== undefined && claims.length === 1, `one claim, not ${claims.length}`);
  if (id !== undefined) assert.equal(claimed.execution.id, id);
  return { ...heldOf(claimed, who), claimed };
}

/** Submits one execution and claims it. */
export async function running(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  options: Partial<Submit> = {},
): Promise<Held> {
  const id = await mustSubmit(store, options);
  const { claimed: _, ...held } = await mustClaim(store, who, id);
  return held;
}

export function step(name: string, value: unknown = { key: `step:${name}#1` }): NewEvent {
  return { kind: 'step-completed', name, body: payload(value) };
}

export function writing(held: Held, ...events: readonly NewEvent[]): OwnerWrite {
  const { id, fence, session, seq } = held;
  return { id, fence, session, seq, events: events.length === 0 ? [step('pay')] : events };
}

/** The same claim after `count` more events. */
export function later(held: Held, count: number = 1): Held {
  return { ...held, seq: held.seq + count };
}

export async function mustRecord(
  store: CoordinatorStore,
  held: Held,
  ...events: readonly NewEvent[]
): Promise<Held> {
  const request = writing(held, ...events);
  expectKind(await store.executions.record(request), 'recorded');
  return later(held, request.events.length);
}

export function finishing(held: Held, options: Partial<Finish> = {}): Finish {
  const status = options.status ?? 'completed';
  const body = payload({ result: 'done' });
  return { ...writing(held, { kind: status, body }), status, ...options };
}

export async function mustFinish(
  store: CoordinatorStore,
  held: Held,
  options: Partial<Finish> = {},
): Promise<void> {
  expectKind(await store.executions.finish(finishing(held, options)), 'finished');
}

export function parking(held: Held, options: Partial<Park> = {}): Park {
  return { ...writing(held, { kind: 'parked' }), wakeAfter: 0, inboxSeen: 0, ...options };
}

export async function mustPark(
  store: CoordinatorStore,
  held: Held,
  options: Partial<Park> = {},
): Promise<void> {
  expectKind(await store.executions.park(parking(held, options)), 'parked');
}

export async function mustGiveBack(store: CoordinatorStore, held: Held): Promise<void> {
  const request = writing(held, { kind: 'given-back' });
  expectKind(await store.executions.giveBack(request), 'given-back');
}

export function transacting<Result>(
  held: Held,
  work: Transact<Result>['work'],
  event: NewEvent = step('pay'),
): Transact<Result> {
  const { id, fence, session, seq } = held;
  return { id, fence, session, seq, work, events: () => [event] };
}

export function commanding(id: ExecutionRef, options: Partial<Command> = {}): Command {
  return { id, project: PROJECT, body: payload({ by: 'olga' }), ...options };
}

export function signalling(id: ExecutionId, name: string = 'paid'): Signal {
  return { ...commanding(id), name };
}

/** Builds a child of this execution, as its code would start it. */
export function childOf(parent: ExecutionId, call: string, options: Partial<Submit> = {}): Submit {
  const above = { id: parent, call: call as NonNullable<Submit['parent']>['call'] };
  return submitting({ parent: above, pipeline: OTHER_PIPELINE, ...options });
}

export async function statusOf(store: CoordinatorStore, id: ExecutionId): Promise<string> {
  return (await mustRead(store, id)).status;
}

export async function mustRead(
  store: CoordinatorStore,
  id: ExecutionId,
): Promise<Claimed['execution']> {
  const execution = await store.executions.read(id);
  assert(execution !== undefined, `execution ${id} must be there`);
  return execution;
}

export async function kindsOf(
  store: CoordinatorStore,
  id: ExecutionId,
): Promise<readonly string[]> {
  const events = await store.executions.history({ id, after: 0, limit: 1_000 });
  return events.map(({ kind }) => kind);
}

/** Ends the session as a stored fact. */
export async function endSessionOf(store: CoordinatorStore, who: OpenedSession): Promise<void> {
  const by = { kind: 'owner', owner: who.owner, exit: 'failed' } as const;
  expectKind(await store.sessions.end({ id: who.id, by }), 'ended');
}

/** The number of notices that a heartbeat returns. */
export async function noticesOf(store: CoordinatorStore, who: OpenedSession): Promise<number> {
  return expectKind(await store.sessions.heartbeat(who), 'alive').notices;
}
