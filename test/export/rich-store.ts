// A store with every kind of row, created by the public API: every end, every kind of wait, running
// and held executions, leases, keys, saved views and schedules.

import assert from 'node:assert/strict';
import { mustAdd } from '../../contract/access/test-keys.ts';
import {
  beginning,
  mustAcquire,
  mustRelease,
  mustSave,
  OTHER_KEY,
  openedSession,
} from '../../contract/lease/opened-session.ts';
import type { Archive } from '../../src/archive/port.ts';
import { StepError } from '../../src/engine/failures.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { Worker } from '../../src/engine/worker/worker-options.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { systemRandom } from '../../src/support/random.ts';

/** The bank's answer; a test can change it. */
export const bank = { isUp: false };

const permanent = (message: string): StepError =>
  new StepError(message, { category: 'permanent', code: 'bank-down' });

const sleeping = pipeline({
  name: 'sleeping',
  run: async (ctx, ms: number) => {
    await ctx.sleep(ms);
    return 'awake';
  },
});

export const PIPELINES = {
  sleeping,
  plain: pipeline({
    name: 'plain',
    async run(ctx, input: { readonly n: number }) {
      await ctx.attach('note.txt', `note ${input.n}`, 'text/plain');
      await ctx.attach('raw.bin', Uint8Array.of(0, 1, 255));
      return ctx.step('double', () => input.n * 2);
    },
  }),
  large: pipeline({
    name: 'large',
    run: (ctx, text: string) => ctx.step('echo', () => `${text}\u2028!`),
  }),
  failing: pipeline({
    name: 'failing',
    run: async (ctx, _: null) => {
      await ctx.step('before', () => 'done before');
      return ctx.step('charge', () => {
        if (!bank.isUp) throw permanent('no money');
        return 'charged';
      });
    },
  }),
  saga: pipeline({
    name: 'saga',
    run: async (ctx, _: null) => {
      await ctx.step('reserve', () => 'a seat', { compensate: () => undefined });
      return ctx.step('ship', () => {
        throw permanent('no ship');
      });
    },
  }),
  /** Parks in the middle of a saga. */
  trip: pipeline({
    name: 'trip',
    run: async (ctx, _: null) => {
      await ctx.step('book', () => 'a room', { compensate: () => undefined });
      return ctx.receive<string>('travelled');
    },
  }),
  acquiring: pipeline({
    name: 'asking',
    run: (ctx, _: null) =>
      ctx.await<{ readonly ok: boolean }>('approval', {
        concurrency: { key: 'desk', limit: 5 },
        request: { amount: 12 },
        assignee: 'finance',
        timeoutMs: 3_600_000,
        reminders: [{ afterMs: 1_800_000, pipeline: 'plain', input: { n: 5 } }],
      }),
  }),
  impatient: pipeline({
    name: 'impatient',
    run: (ctx, _: null) => ctx.await('approval', { timeoutMs: 100 }),
  }),
  album: pipeline({
    name: 'album',
    run: async (ctx, ms: number) => {
      const child = await ctx.spawn(sleeping, ms, { name: 'cover' });
      return child.result();
    },
  }),
};

/** A pipeline with releases: its submits are pinned. */
export const RELEASED = pipeline({ name: 'released', run: (_, n: number) => n + 1 });
export const RELEASE = { name: 'v1', digest: 'sha256:v1' };

export const ALL = Object.values(PIPELINES);

export interface Rich {
  readonly sleeping: string;
  readonly acquiring: string;
  readonly answeredEarly: string;
  readonly album: string;
  readonly trip: string;
  readonly paused: string;
  readonly delayed: string;
  readonly running: string;
  readonly behind: string;
  readonly failed: string;
  readonly pinned: string;
  readonly sleepMs: number;
}

export const SLEEP_MS = 4_000;

export async function fill(store: CoordinatorStore): Promise<Rich> {
  await archived(store);
  const holdfast = new Holdfast({ store, payloads: { inlineBytesMax: 1_024 } });
  const worker = await holdfast.worker({ pipelines: ALL, pollMs: 50, ttlMs: 1_000 });
  await ended(holdfast);
  const rich = { ...(await waiting(holdfast, worker)), pinned: await pinned(holdfast) };
  await leases(store);
  await store.access.putProject({ name: 'shop' as never, settings: {} });
  const view = { id: 'late', name: 'Late', page: 'executions', query: 'status=waiting' };
  await store.access.putView({ project: 'shop' as never, ...view, savedBy: 'ann' });
  const channel = { project: 'shop' as never, id: 'hooks', kind: 'webhook' as const };
  await store.access.putChannel({
    ...{ ...channel, uid: systemRandom.uuid(), secret: { key: 'k1', nonce: 'a' }, paused: false },
    ...{ url: 'https://example.com/', events: ['execution-ended', 'alert-raised'] },
  });
  await withAlert(store);
  await store.access.testChannel({ project: channel.project, id: 'hooks', message: 'test_1' });
  await mustAdd(store, { project: 'shop' as never, roles: ['submit', 'operate'] });
  await mustAdd(store, { expiresInMs: 60_000 });
  await holdfast.close();
  return rich;
}

/** An alert that is open. */
async function withAlert({ access }: CoordinatorStore): Promise<void> {
  const [claimed] = await access.claimAlerts({ limit: 1, leaseMs: 60_000 });
  if (claimed === undefined) throw new Error('The channel asks for alerts, and none is due.');
  const incident = systemRandom.uuid();
  const reading = { rule: 'queue-age', route: 'order', value: 9, threshold: 5 } as const;
  await access.recordAlerts({
    ...{ ...claimed, everyMs: 60_000, near: [] },
    over: [{ ...reading, incident }],
  });
}

/** Archived and removed; its row in the index stays. */
async function archived(store: CoordinatorStore): Promise<void> {
  const kept = new Map<string, Uint8Array>();
  const archive: Archive = {
    name: 'a map',
    put: async ({ path, bytes }) => void kept.set(path, bytes),
    get: async (path) => kept.get(path),
  };
  const holdfast = new Holdfast({ store, retention: { archive, keepMs: { completed: 0 } } });
  const worker = await holdfast.worker({ pipelines: [PIPELINES.plain], pollMs: 50 });
  const options = { key: 'plain of old', tags: ['old'] };
  await (await holdfast.submit(PIPELINES.plain, { n: 0 }, options)).result();
  await worker.stop();
  await holdfast.archive.run();
  await holdfast.close();
}

async function ended(holdfast: Holdfast): Promise<void> {
  const { plain, large, saga } = PIPELINES;
  const labelled = {
    tags: ['vip', 'späť'],
    attributes: { region: 'eu', amount: 12.5, whole: 7, isNew: true, isOld: false },
  };
  await (await holdfast.submit(plain, { n: 1 }, { ...labelled, key: 'plain/1' })).result();
  await (await holdfast.submit(large, 'x'.repeat(5_000), { actor: 'ann' })).result();
  const forgotten = await holdfast.submit(large, 'y'.repeat(5_000));
  await forgotten.result();
  // Its value is too recent to go, so the erasure is pending.
  await holdfast.erase(forgotten.id, { reason: 'request 4711' });
  await assert.rejects(async () => (await holdfast.submit(saga, null)).result());
  const { id } = await holdfast.submit(
    plain,
    { n: 2 },
    { rate: { key: 'r', limit: 2, perMs: 60_000 } },
  );
  await holdfast.result(id);
  await holdfast.audit.note(id, { actor: 'olga', reason: 'looked at it' });
  const cancelled = await holdfast.submit(plain, { n: 3 }, { delayMs: 600_000 });
  await holdfast.cancel(cancelled.id, { actor: 'olga', reason: 'not needed' });
  await holdfast.templates.put({
    id: 'twice',
    version: 1,
    pipeline: plain,
    defaults: { n: 4 },
    actor: 'ann',
  });
  await (await holdfast.submit({ template: 'twice' }, {})).result();
  await holdfast.schedules.put({ id: 'often', every: 3_600_000, pipeline: plain, input: { n: 9 } });
  await holdfast.schedules.put({
    id: 'never',
    cron: '0 9 * * 1',
    pipeline: plain,
    input: { n: 9 },
  });
  await holdfast.schedules.pause('never');
}

async function pinned(holdfast: Holdfast): Promise<string> {
  const { releases } = holdfast;
  await releases.register({ pipeline: RELEASED, ...RELEASE, artifact: 'image', actor: 'olga' });
  await releases.activate('released', RELEASE.name, { actor: 'olga', reason: 'first' });
  return (await holdfast.submit(RELEASED, 1)).id;
}

async function waiting(holdfast: Holdfast, worker: Worker): Promise<Omit<Rich, 'pinned'>> {
  const { plain, failing, sleeping, acquiring, album, trip } = PIPELINES;
  const submit = async (...given: Parameters<Holdfast['submit']>): Promise<string> =>
    (await holdfast.submit(...given)).id;
  const failed = await submit(failing, null);
  await assert.rejects(() => holdfast.result(failed));
  const redriven = await holdfast.repair.redrive(failed, { actor: 'olga', reason: 'again' });
  await assert.rejects(() => holdfast.result(redriven.id));
  await (await holdfast.bulk.redrive({ filter: { open: true }, actor: 'olga' })).result();
  const parked = {
    sleeping: await submit(sleeping, SLEEP_MS),
    album: await submit(album, SLEEP_MS),
    acquiring: await submit(acquiring, null),
    trip: await submit(trip, null),
    answeredEarly: await submit(acquiring, null),
  };
  for (const id of Object.values(parked)) await reached(holdfast, id, 'waiting');
  await holdfast.signal(parked.trip, { name: 'unasked', value: { n: 1 } });
  const late = await submit(PIPELINES.impatient, null);
  await holdfast.result(late);
  const place = { execution: late, name: 'approval' };
  await holdfast.awaits.answer(place, { ok: false }, { actor: 'too late' });
  await worker.stop();
  const limit = { concurrency: { key: 'one', limit: 1 } };
  const paused = await submit(plain, { n: 6 }, limit);
  const behind = await submit(plain, { n: 7 }, limit);
  await holdfast.pause(paused, { actor: 'olga', reason: 'wait' });
  const delayed = await submit(
    plain,
    { n: 8 },
    { delayMs: 1_000, lane: 'batch', deadlineMs: 600_000 },
  );
  const running = await claimed(holdfast, await submit(failing, null));
  return { ...parked, paused, behind, delayed, running, failed, sleepMs: SLEEP_MS };
}

/** Claimed by a worker that falls silent afterwards. */
async function claimed(holdfast: Holdfast, id: string): Promise<string> {
  const { store } = holdfast;
  const owner = await openedSession(store, 'silent', { ttlMs: 1_000, graceMs: 100 });
  const shares = [{ lane: 'interactive', limit: 100 } as const];
  const pipelines = ['failing' as never];
  const answer = await store.executions.claim({ session: owner.id, pipelines, shares });
  assert.equal(answer.kind === 'claimed' && answer.claims[0]?.execution.id, id);
  return id;
}

export async function reached(holdfast: Holdfast, id: string, status: string): Promise<void> {
  const { store } = holdfast;
  for (;;) {
    const found = await store.executions.read(id as never);
    if (found?.status === status) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function leases(store: CoordinatorStore): Promise<void> {
  const brief = { ttlMs: 1_000, graceMs: 100 };
  const parent = await openedSession(store, 'parent', {
    ...brief,
    metadata: { host: 'a', ключ: '"' },
  });
  const ann = await openedSession(store, 'ann', { ...brief, parent: parent.id });
  const { tenure } = await mustAcquire(store, ann);
  await mustSave(store, tenure, 1);
  await mustSave(store, tenure, 2);
  await store.leases.beginIntent(beginning(tenure, 'charge'));
  const other = await mustAcquire(store, ann, { key: OTHER_KEY });
  await mustRelease(store, other.tenure);
}
