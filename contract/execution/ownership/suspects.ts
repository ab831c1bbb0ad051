// Executions that were lost twice in a row without progress: when a session tries them again, and
// which one.

import assert from 'node:assert/strict';
import { CLAIM_SCAN_MAX } from '../../../src/execution/decide/suspect.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type {
  Claimed,
  CoordinatorStore,
  Submit,
} from '../../../src/store/contract/execution-store.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import type { ExecutionCase, ExecutionHarness } from '../contract-case.ts';
import { mustActivate, workerOf } from '../releases/releasing.ts';
import {
  claimAll,
  claimIds,
  claiming,
  claimOnce,
  endSessionOf,
  heldOf,
  mustClaim,
  mustFinish,
  mustRecord,
  mustSubmit,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  running,
  worker,
} from '../worker.ts';

const DAY_MS = 86_400_000;
/** The wait of a suspect whose last claim ended at once. */
const LEAST_MS = 1_000;
const MOST_MS = 300_000;

/** A session that is old enough for any suspect. */
async function veteran(
  { store, advance }: ExecutionHarness,
  name: string = 'old',
): Promise<OpenedSession> {
  const old = await worker(store, name, { ttlMs: 2 * DAY_MS });
  await advance(MOST_MS);
  return old;
}

/**
 * Makes suspects: both workers that had these executions died, the second one `ms` after its claim.
 */
async function suspects(
  { store, advance }: ExecutionHarness,
  submits: readonly Partial<Submit>[] = [{}],
  ms: number = 0,
): Promise<readonly ExecutionId[]> {
  const ids: ExecutionId[] = [];
  for (const options of submits) ids.push(await mustSubmit(store, options));
  for (const name of ['first', 'second']) {
    const who = await worker(store, `${name} of ${ids[0]}`);
    const pipelines = [submits[0]?.pipeline ?? PIPELINE];
    const claims = await claimAll(store, who, { pipelines });
    assert.equal(claims.length, ids.length, 'the first takeover is immediate');
    if (name === 'second') await advance(ms);
    await endSessionOf(store, who);
  }
  return ids;
}

/** Lets this session claim so many new executions. */
async function carryMany(
  store: CoordinatorStore,
  who: OpenedSession,
  count: number,
): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => mustSubmit(store)));
  assert.equal((await claimAll(store, who)).length, count);
}

function idsOf(claims: readonly Claimed[]): readonly ExecutionId[] {
  return claims.map(({ execution }) => execution.id).toSorted();
}

const waits = [
  { what: 'at least a second', ms: 0, waitMs: LEAST_MS },
  { what: 'four times as long as its last claim lasted', ms: 700, waitMs: 2_800 },
  { what: 'at most five minutes', ms: 100_000, waitMs: MOST_MS },
];

export const suspectCases: readonly ExecutionCase[] = [
  ...waits.map(
    ({ what, ms, waitMs }): ExecutionCase => ({
      upholds: 'X-7, X-54',
      name: `after its second loss without progress an execution waits ${what}`,
      async run(harness) {
        const { store, advance } = harness;
        const old = await veteran(harness);
        const [id] = await suspects(harness, [{}], ms);
        await advance(waitMs - 1);
        const early = await claimOnce(store, claiming(old));
        assert.deepEqual([early.claims, early.more, early.nextReadyInMs], [[], false, undefined]);
        await advance(1);
        const { claimed } = await mustClaim(store, old, id);
        assert.deepEqual([claimed.previous, claimed.execution.claimsWithoutProgress], ['lost', 2]);
      },
    }),
  ),
  ...waits.map(
    ({ what, ms, waitMs }): ExecutionCase => ({
      upholds: 'X-7, X-55',
      name: `a session may claim a suspect once it has lived ${what}`,
      async run(harness) {
        const { store, advance } = harness;
        const [id] = await suspects(harness, [{}], ms);
        await advance(MOST_MS);
        const young = await worker(store, 'young');
        await advance(waitMs - 1);
        assert.deepEqual(await claimIds(store, young), []);
        await advance(1);
        await mustClaim(store, young, id);
      },
    }),
  ),
  {
    upholds: 'X-7, M-15, X-55',
    name: 'a young session may claim a suspect if its process has lived long enough',
    async run(harness) {
      const { store, advance } = harness;
      const ids = [...(await suspects(harness)), ...(await suspects(harness))];
      await advance(MOST_MS);
      const young = await worker(store, 'young');
      const claimed = (livedMs: number) => claimAll(store, young, { livedMs });
      assert.deepEqual(await claimed(LEAST_MS - 1), []);
      assert.deepEqual(idsOf(await claimed(LEAST_MS)), [ids[0]]);
      await advance(LEAST_MS - 1);
      assert.deepEqual(await claimed(2 * LEAST_MS - 1), []);
      await advance(1);
      assert.deepEqual(idsOf(await claimed(2 * LEAST_MS)), [ids[1]]);
    },
  },
  {
    upholds: 'X-7, R-4, X-54',
    name: 'the claim of an expired session lasted until a third of the ttl after its last heartbeat',
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const id = await mustSubmit(store);
      for (const name of ['first', 'second']) {
        const who = await worker(store, name, { ttlMs: 9_000, graceMs: 0 });
        await mustClaim(store, who, id);
        await advance(9_000);
        await store.sessions.sweep({ limit: 100 });
      }
      // Claimed at 0, silent from 3,000 on, found at 9,000, and ready four times 3,000 later.
      await advance(5_999);
      assert.deepEqual(await claimIds(store, old), []);
      await advance(1);
      await mustClaim(store, old, id);
    },
  },
  {
    upholds: 'X-7, X-54',
    name: 'a suspect whose last session was deleted can be claimed',
    policy: { retentionMs: 0 },
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const [id] = await suspects(harness, [{}], 100_000);
      await advance(1_000);
      await store.sessions.sweep({ limit: 100 });
      await mustClaim(store, old, id);
    },
  },
  {
    upholds: 'X-7, X-56',
    name: 'a session holds one suspect at a time, the one claimed longest ago first, beside all other work',
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const ids = [
        ...(await suspects(harness)),
        ...(await suspects(harness)),
        ...(await suspects(harness)),
      ];
      const left = await running(store, await worker(store, 'gone'));
      await advance(LEAST_MS);
      await store.sessions.end({
        id: left.session,
        by: { kind: 'operator', actor: 'olga', reason: 'gone' },
      });
      const ready = await mustSubmit(store);
      const claims = await claimAll(store, old);
      assert.deepEqual(idsOf(claims), [ids[0], left.id, ready].toSorted());
      const first = claims.find(({ execution }) => execution.id === ids[0]);
      assert.ok(first !== undefined);
      assert.deepEqual(await claimIds(store, old), []);
      // Progress, an end and a long life each make room for the next suspect.
      await mustRecord(store, heldOf(first, old));
      const second = await mustClaim(store, old, ids[1]);
      await mustFinish(store, second);
      await mustClaim(store, old, ids[2]);
    },
  },
  {
    upholds: 'X-7',
    name: 'an execution that was lost once never takes the turn of a suspect, however long ago it was lost',
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const gone = await worker(store, 'gone', { ttlMs: DAY_MS });
      const left = await running(store, gone);
      const [suspect] = await suspects(harness);
      await endSessionOf(store, gone);
      await advance(MOST_MS);
      assert.deepEqual(idsOf(await claimAll(store, old)), [left.id, suspect].toSorted());
    },
  },
  {
    upholds: 'X-7, X-56',
    name: 'a suspect that has run as long as its session had lived makes room for the next',
    async run(harness) {
      const { store, advance } = harness;
      const ids = [
        ...(await suspects(harness)),
        ...(await suspects(harness)),
        ...(await suspects(harness)),
      ];
      const who = await worker(store);
      await advance(LEAST_MS);
      await mustClaim(store, who, ids[0]);
      await advance(LEAST_MS - 1);
      assert.deepEqual(await claimIds(store, who), []);
      await advance(1);
      await mustClaim(store, who, ids[1]);
      const old = await veteran(harness);
      await advance(MOST_MS);
      await suspects(harness);
      await advance(LEAST_MS);
      await mustClaim(store, old, ids[2]);
      await advance(MOST_MS - 1);
      assert.deepEqual(await claimIds(store, old), []);
      await advance(1);
      assert.equal((await claimIds(store, old)).length, 1);
    },
  },
  {
    upholds: 'X-7, X-56, X-90',
    name: 'a suspect is found behind more executions of another pipeline than a claim looks at',
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const id = await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      for (const name of ['first', 'second']) {
        const who = await worker(store, name);
        await claimAll(store, who, { pipelines: [OTHER_PIPELINE] });
        if (name === 'second') await carryMany(store, who, CLAIM_SCAN_MAX.left + 1);
        await endSessionOf(store, who);
      }
      await advance(MOST_MS);
      const request = claiming(old, 10, { pipelines: [OTHER_PIPELINE], dice: 0 });
      assert.deepEqual(idsOf((await claimOnce(store, request)).claims), [id]);
    },
  },
  {
    upholds: 'X-7, X-90',
    name: 'an execution that was lost once is found behind more suspects than a claim looks at',
    async run({ store }) {
      const count = CLAIM_SCAN_MAX.left + 20;
      const first = await worker(store, 'first');
      await carryMany(store, first, count);
      await endSessionOf(store, first);
      const second = await worker(store, 'second');
      assert.equal((await claimAll(store, second)).length, count);
      const { id } = await running(store, second);
      await endSessionOf(store, second);
      const young = await worker(store, 'young');
      const found: ExecutionId[] = [];
      for (let nth = 0; nth < 64 && found.length === 0; nth += 1) {
        const { claims } = await claimOnce(store, claiming(young, 10, { dice: nth / 64 }));
        found.push(...idsOf(claims));
      }
      assert.deepEqual(found, [id]);
    },
  },
  {
    upholds: 'X-7, X-90',
    name: 'lost executions are found beside a session that left more suspects than a claim looks at',
    async run({ store }) {
      for (const name of ['first', 'second']) {
        const who = await worker(store, name);
        if (name === 'first') await carryMany(store, who, CLAIM_SCAN_MAX.left);
        else assert.equal((await claimAll(store, who)).length, CLAIM_SCAN_MAX.left);
        await endSessionOf(store, who);
      }
      const dead: OpenedSession[] = [];
      const left: ExecutionId[] = [];
      for (let nth = 0; nth < 8; nth += 1) {
        dead.push(await worker(store, `worker ${nth}`));
        left.push((await running(store, dead[nth] as OpenedSession)).id);
      }
      for (const who of dead) await endSessionOf(store, who);
      const young = await worker(store, 'young');
      const { claims } = await claimOnce(store, claiming(young, 10, { project: PROJECT }));
      assert.deepEqual(idsOf(claims), left.toSorted());
    },
  },
  {
    upholds: 'X-7',
    name: 'several sessions claim several suspects',
    async run(harness) {
      const { store, advance } = harness;
      const ann = await veteran(harness, 'ann');
      const bob = await veteran(harness, 'bob');
      const ids = [...(await suspects(harness)), ...(await suspects(harness))];
      await advance(LEAST_MS);
      await mustClaim(store, ann, ids[0]);
      await mustClaim(store, bob, ids[1]);
    },
  },
  {
    upholds: 'X-7',
    name: 'an execution that recorded progress since its last loss is not a suspect',
    async run(harness) {
      const { store, advance } = harness;
      const [id] = await suspects(harness);
      const who = await worker(store);
      const next = await worker(store, 'next');
      await advance(LEAST_MS);
      await mustRecord(store, await mustClaim(store, who, id));
      await endSessionOf(store, who);
      await advance(LEAST_MS);
      const { claimed } = await mustClaim(store, next, id);
      assert.equal(claimed.execution.claimsWithoutProgress, 1);
    },
  },
  {
    upholds: 'X-7',
    name: 'an execution lost for the first time beside a suspect is taken over at once, and the suspect waits',
    async run({ store, advance }) {
      const old = await worker(store, 'old');
      const ann = await worker(store, 'ann');
      const id = (await running(store, ann)).id;
      await endSessionOf(store, ann);
      const bob = await worker(store, 'bob');
      await mustClaim(store, bob, id);
      const beside = await running(store, bob);
      await endSessionOf(store, bob);
      await mustClaim(store, old, beside.id);
      await advance(LEAST_MS);
      await mustClaim(store, old, id);
    },
  },
  {
    upholds: 'X-7, X-11, X-56',
    name: 'a suspect counts in its own lane',
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const [id] = await suspects(harness);
      await advance(LEAST_MS);
      const ready = [await mustSubmit(store), await mustSubmit(store)];
      const batch = await mustSubmit(store, { lane: 'batch' });
      const none = await claimOnce(store, claiming(old, 0));
      assert.deepEqual(none.claims, []);
      const one = await claimOnce(store, claiming(old, 1));
      assert.deepEqual(one.more, true);
      assert.deepEqual(idsOf(one.claims), [id, batch].toSorted());
      assert.deepEqual(await claimIds(store, old), ready);
    },
  },
  {
    upholds: 'X-7, X-11',
    name: 'suspects of another pipeline, lane or project are not claimed without being requested',
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const [other, batch, foreign] = [
        ...(await suspects(harness, [{ pipeline: OTHER_PIPELINE }])),
        ...(await suspects(harness, [{ lane: 'batch' }])),
        ...(await suspects(harness, [{ project: OTHER_PROJECT }])),
      ];
      const [own] = await suspects(harness);
      await advance(LEAST_MS);
      const asked = claiming(old, 10, { project: PROJECT });
      const { claims } = await claimOnce(store, {
        ...asked,
        shares: [{ lane: 'interactive', limit: 10 }],
      });
      assert.deepEqual(idsOf(claims), [own]);
      for (const id of [batch, foreign])
        await mustClaim(store, await veteran(harness, `for ${id}`), id);
      const all = await claimAll(store, old, { pipelines: [OTHER_PIPELINE] });
      assert.deepEqual(idsOf(all), [other]);
    },
  },
  {
    upholds: 'X-7, RE-9',
    name: 'a pinned suspect is claimed only by a worker that announced its release',
    async run({ store, advance }) {
      await mustActivate(store, 'v1');
      const id = await mustSubmit(store);
      for (const name of ['first', 'second']) {
        const who = await workerOf(store, 'v1', name);
        assert.equal((await claimAll(store, who, { release: 'v1' })).length, 1);
        await endSessionOf(store, who);
      }
      const stranger = await worker(store, 'stranger');
      const fellow = await workerOf(store, 'v1', 'fellow');
      await advance(LEAST_MS);
      assert.deepEqual(await claimAll(store, stranger, { release: 'v1' }), []);
      const [claimed] = await claimAll(store, fellow, { release: 'v1' });
      assert.equal(claimed?.execution.id, id);
    },
  },
  {
    upholds: 'X-7, X-12',
    name: 'a suspect is claimed in the same call as an execution that must pass a gate',
    async run(harness) {
      const { store, advance } = harness;
      const old = await veteran(harness);
      const [id] = await suspects(harness);
      await advance(LEAST_MS);
      const gated = await mustSubmit(store, { concurrency: { key: 'k', limit: 1 } });
      const { claims } = await claimOnce(store, claiming(old));
      assert.deepEqual(idsOf(claims), [id, gated].toSorted());
    },
  },
];
