import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../contract/testing/manual-clock.ts';
import { toFence } from '../../../lease/fence.ts';
import type { SessionId } from '../../../lease/names.ts';
import { StoreUnavailable } from '../../../support/fault.ts';
import type { Claimed } from '../../contract/execution-store.ts';
import type { Queries } from '../database.ts';
import { OrphanedClaims } from './orphaned-claims.ts';

const ANN = '01900000-0000-7000-8000-00000000000a' as SessionId;
const BOB = '01900000-0000-7000-8000-00000000000b' as SessionId;

function idOf(fence: number): string {
  return `01900000-0000-7000-8000-${fence.toString().padStart(12, '0')}`;
}

/** A server whose sessions carry executions by fence. The test can make it unavailable. */
class Server implements Queries {
  readonly carried: Map<SessionId, Set<number>> = new Map();
  readonly ended: Set<string> = new Set();
  isAway = false;
  asked = 0;

  carry(session: SessionId, ...fences: readonly number[]): void {
    this.carried.set(session, new Set([...(this.carried.get(session) ?? []), ...fences]));
  }

  async rows<Row>(
    { text }: { readonly text: string },
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    this.asked += 1;
    if (this.isAway) throw new StoreUnavailable('away');
    if (text.includes('hf.session')) {
      const ids = String(values[0]).slice(1, -1).split(',');
      return ids.filter((id) => !this.ended.has(id)).map((id) => ({ id })) as Row[];
    }
    const fences = [...(this.carried.get(values[0] as SessionId) ?? [])];
    const isLoad = text.includes('hf.history');
    const wanted = isLoad ? String(values[1]) : '';
    return fences
      .filter((fence) => (isLoad ? wanted.includes(idOf(fence)) : fence > Number(values[1])))
      .map((fence) => rowOf(fence, values[0] as SessionId)) as Row[];
  }
}

function rowOf(fence: number, session: SessionId): object {
  const claim_body = JSON.stringify({ previous: 'none' });
  const row = {
    id: idOf(fence),
    fence,
    session_id: session,
    status: 1,
    lane: 0,
    hold: 0,
    claim_body,
  };
  const none = ['about', 'key', 'intent', 'parent_id', 'parent_call', 'deadline_at', 'ready_at'];
  const nulls = [...none, 'ended_at', 'progress', 'heartbeats'].map((name) => [name, null]);
  return { ...Object.fromEntries(nulls), ...row, pipeline: 'p', claimed_at: 1, seq: 2, news: 0 };
}

function claimedOf(fence: number): Claimed {
  return { fence: toFence(fence) } as Claimed;
}

async function found(
  orphans: OrphanedClaims,
  server: Server,
  session: SessionId = ANN,
): Promise<number[]> {
  return (await orphans.find(server, session)).map(({ fence }) => Number(fence));
}

const MINUTE_MS = 60_000;

test('X-25: a claim that may have been done is not forgotten, however long the server is away', async () => {
  const clock = new ManualClock();
  const server = new Server();
  const orphans = new OrphanedClaims(clock);
  orphans.sent(ANN);
  orphans.suspect(ANN);
  server.carry(ANN, 7);
  server.isAway = true;
  for (let minutes = 0; minutes < 120; minutes += 1) {
    await assert.rejects(found(orphans, server), StoreUnavailable);
    await clock.advance(MINUTE_MS);
  }
  server.isAway = false;
  assert.deepEqual(await found(orphans, server), [7]);
  assert.deepEqual(await found(orphans, server), [], 'once');
});

test('X-25: a claim that a slow server does late is still found', async () => {
  const clock = new ManualClock();
  const server = new Server();
  const orphans = new OrphanedClaims(clock);
  orphans.sent(ANN);
  orphans.suspect(ANN);
  for (let minutes = 0; minutes < 60; minutes += 1) {
    assert.deepEqual(await found(orphans, server), []);
    await clock.advance(MINUTE_MS);
  }
  server.carry(ANN, 9);
  await clock.advance(MINUTE_MS);
  assert.deepEqual(await found(orphans, server), [9]);
});

test('X-25: a delivered claim is not an orphan, even if it was answered beside the lost one', async () => {
  const server = new Server();
  const orphans = new OrphanedClaims(new ManualClock());
  orphans.sent(ANN);
  orphans.sent(ANN);
  server.carry(ANN, 3, 4);
  assert.equal(orphans.deliver(ANN, [claimedOf(3)]).length, 1);
  orphans.settled(ANN);
  orphans.suspect(ANN);
  assert.deepEqual(await found(orphans, server), [4]);
  orphans.sent(ANN);
  assert.equal(
    orphans.deliver(ANN, [claimedOf(4)]).length,
    0,
    'its late answer is not returned again',
  );
});

test('X-25: a lost claim is looked for often at first and rarely later, and other claims never', async () => {
  const clock = new ManualClock();
  const server = new Server();
  const orphans = new OrphanedClaims(clock);
  await found(orphans, server, BOB);
  assert.equal(server.asked, 0);
  orphans.sent(ANN);
  orphans.suspect(ANN);
  for (let times = 0; times < 10; times += 1) await found(orphans, server);
  assert.equal(server.asked, 10);
  await clock.advance(10 * MINUTE_MS);
  server.asked = 0;
  for (let times = 0; times < 10; times += 1) await found(orphans, server);
  assert.equal(server.asked, 1);
});

test('X-25: ended sessions, and executions that are no longer carried, are forgotten', async () => {
  const clock = new ManualClock();
  const server = new Server();
  const orphans = new OrphanedClaims(clock);
  for (const session of [ANN, BOB]) {
    orphans.sent(session);
    orphans.suspect(session);
  }
  server.carry(BOB, 5, 6);
  assert.deepEqual(await found(orphans, server, BOB), [5, 6]);
  assert.deepEqual(orphans.size, { sessions: 2, known: 2 });
  server.carried.get(BOB)?.delete(5);
  server.ended.add(ANN);
  await found(orphans, server, BOB);
  assert.deepEqual(orphans.size, { sessions: 1, known: 1 });
});
