import assert from 'node:assert/strict';
import type { AuditId, ExecutionId } from '../../src/execution/names.ts';
import type { AuditAction, AuditStamp } from '../../src/features/audit/model.ts';
import { type AlertReading, DEFAULT_ALERTS } from '../../src/features/channels/alerts-model.ts';
import {
  ANNOUNCED_QUESTIONS,
  type ChannelEvent,
  type DeliveryAttempt,
  type DeliveryRecord,
  decideAfterAttempt,
  RETRY_MS,
} from '../../src/features/channels/model.ts';
import type {
  AlertRound,
  ClaimedDeliveries,
  PutChannel,
  RecordAlerts,
  RecordDeliveries,
} from '../../src/features/channels/port.ts';
import { keyPrefixOf } from '../../src/features/leases/model.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { formatInstant } from '../../src/support/clock.ts';
import { seededRandom, systemRandom } from '../../src/support/random.ts';
import {
  answering,
  answeringEarly,
  interactionId,
  mustOpen,
  parkedOn,
} from '../execution/awaits/awaiting.ts';
import { mustActivate } from '../execution/releases/releasing.ts';
import {
  heldOf,
  mustFinish,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  running,
  submitting,
  worker,
} from '../execution/worker.ts';
import { keyOf, mustAcquire, openedSession, TTL_MS } from '../lease/opened-session.ts';
import type { AccessCase } from './contract-case.ts';

const SECRET = { key: 'k1', nonce: 'a' };
const LEASE_MS = 60_000;

function putting(events: readonly ChannelEvent[], more: Partial<PutChannel> = {}): PutChannel {
  return {
    ...{ project: PROJECT, id: 'hooks', uid: systemRandom.uuid(), secret: SECRET },
    ...{ kind: 'webhook', url: 'https://example.com/', events, paused: false, ...more },
  };
}

async function mustPut(
  store: CoordinatorStore,
  events: readonly ChannelEvent[],
  more: Partial<PutChannel> = {},
): Promise<PutChannel> {
  const request = putting(events, more);
  assert.deepEqual(await store.access.putChannel(request), { kind: 'put', changed: true });
  return request;
}

function logOf({ access }: CoordinatorStore, id = 'hooks'): Promise<readonly DeliveryRecord[]> {
  return access.deliveries({ project: PROJECT, id, limit: 100 });
}

/** The event, time and content of each message, newest first. */
async function announced(store: CoordinatorStore, id = 'hooks'): Promise<readonly unknown[]> {
  return (await logOf(store, id)).map(({ event, at, data }) => [event, at, data]);
}

async function endOne(store: CoordinatorStore, project = PROJECT): Promise<string> {
  const held = await running(store, await worker(store), { project });
  await mustFinish(store, held);
  return held.id;
}

async function mustClaim(
  { access }: CoordinatorStore,
  uid: string,
  limit = 9,
): Promise<ClaimedDeliveries> {
  const claimed = await access.claimDeliveries({ uid, limit, leaseMs: LEASE_MS });
  assert.ok(claimed !== undefined, 'the channel can send');
  return claimed;
}

function recording(
  { channel, deliveries }: ClaimedDeliveries,
  outcome: Partial<DeliveryAttempt> = {},
  more: Partial<RecordDeliveries> = {},
): RecordDeliveries {
  const random = { ...seededRandom(1), next: () => 0.5 };
  const failures = outcome.error === undefined ? 0 : deliveries.length;
  return {
    ...{ channel, failures, cooldownMs: 10_000, pauses: false },
    attempts: deliveries.map((each) => ({
      ...decideAfterAttempt(each, { at: each.at, ms: 7, ...outcome }, random),
      ...{ id: each.id, attempts: each.attempts },
    })),
    ...more,
  };
}

function stamp(action: AuditAction): AuditStamp {
  return { id: systemRandom.uuid() as AuditId, action, actor: 'ann', reason: '' };
}

const BROKEN = { error: 'the receiver responded with status 500', status: 500 };

const announcing: readonly AccessCase[] = [
  {
    upholds: 'CH-1, CH-2',
    name: 'the end of an execution is announced once to each channel of its project that asks for it',
    async run({ store, advance, now }) {
      await endOne(store);
      await mustPut(store, ['execution-ended']);
      await mustPut(store, ['execution-ended', 'lease-lost'], { id: 'two' });
      await mustPut(store, ['dead-letter-created'], { id: 'others' });
      await mustPut(store, ['execution-ended'], { id: 'hooks', project: OTHER_PROJECT });
      await advance(5);
      const submittedAt = formatInstant(now());
      const held = await running(store, await worker(store), { key: 'order-1' });
      await advance(5);
      await mustFinish(store, held);
      const data = {
        ...{ execution: held.id, key: 'order-1', status: 'completed' },
        ...{ pipeline: PIPELINE, submittedAt },
      };
      const expected = [['execution-ended', now(), data]];
      assert.deepEqual(await announced(store), expected);
      assert.deepEqual(await announced(store, 'two'), expected);
      assert.deepEqual(await announced(store, 'others'), []);
      const other = await store.access.deliveries({
        project: OTHER_PROJECT,
        id: 'hooks',
        limit: 9,
      });
      assert.deepEqual(other, []);
      const [first] = await logOf(store);
      const [second] = await logOf(store, 'two');
      assert.deepEqual([first?.id, second?.id], [`execution-ended_${held.id}`, first?.id]);
    },
  },
  {
    upholds: 'CH-1',
    name: 'a refused end, and ends of the engine itself, announce nothing',
    async run({ store }) {
      await mustPut(store, ['execution-ended', 'dead-letter-created']);
      const ann = await worker(store);
      const held = await running(store, ann);
      const stale = { ...held, seq: held.seq + 5 };
      assert.equal((await store.executions.finish({ ...finish(stale) })).kind, 'refused');
      const own = 'holdfast.job' as typeof PIPELINE;
      await store.executions.submit(submitting({ pipeline: own }));
      const claim = { lane: 'interactive', limit: 1 } as const;
      const claimed = await store.executions.claim({
        ...{ session: ann.id, pipelines: [own], shares: [claim] },
      });
      assert.ok(claimed.kind === 'claimed' && claimed.claims[0] !== undefined);
      await mustFinish(store, heldOf(claimed.claims[0], ann));
      assert.deepEqual(await announced(store), []);
    },
  },
  {
    upholds: 'CH-2',
    name: 'a dead letter is announced with its cause',
    async run({ store, now }) {
      await mustPut(store, ['dead-letter-created']);
      const held = await running(store, await worker(store));
      const deadLetter = {
        ...{ status: 'failed', category: 'permanent', code: 'declined', reason: 'no funds' },
        ...{ step: 'step:pay#1', attempts: 3 },
      } as never;
      await mustFinish(store, held, { status: 'failed', deadLetter });
      const data = {
        ...{ execution: held.id, category: 'permanent', code: 'declined', step: 'step:pay#1' },
        ...{ attempts: 3, pipeline: PIPELINE, status: 'failed' },
      };
      assert.deepEqual(await announced(store), [['dead-letter-created', now(), data]]);
    },
  },
  {
    upholds: 'CH-2',
    name: 'a question is announced when it opens, at each reminder, and when it is answered or expires',
    async run({ store, advance, now }) {
      await mustPut(store, [
        ...(['question-opened', 'question-reminded'] as const),
        ...(['question-answered', 'question-expired'] as const),
      ]);
      const ann = await worker(store);
      const reminders = [{ afterMs: 400, start: submitting({ pipeline: OTHER_PIPELINE }) }];
      const correlations = ['payment-17'];
      const given = { items: 2, assignee: 'olga', correlations, timeoutMs: 1_000, reminders };
      const openedAt = now();
      const held = await parkedOn(store, ann, given);
      const [one, two] = [interactionId(held.id, 0), interactionId(held.id, 1)];
      const about = { execution: held.id, name: 'approval', assignee: 'olga' };
      await advance(400);
      const remindedAt = now();
      await store.executions.expireAwaits({ limit: 9 });
      await store.executions.answer(answering(one, 'yes', { actor: 'bob' }));
      await store.executions.answer(answering(one, 'yes', { actor: 'bob' }));
      await advance(600);
      await store.executions.expireAwaits({ limit: 9 });
      const dueAt = formatInstant(now());
      const found = await announced(store);
      const expected = [
        ['question-expired', now(), { interaction: two, ...about }],
        ['question-answered', remindedAt, { interaction: one, ...about, answeredBy: 'bob' }],
        ['question-reminded', remindedAt, { interaction: two, ...about, dueAt }],
        ['question-reminded', remindedAt, { interaction: one, ...about, dueAt }],
        ['question-opened', openedAt, { interaction: two, ...about }],
        ['question-opened', openedAt, { interaction: one, ...about, correlation: 'payment-17' }],
      ];
      const inOrder = (each: readonly unknown[]) =>
        each.map((one) => JSON.stringify(one)).toSorted();
      assert.deepEqual(inOrder(found), inOrder(expected));
    },
  },
  {
    upholds: 'CH-2, W-19',
    name: 'a queued question is announced when it gets its slot, and never if it closes before',
    async run({ store, advance, now }) {
      await mustPut(store, ['question-opened', 'question-reminded', 'question-expired']);
      const ann = await worker(store);
      const concurrency = { key: 'desk', limit: 1 };
      const reminders = [{ afterMs: 50, start: submitting({ pipeline: OTHER_PIPELINE }) }];
      const openedAt = now();
      const first = await parkedOn(store, ann, { concurrency });
      await parkedOn(store, ann, { timeoutMs: 100, reminders, concurrency });
      const third = await parkedOn(store, ann, { concurrency });
      await advance(50);
      await store.executions.expireAwaits({ limit: 9 });
      await advance(50);
      await store.executions.expireAwaits({ limit: 9 });
      const about = (execution: ExecutionId) => ({
        ...{ interaction: interactionId(execution), execution, name: 'approval' },
      });
      const asked = ['question-opened', openedAt, about(first.id)];
      assert.deepEqual(await announced(store), [asked]);
      await store.executions.answer(answering(interactionId(first.id)));
      assert.deepEqual(await announced(store), [
        ['question-opened', now(), about(third.id)],
        asked,
      ]);
    },
  },
  {
    upholds: 'CH-2, W-7',
    name: 'a signed question is announced, although an answer without a link came before it',
    async run({ store, now }) {
      await mustPut(store, ['question-opened']);
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.answer(answeringEarly(held.id, 'forged'));
      await store.executions.answer(answeringEarly(held.id, 'yes', { item: 1, verified: true }));
      await mustOpen(store, held, { items: 2, signed: true });
      const about = { interaction: interactionId(held.id), execution: held.id, name: 'approval' };
      assert.deepEqual(await announced(store), [['question-opened', now(), about]]);
      const next = await running(store, ann);
      const limited = { signed: true, concurrency: { key: 'desk', limit: 1 } };
      await mustOpen(store, await running(store, ann), limited);
      await store.executions.answer(answeringEarly(next.id, 'forged'));
      await mustOpen(store, next, limited);
      assert.equal((await announced(store)).length, 2, 'a queued question is announced later');
    },
  },
  {
    upholds: 'CH-12',
    name: 'an await announces its first 100 questions: when they open, at a reminder, and when they expire',
    async run({ store, advance }) {
      await mustPut(store, ['question-opened', 'question-reminded', 'question-expired']);
      const reminders = [{ afterMs: 400, start: submitting({ pipeline: OTHER_PIPELINE }) }];
      const given = { items: ANNOUNCED_QUESTIONS + 2, timeoutMs: 1_000, reminders };
      const held = await parkedOn(store, await worker(store), given);
      await advance(400);
      await store.executions.expireAwaits({ limit: 9 });
      await advance(600);
      await store.executions.expireAwaits({ limit: 9 });
      const log = await store.access.deliveries({ project: PROJECT, id: 'hooks', limit: 1_000 });
      const byEvent = Map.groupBy(log, ({ event }) => event);
      const first = Array.from({ length: ANNOUNCED_QUESTIONS }, (_, nth) =>
        interactionId(held.id, nth),
      );
      for (const event of ['question-opened', 'question-reminded', 'question-expired'] as const) {
        const found = byEvent.get(event)?.map(({ data }) => data['interaction']);
        assert.deepEqual(found?.toSorted(), first.toSorted(), event);
      }
    },
  },
  {
    upholds: 'CH-2',
    name: 'a rollout and a lost lease are announced; a lease that is released is not',
    async run({ store, advance, now }) {
      await mustPut(store, ['release-changed', 'lease-lost']);
      await mustPut(store, ['lease-lost'], { project: OTHER_PROJECT });
      const at = now();
      await mustActivate(store, 'v2');
      const session = await openedSession(store, 'ann');
      const key = keyOf(`${keyPrefixOf(PROJECT)}orders/1`);
      const granted = await mustAcquire(store, session, { key });
      await advance(TTL_MS + 1);
      await store.sessions.sweep({ limit: 10 });
      await advance(TTL_MS + 1);
      await store.sessions.sweep({ limit: 10 });
      const other = await store.access.deliveries({
        project: OTHER_PROJECT,
        id: 'hooks',
        limit: 9,
      });
      assert.deepEqual(other, []);
      const [lost, changed] = await logOf(store);
      assert.deepEqual([lost?.event, changed?.event], ['lease-lost', 'release-changed']);
      assert.equal(changed?.at, at);
      assert.deepEqual(changed?.data, {
        ...{ pipeline: PIPELINE, version: 1, action: 'activate', release: 'v2' },
        ...{ actor: 'olga', reason: '' },
      });
      assert.deepEqual(lost?.data, {
        ...{ key: 'orders/1', fence: granted.tenure.fence, owner: 'ann', session: session.id },
      });
    },
  },
];

function finish(held: Parameters<typeof mustFinish>[1]) {
  const event = { kind: 'completed' as const, body: '{}' as never };
  const { id, fence, session, seq } = held;
  return { id, fence, session, seq, events: [event], status: 'completed' as const };
}

const delivering: readonly AccessCase[] = [
  {
    upholds: 'CH-3, CH-4',
    name: 'a claimed message is hidden from other callers for its lease, and then claimed again',
    needs: 'two-clients',
    async run({ store, another, advance }) {
      const { uid } = await mustPut(store, ['execution-ended']);
      for (let nth = 0; nth < 5; nth += 1) await endOne(store);
      const stores = [store, await another()];
      const claims = await Promise.all(stores.map((each) => mustClaim(each, uid, 3)));
      const ids = claims.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
      assert.deepEqual([ids.length, new Set(ids).size], [5, 5]);
      assert.deepEqual((await mustClaim(store, uid)).deliveries, []);
      await advance(LEASE_MS);
      const again = await mustClaim(store, uid);
      assert.deepEqual(again.deliveries.map(({ id }) => id).toSorted(), ids.toSorted());
      assert.deepEqual(
        again.deliveries.map(({ attempts }) => attempts),
        [2, 2, 2, 2, 2],
      );
    },
  },
  {
    upholds: 'CH-4',
    name: 'the outcome of a claim that another caller has taken over is not recorded',
    async run({ store, advance }) {
      const { uid } = await mustPut(store, ['execution-ended']);
      const id = `execution-ended_${await endOne(store)}`;
      const slow = await mustClaim(store, uid);
      await advance(LEASE_MS);
      const second = await mustClaim(store, uid);
      assert.deepEqual(await store.access.recordDeliveries(recording(slow, BROKEN)), []);
      assert.deepEqual(await store.access.recordDeliveries(recording(second)), [id]);
      assert.deepEqual(await store.access.recordDeliveries(recording(second, BROKEN)), []);
      const [delivery] = await logOf(store);
      assert.deepEqual(
        [delivery?.state, delivery?.attempts, delivery?.nextAt],
        ['delivered', 2, undefined],
      );
      assert.equal(delivery?.log.length, 1);
      await advance(LEASE_MS);
      assert.deepEqual((await mustClaim(store, uid)).deliveries, []);
    },
  },
  {
    upholds: 'CH-5',
    name: 'a failed message waits longer each time, and has failed after the last attempt',
    async run({ store, advance, now }) {
      const { uid } = await mustPut(store, ['execution-ended']);
      await endOne(store);
      for (const [nth, waitMs] of RETRY_MS.entries()) {
        const claimed = await mustClaim(store, uid);
        assert.equal(claimed.deliveries.length, 1, `attempt ${nth + 1}`);
        await store.access.recordDeliveries(recording(claimed, BROKEN, { failures: 0 }));
        const [delivery] = await logOf(store);
        assert.deepEqual([delivery?.state, delivery?.nextAt], ['pending', now() + waitMs]);
        await advance(waitMs - 1);
        assert.deepEqual((await mustClaim(store, uid)).deliveries, []);
        await advance(1);
      }
      await store.access.recordDeliveries(
        recording(await mustClaim(store, uid), BROKEN, { failures: 0 }),
      );
      const failed = { project: PROJECT, id: 'hooks', state: 'failed', limit: 9 } as const;
      const [delivery] = await store.access.deliveries(failed);
      assert.deepEqual(
        [delivery?.attempts, delivery?.doneAt, delivery?.log.length],
        [10, now(), 10],
      );
      assert.deepEqual(await store.access.deliveries({ ...failed, state: 'pending' }), []);
      await advance(10 * LEASE_MS);
      assert.deepEqual((await mustClaim(store, uid)).deliveries, []);
    },
  },
  {
    upholds: 'CH-6',
    name: 'five failures in a row open the circuit of a channel, and a success closes it',
    async run({ store, advance, now }) {
      const { access } = store;
      const { uid } = await mustPut(store, ['execution-ended']);
      await mustPut(store, ['execution-ended'], { id: 'healthy' });
      for (let nth = 0; nth < 6; nth += 1) await endOne(store);
      const due = async () => (await access.dueChannels()).due.map(({ id }) => id).toSorted();
      await access.recordDeliveries(recording(await mustClaim(store, uid, 4), BROKEN));
      assert.deepEqual(await due(), ['healthy', 'hooks']);
      await access.recordDeliveries(recording(await mustClaim(store, uid, 1), BROKEN));
      assert.deepEqual(await due(), ['healthy']);
      const claiming = { uid, limit: 9, leaseMs: LEASE_MS };
      assert.equal(await access.claimDeliveries(claiming), undefined);
      const read = async () => access.channel({ project: PROJECT, id: 'hooks' });
      assert.deepEqual([(await read())?.failures, (await read())?.openUntil], [5, now() + 10_000]);
      await advance(10_000);
      assert.deepEqual(await due(), ['healthy', 'hooks']);
      await access.recordDeliveries(recording(await mustClaim(store, uid, 1)));
      assert.deepEqual([(await read())?.failures, (await read())?.openUntil], [0, undefined]);
      const [first] = (await mustClaim(store, uid)).deliveries;
      assert.ok(first !== undefined);
    },
  },
  {
    upholds: 'CH-6',
    name: 'a paused channel sends nothing and keeps its messages; a receiver that is gone pauses it',
    async run({ store }) {
      const { access } = store;
      const { uid } = await mustPut(store, ['execution-ended'], { paused: true });
      await endOne(store);
      const claiming = { uid, limit: 9, leaseMs: LEASE_MS };
      assert.equal(await access.claimDeliveries(claiming), undefined);
      assert.deepEqual(await access.dueChannels(), { due: [], hasAny: true });
      await mustPut(store, ['execution-ended'], { paused: false });
      const claimed = await mustClaim(store, uid);
      assert.equal(claimed.deliveries.length, 1);
      await access.recordDeliveries(recording(claimed, BROKEN, { pauses: true }));
      assert.equal((await access.channel({ project: PROJECT, id: 'hooks' }))?.paused, true);
      assert.equal(await access.claimDeliveries(claiming), undefined);
    },
  },
  {
    upholds: 'CH-7',
    name: 'failed messages are replayed under their ids, oldest first, or one that is over',
    async run({ store, advance }) {
      const { access } = store;
      const { uid } = await mustPut(store, ['execution-ended']);
      const named = { project: PROJECT, id: 'hooks' };
      const ids: string[] = [];
      for (let nth = 0; nth < 3; nth += 1) {
        ids.push(`execution-ended_${await endOne(store)}`);
        await advance(1);
      }
      const claimed = await mustClaim(store, uid);
      const spent = {
        ...claimed,
        deliveries: claimed.deliveries.map((each) => ({ ...each, failed: 99 })),
      };
      await access.recordDeliveries(recording(spent, BROKEN, { failures: 5 }));
      const replay = (more: object = {}, limit = 2) =>
        access.replayDeliveries({ ...named, limit, audit: stamp('replay-channel'), ...more });
      assert.deepEqual(await replay(), { kind: 'replayed', count: 2 });
      const again = await mustClaim(store, uid);
      assert.deepEqual(again.deliveries.map(({ id }) => id).toSorted(), ids.slice(0, 2).toSorted());
      assert.deepEqual(
        again.deliveries.map(({ failed }) => failed),
        [0, 0],
      );
      await access.recordDeliveries(recording(again));
      assert.deepEqual(await replay(), { kind: 'replayed', count: 1 });
      assert.deepEqual(await replay(), { kind: 'replayed', count: 0 });
      assert.deepEqual(await replay({ message: ids[2] }), { kind: 'replayed', count: 0 });
      assert.deepEqual(await replay({ message: ids[0] }), { kind: 'replayed', count: 1 });
      assert.deepEqual(await replay({ id: 'none' }), { kind: 'unknown' });
      const last = await mustClaim(store, uid);
      assert.deepEqual(last.deliveries.map(({ id }) => id).toSorted(), [ids[0], ids[2]].toSorted());
      const records = await store.executions.audit({
        project: PROJECT,
        action: 'replay-channel',
        limit: 9,
      } as never);
      assert.equal(records.length, 3);
    },
  },
];

const keeping: readonly AccessCase[] = [
  {
    upholds: 'CH-1, J-1',
    name: 'a channel is read back as it was put; equal content changes nothing, other content keeps the secret',
    async run({ store, advance, now }) {
      const { access } = store;
      const audit = stamp('put-channel');
      const request = await mustPut(store, ['lease-lost', 'execution-ended'], {
        putBy: 'ann',
        audit,
      });
      const createdAt = now();
      const named = { project: PROJECT, id: 'hooks' };
      const { audit: _a, events: _e, ...content } = request;
      const events = ['execution-ended', 'lease-lost'];
      const expected = { ...content, events, failures: 0, createdAt, changedAt: createdAt };
      assert.deepEqual(await access.channel(named), expected);
      await advance(5);
      const again = putting(['execution-ended', 'lease-lost'], {
        putBy: 'bob',
        secret: { key: 'k2', nonce: 'b' },
      });
      assert.deepEqual(await access.putChannel(again), { kind: 'put', changed: false });
      for (const change of [{ url: 'https://example.com/x' }, { paused: true }]) {
        await advance(5);
        const changing = { ...again, ...change, audit: stamp('put-channel') };
        assert.deepEqual(await access.putChannel(changing), { kind: 'put', changed: true });
        const { uid, secret } = request;
        const { audit: _x, ...changed } = { ...changing, uid, secret, events };
        assert.deepEqual(await access.channel(named), {
          ...changed,
          failures: 0,
          createdAt,
          changedAt: now(),
        });
      }
      const records = await store.executions.audit({ project: PROJECT, limit: 9 });
      assert.equal(records.filter(({ target }) => target.kind === 'channel').length, 3);
    },
  },
  {
    upholds: 'CH-8',
    name: 'a rotated secret overlaps with the one before; a second rotation waits for its end',
    async run({ store, advance, now }) {
      const { access } = store;
      await mustPut(store, ['execution-ended']);
      const named = { project: PROJECT, id: 'hooks' };
      const rotating = { ...named, overlapMs: 1_000, secret: { key: 'k1', nonce: 'b' } };
      const rotated = await access.rotateChannel({ ...rotating, audit: stamp('rotate-channel') });
      const previous = { secret: SECRET, until: now() + 1_000 };
      assert.deepEqual(rotated.kind === 'rotated' && rotated.channel.previous, previous);
      await advance(999);
      const third = { ...rotating, secret: { key: 'k1', nonce: 'c' } };
      assert.equal((await access.rotateChannel(third)).kind, 'overlaps');
      const kept = await access.channel(named);
      assert.deepEqual([kept?.secret, kept?.previous], [rotating.secret, previous]);
      await advance(1);
      assert.equal((await access.rotateChannel(third)).kind, 'rotated');
      assert.equal((await access.rotateChannel({ ...third, id: 'none' })).kind, 'unknown');
    },
  },
  {
    upholds: 'CH-9',
    name: 'a removed channel sends nothing more, and another one of its id has none of its messages',
    async run({ store, advance }) {
      const { access } = store;
      const named = { project: PROJECT, id: 'hooks' };
      const { uid } = await mustPut(store, ['execution-ended']);
      await endOne(store);
      const remove = () => access.removeChannel({ ...named, audit: stamp('remove-channel') });
      assert.deepEqual(await remove(), { kind: 'done' });
      assert.deepEqual(await remove(), { kind: 'no-change' });
      assert.equal(await access.claimDeliveries({ uid, limit: 9, leaseMs: LEASE_MS }), undefined);
      await mustPut(store, ['execution-ended']);
      assert.deepEqual(await logOf(store), []);
      await endOne(store);
      await advance(1_000);
      const limit = { olderThanMs: 1_000, limit: 1 };
      assert.deepEqual(await access.removeDeliveries(limit), { more: false });
      await advance(1);
      assert.deepEqual(await access.removeDeliveries(limit), { more: true });
      assert.deepEqual(await access.removeDeliveries(limit), { more: true });
      assert.deepEqual(await access.removeDeliveries(limit), { more: false });
      assert.deepEqual(await logOf(store), []);
    },
  },
  {
    upholds: 'CH-7',
    name: 'a test message is written once, and messages are listed newest first, page by page',
    async run({ store, advance }) {
      const { access } = store;
      await mustPut(store, ['lease-lost']);
      const named = { project: PROJECT, id: 'hooks' };
      for (const message of ['test_a', 'test_c', 'test_b', 'test_b']) {
        const audit = stamp('test-channel');
        assert.deepEqual(await access.testChannel({ ...named, message, audit }), { kind: 'done' });
        if (message !== 'test_a') continue;
        await advance(1);
      }
      assert.deepEqual(await access.testChannel({ ...named, id: 'none', message: 'x' }), {
        kind: 'unknown',
      });
      const first = await access.deliveries({ ...named, limit: 2 });
      assert.deepEqual(
        first.map(({ id }) => id),
        ['test_c', 'test_b'],
      );
      const before = first[1];
      assert.ok(before !== undefined);
      const rest = await access.deliveries({ ...named, limit: 2, before });
      assert.deepEqual(
        rest.map(({ id, event }) => [id, event]),
        [['test_a', 'test']],
      );
    },
  },
  {
    upholds: 'P-14, P-15',
    needs: 'two-clients',
    name: 'channels that several clients create at once do not exceed the quota',
    async run({ store, another }) {
      const stores = [store, await another()];
      const put = (nth: number) =>
        (stores[nth % 2] ?? store).access.putChannel(
          putting(['lease-lost'], { id: `c${nth}`, quota: 5 }),
        );
      const results = await Promise.all(Array.from({ length: 12 }, (_, nth) => put(nth)));
      const found = await store.access.channels({ project: PROJECT, limit: 99 });
      assert.deepEqual([results.filter(({ kind }) => kind === 'put').length, found.length], [5, 5]);
      const refusal = { kind: 'refused', why: 'over-quota', project: PROJECT, quota: 'channels' };
      assert.deepEqual(await put(99), { ...refusal, limit: 5 });
      const after = found[2]?.id ?? '';
      const rest = await store.access.channels({ project: PROJECT, after, limit: 1 });
      assert.deepEqual(
        rest.map(({ id }) => id),
        [found[3]?.id],
      );
    },
  },
];

const ALERT_EVENTS = ['alert-raised', 'alert-cleared'] as const;
const EVERY_MS = 30_000;
const QUEUE_AGE = { rule: 'queue-age', route: PIPELINE, value: 900, threshold: 500 } as const;

async function mustClaimAlerts({ access }: CoordinatorStore): Promise<AlertRound> {
  const [round, ...rest] = await access.claimAlerts({ limit: 9, leaseMs: LEASE_MS });
  assert.ok(round !== undefined && rest.length === 0, 'one channel is due');
  return round;
}

function evaluated(
  { channel, round }: AlertRound,
  incident: string,
  {
    over = [],
    near = [],
  }: Partial<Pick<RecordAlerts, 'near'>> & {
    readonly over?: readonly AlertReading[];
  } = {},
): RecordAlerts {
  return {
    ...{ channel, round, everyMs: EVERY_MS, near },
    over: over.map((each) => ({ ...each, incident })),
  };
}

/** The messages of alerts, oldest first. */
async function alertsIn(store: CoordinatorStore): Promise<readonly (readonly unknown[])[]> {
  const log = await store.access.deliveries({ project: PROJECT, id: 'hooks', limit: 100 });
  return log.map(({ event, id, data }) => [event, id, data]).toReversed();
}

const alerting: readonly AccessCase[] = [
  {
    upholds: 'CH-14',
    name: 'one caller at a time evaluates a channel, and only the newest round raises an alert',
    needs: 'two-clients',
    async run({ store, another, advance }) {
      const incidents = Array.from({ length: 3 }, () => systemRandom.uuid()) as [
        string,
        string,
        string,
      ];
      const other = await another();
      await mustPut(store, ALERT_EVENTS);
      const claims = await Promise.all(
        [store, other].map(({ access }) => access.claimAlerts({ limit: 9, leaseMs: LEASE_MS })),
      );
      assert.deepEqual(claims.map(({ length }) => length).toSorted(), [0, 1]);
      const slow = claims.flat()[0] as AlertRound;
      await advance(LEASE_MS);
      const next = await mustClaimAlerts(other);
      const over = [QUEUE_AGE];
      const stale = await store.access.recordAlerts(evaluated(slow, incidents[0], { over }));
      assert.deepEqual(stale, { kind: 'stale' });
      assert.deepEqual(await alertsIn(store), []);
      const raised = await other.access.recordAlerts(evaluated(next, incidents[1], { over }));
      assert.deepEqual(raised, { kind: 'recorded', raised: 1, cleared: 0 });
      assert.deepEqual(await store.access.claimAlerts({ limit: 9, leaseMs: LEASE_MS }), []);
      await advance(EVERY_MS);
      const again = evaluated(await mustClaimAlerts(store), incidents[2], { over });
      assert.deepEqual(await store.access.recordAlerts(again), {
        ...{ kind: 'recorded', raised: 0, cleared: 0 },
      });
      const data = { rule: 'queue-age', incident: incidents[1], pipeline: PIPELINE };
      assert.deepEqual(await alertsIn(store), [
        [
          'alert-raised',
          `alert-raised_${incidents[1]}`,
          { ...data, value: QUEUE_AGE.value, threshold: QUEUE_AGE.threshold },
        ],
      ]);
    },
  },
  {
    upholds: 'CH-15',
    name: 'an alert is cleared after two calm rounds in a row, and the next one is another incident',
    async run({ store, advance, now }) {
      const [first, second] = [systemRandom.uuid(), systemRandom.uuid()];
      await mustPut(store, ALERT_EVENTS);
      const raisedAt = formatInstant(now());
      const rounds: readonly Parameters<typeof evaluated>[2][] = [
        ...[{ over: [QUEUE_AGE] }, {}, { near: [QUEUE_AGE] }, {}],
        ...[{ over: [QUEUE_AGE] }, {}, {}, {}],
      ];
      for (const [nth, round] of rounds.entries()) {
        const cleared = nth === 6 ? 1 : 0;
        const recorded = await store.access.recordAlerts(
          evaluated(await mustClaimAlerts(store), first, round),
        );
        const raised = nth === 0 ? 1 : 0;
        assert.deepEqual(recorded, { kind: 'recorded', raised, cleared }, `round ${nth}`);
        await advance(EVERY_MS);
      }
      const over = [QUEUE_AGE];
      await store.access.recordAlerts(evaluated(await mustClaimAlerts(store), second, { over }));
      const found = await alertsIn(store);
      assert.deepEqual(
        found.map(([event, id]) => [event, id]),
        [
          ['alert-raised', `alert-raised_${first}`],
          ['alert-cleared', `alert-cleared_${first}`],
          ['alert-raised', `alert-raised_${second}`],
        ],
      );
      assert.deepEqual(found[1]?.[2], {
        ...{ rule: 'queue-age', incident: first, pipeline: PIPELINE, raisedAt },
      });
    },
  },
  {
    upholds: 'CH-14, CH-15',
    name: 'a channel without alert events is not evaluated; a change of its limits ends the round under way',
    async run({ store, advance }) {
      const { access } = store;
      const incident = systemRandom.uuid();
      await mustPut(store, ['execution-ended'], { id: 'others' });
      assert.deepEqual(await access.claimAlerts({ limit: 9, leaseMs: LEASE_MS }), []);
      await mustPut(store, ['alert-cleared']);
      const named = { project: PROJECT, id: 'hooks' };
      assert.deepEqual((await access.channel(named))?.alerts, DEFAULT_ALERTS);
      const slow = await mustClaimAlerts(store);
      const alerts = { queueAgeMs: 500 };
      await mustPut(store, ALERT_EVENTS, { alerts });
      assert.deepEqual((await access.channel(named))?.alerts, alerts);
      const over = [QUEUE_AGE];
      const late = await access.recordAlerts(evaluated(slow, incident, { over }));
      assert.deepEqual(late, { kind: 'stale' });
      const round = await mustClaimAlerts(store);
      await access.recordAlerts(evaluated(round, incident, { over }));
      await mustPut(store, ['execution-ended']);
      assert.equal((await access.channel(named))?.alerts, undefined);
      await advance(EVERY_MS);
      assert.deepEqual(await access.claimAlerts({ limit: 9, leaseMs: LEASE_MS }), []);
      await mustPut(store, ALERT_EVENTS);
      const again = systemRandom.uuid();
      const raised = await access.recordAlerts(
        evaluated(await mustClaimAlerts(store), again, { over }),
      );
      assert.deepEqual(raised, { kind: 'recorded', raised: 1, cleared: 0 });
      assert.deepEqual(
        (await alertsIn(store)).map(([, id]) => id).toSorted(),
        [`alert-raised_${again}`, `alert-raised_${incident}`].toSorted(),
      );
    },
  },
  {
    upholds: 'CH-14',
    name: 'a channel that asks for cleared alerts only gets no message when one is raised',
    async run({ store, advance }) {
      const incident = systemRandom.uuid();
      await mustPut(store, ['alert-cleared']);
      for (const over of [[QUEUE_AGE], [], []]) {
        await store.access.recordAlerts(
          evaluated(await mustClaimAlerts(store), incident, { over }),
        );
        await advance(EVERY_MS);
      }
      const found = await alertsIn(store);
      assert.deepEqual(
        found.map(([, id]) => id),
        [`alert-cleared_${incident}`],
      );
    },
  },
];

export const channelCases: readonly AccessCase[] = [
  ...announcing,
  ...delivering,
  ...keeping,
  ...alerting,
];
