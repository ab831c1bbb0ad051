// X-1, P3: step results race takeovers. The next owner sees every acknowledged step, and no refused
// one, over thousands of rounds with real concurrency in the store.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { NewEvent } from '../../src/execution/history.ts';
import {
  DEFAULT_PROJECT,
  type ExecutionId,
  type Payload,
  parsePipelineName,
} from '../../src/execution/names.ts';
import { parseOwner, parseSessionId, type SessionId } from '../../src/lease/names.ts';
import type { Claimed, CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openAddressed, type StorePlace } from './place.ts';

const ROUNDS = 40;
const PER_ROUND = 50;
const PIPELINE = parsePipelineName('raced');
const OWNER = parseOwner('racer');
const STEP: NewEvent = { kind: 'step-completed', name: 's', body: '{"v":1}' as Payload };

export function registerTakeoverRace(
  kind: string,
  placeOf: () => StorePlace | Promise<StorePlace>,
): void {
  test(`${kind}: X-1, P3: all done steps are seen among ${ROUNDS * PER_ROUND} that race a takeover`, async (t) => {
    const place = await placeOf();
    const [one, two] = await Promise.all([openAddressed(place), openAddressed(place)]);
    const tally = { done: 0, refused: 0 };
    try {
      for (let round = 0; round < ROUNDS; round += 1) await race({ one, two }, tally);
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
    t.diagnostic(`${tally.done} done, ${tally.refused} refused`);
    // A race that one side always wins shows nothing.
    assert.ok(tally.done > 0 && tally.refused > 0, JSON.stringify(tally));
  });
}

async function race(
  { one, two }: { readonly one: CoordinatorStore; readonly two: CoordinatorStore },
  tally: { done: number; refused: number },
): Promise<void> {
  const first = await openSession(one);
  const second = await openSession(two);
  await Promise.all(Array.from({ length: PER_ROUND }, () => submit(one)));
  const claims = await claimAll(one, first);
  // The steps are spread around the moment at which their session ends.
  const steps = claims.map(async (claimed, index) => {
    await new Promise((resolve) => setTimeout(resolve, index % 5));
    return recordStep(one, claimed, first);
  });
  await new Promise((resolve) => setTimeout(resolve, 1));
  const by = { kind: 'operator', actor: 'test', reason: 'takeover' } as const;
  const taking = two.sessions.end({ id: first, by }).then(() => claimAll(two, second));
  const seen = await taking.then(async (successors) => {
    assert.equal(successors.length, claims.length, 'all were taken over');
    return historiesOf(two, successors);
  });
  const answers = await Promise.all(steps);
  for (const [index, { execution }] of claims.entries()) {
    const isDone = answers[index] === 'recorded';
    tally[isDone ? 'done' : 'refused'] += 1;
    const isSeen = seen.get(execution.id)?.includes('step-completed') === true;
    assert.equal(isSeen, isDone, `the step of ${execution.id} was answered ${answers[index]}`);
  }
  await end(two, second);
}

async function submit(store: CoordinatorStore): Promise<void> {
  const id = randomUUID() as ExecutionId;
  const input = '{}' as Payload;
  await store.executions.submit({
    ...{ id, project: DEFAULT_PROJECT, pipeline: PIPELINE, lane: 'interactive', input },
    ...{ lineage: id, tags: [], attributes: {} },
  });
}

async function claimAll(store: CoordinatorStore, session: SessionId): Promise<readonly Claimed[]> {
  const claims: Claimed[] = [];
  while (claims.length < PER_ROUND) {
    const shares = [{ lane: 'interactive', limit: PER_ROUND }] as const;
    const answer = await store.executions.claim({ session, pipelines: [PIPELINE], shares });
    assert.equal(answer.kind, 'claimed');
    if (answer.kind === 'claimed') claims.push(...answer.claims);
  }
  return claims;
}

async function recordStep(
  store: CoordinatorStore,
  { execution, fence }: Claimed,
  session: SessionId,
): Promise<string> {
  const { id, seq } = execution;
  const write = { id, fence, session, seq: seq + 1, events: [STEP] };
  return (await store.executions.record(write)).kind;
}

async function historiesOf(
  store: CoordinatorStore,
  claims: readonly Claimed[],
): Promise<ReadonlyMap<ExecutionId, readonly string[]>> {
  const histories = new Map<ExecutionId, readonly string[]>();
  for (const { execution } of claims) {
    const events = await store.executions.history({ id: execution.id, after: 0, limit: 100 });
    histories.set(
      execution.id,
      events.map(({ kind }) => kind),
    );
  }
  return histories;
}

async function openSession(store: CoordinatorStore): Promise<SessionId> {
  const id = parseSessionId(randomUUID());
  await store.sessions.open({ id, owner: OWNER, ttlMs: 60_000, graceMs: 0, metadata: {} });
  return id;
}

/** Ends the rest of the round, so that the next round finds only its own executions. */
async function end(store: CoordinatorStore, session: SessionId): Promise<void> {
  const { executions } = store;
  const { items } = await executions.list({
    project: DEFAULT_PROJECT,
    status: ['running'],
    limit: 1_000,
  });
  await Promise.all(
    items.map(async ({ id, fence, session: owner, seq }) => {
      if (fence === undefined || owner !== session) return;
      const events: readonly NewEvent[] = [{ kind: 'completed' }];
      await executions.finish({ id, fence, session, seq: seq + 1, events, status: 'completed' });
    }),
  );
  await store.sessions.end({ id: session, by: { kind: 'owner', owner: OWNER, exit: 'finished' } });
}
