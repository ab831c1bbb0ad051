// The audit has every change over the API, with the key that made it (J-1, J-7 … J-9).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { parseProject } from '../../src/execution/names.ts';
import { ROLES } from '../../src/features/access/model.ts';
import { openSession, pipeline } from '../../src/index.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { refusedWith, TestCoordinator, until } from './coordinator.ts';

const LINKS = { keys: { k1: 's'.repeat(32) }, current: 'k1' };

const asks = pipeline({ name: 'asks', run: (ctx) => ctx.await('approval') });
const asksSigned = pipeline({
  name: 'asks-signed',
  run: (ctx) => ctx.await('approval', { signed: true }),
});

/** Routes that are not operations, or that record their actor elsewhere. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  submitExecution: 'history: submittedBy',
  signalExecution: 'history: by',
  updateExecution: 'history: by',
  queryExecution: 'changes nothing',
  registerRelease: 'the release: createdBy',
  changeRollout: 'activations: actor',
  preflightRelease: 'changes nothing',
  signIn: 'changes nothing',
  signOut: 'changes nothing',
  playDemo: 'the demo of holdfast dev',
};

/** The audit records a worker's operations with its session, which belongs to its key. */
const changing = ROUTES.filter(
  ({ method, path }) => method !== 'GET' && !path.startsWith('/v1/work/'),
).map(({ name }) => name);

/**
 * Operations of the engine, whose callers are named as usual; the contract of stores covers their
 * records.
 */
const OF_THE_ENGINE: Readonly<Record<string, string>> = {
  skipCompensation: 'skip-compensation',
  retryCompensation: 'retry-compensation',
  repinExecution: 'repin',
  repinMany: 'bulk-repin',
  pauseJob: 'pause',
  resumeJob: 'resume',
  stopJob: 'cancel',
};

class Stage {
  readonly coordinator: TestCoordinator;
  readonly client: HoldfastClient;

  constructor(coordinator: TestCoordinator, key: string) {
    this.coordinator = coordinator;
    this.client = new HoldfastClient({ url: coordinator.url, key });
  }

  async queued(): Promise<string> {
    return (await this.client.executions.submit({ pipeline: 'nobody-runs-this' })).id;
  }

  /** The interaction of an open question. */
  async asked(pipeline = 'asks'): Promise<string> {
    const { id: execution } = await this.client.executions.submit({ pipeline });
    return until(async () => (await this.client.awaits.list({ execution })).items[0]?.id);
  }
}

type Operation = (stage: Stage) => Promise<unknown>;

const KEY = { name: 'x', roles: ['submit' as const], project: 'default' };
const lastHours = (hours: number) => ({
  from: new Date(Date.now() - hours * 3_600_000).toISOString(),
  to: new Date(Date.now() - 1_000).toISOString(),
});
const NONE = { filter: { pipeline: 'none' } };

/** In this order, each with its route and the expected record. */
const OPERATIONS: readonly (readonly [route: string, operation: string, run: Operation])[] = [
  ['pauseExecution', 'pause', async (s) => s.client.executions.pause(await s.queued())],
  [
    'resumeExecution',
    'resume',
    async (s) => {
      const id = await s.queued();
      await s.client.executions.pause(id);
      await s.client.executions.resume(id);
    },
  ],
  ['cancelExecution', 'cancel', async (s) => s.client.executions.cancel(await s.queued())],
  [
    'redriveExecution',
    'redrive',
    async (s) => {
      const id = await s.queued();
      await s.client.executions.cancel(id);
      await s.client.executions.redrive(id);
    },
  ],
  [
    'eraseExecution',
    'erase',
    async (s) => {
      const id = await s.queued();
      await s.client.executions.cancel(id);
      await s.client.executions.erase(id, 'asked for');
    },
  ],
  ['noteExecution', 'note', async (s) => s.client.records.note(await s.queued(), 'x')],
  ['answerAwait', 'answer', async (s) => s.client.awaits.answer(await s.asked(), 1)],
  [
    'answerPlace',
    'answer',
    async (s) => {
      const { execution } = await s.client.awaits.read(await s.asked());
      await s.client.awaits.answer({ execution, name: 'approval' }, 1);
    },
  ],
  ['answerAwaits', 'answer', async (s) => s.client.awaits.answerAll([await s.asked()], 1)],
  ['extendAwait', 'extend-await', async (s) => s.client.awaits.extend(await s.asked(), 60_000)],
  ['assignAwait', 'assign-await', async (s) => s.client.awaits.assign(await s.asked(), 'ann')],
  ['cancelAwait', 'cancel-await', async (s) => s.client.awaits.cancel(await s.asked())],
  ['linkAwait', 'create-link', async (s) => s.client.awaits.link(await s.asked(), 60_000)],
  [
    'putSchedule',
    'put-schedule',
    (s) => s.client.schedules.put('s', { pipeline: 'p', every: 3_600_000 }),
  ],
  ['triggerSchedule', 'trigger-schedule', (s) => s.client.schedules.trigger('s')],
  ['backfillSchedule', 'backfill-schedule', (s) => s.client.schedules.backfill('s', lastHours(2))],
  ['pauseSchedule', 'pause-schedule', (s) => s.client.schedules.pause('s')],
  ['resumeSchedule', 'resume-schedule', (s) => s.client.schedules.resume('s')],
  ['removeSchedule', 'remove-schedule', (s) => s.client.schedules.remove('s')],
  [
    'putView',
    'put-view',
    (s) => s.client.views.put('v', { name: 'V', page: 'executions', query: '' }),
  ],
  ['removeView', 'remove-view', (s) => s.client.views.remove('v')],
  [
    'putChannel',
    'put-channel',
    (s) =>
      s.client.channels.put('c', {
        ...{ kind: 'webhook', url: 'https://receiver.invalid/', events: ['lease-lost'] },
        paused: true,
      }),
  ],
  ['rotateChannelSecret', 'rotate-channel', (s) => s.client.channels.rotate('c')],
  ['testChannel', 'test-channel', (s) => s.client.channels.test('c')],
  ['replayDeliveries', 'replay-channel', replayed],
  ['removeChannel', 'remove-channel', (s) => s.client.channels.remove('c')],
  ['putTemplate', 'put-template', (s) => s.client.templates.put('t', 1, { pipeline: 'p' })],
  ['cancelMany', 'bulk-cancel', (s) => s.client.jobs.cancel(NONE)],
  ['redriveMany', 'bulk-redrive', (s) => s.client.jobs.redrive(NONE)],
  ['runArchive', 'run-archive', (s) => s.client.archive.run()],
  ['putProject', 'put-project', (s) => s.client.projects.put('default', { title: 'x' })],
  ['createKey', 'create-key', (s) => s.client.keys.create(KEY)],
  [
    'revokeKey',
    'revoke-key',
    async (s) => s.client.keys.revoke((await s.client.keys.create(KEY)).id),
  ],
  [
    'rotateKey',
    'revoke-key',
    async (s) => s.client.keys.rotate((await s.client.keys.create(KEY)).id),
  ],
  [
    'forceSessionEnd',
    'end-session',
    async (s) => {
      await using session = await openSession({ store: s.coordinator.store, owner: 'o' });
      await s.client.sessions.end(session.id, 'stuck');
    },
  ],
  [
    'drainLease',
    'drain-lease',
    (s) => held(s, (term) => s.client.leases.drain('k', { ...term, deadlineMs: 9 })),
  ],
  ['revokeLease', 'revoke-lease', (s) => held(s, (term) => s.client.leases.revoke('k', term))],
];

/** A message that is over can be replayed. */
async function replayed({ coordinator, client }: Stage): Promise<void> {
  const { access } = coordinator.store;
  const project = parseProject('default');
  const channel = await access.channel({ project, id: 'c' });
  const [delivery] = await access.deliveries({ project, id: 'c', limit: 1 });
  assert.ok(channel !== undefined && delivery !== undefined);
  const attempt = { ...delivery, state: 'delivered' as const };
  await access.recordDeliveries({
    ...{ channel, attempts: [attempt], failures: 0, cooldownMs: 0, pauses: false },
  });
  await client.channels.replay('c', { message: delivery.id });
}

async function held(
  { coordinator, client }: Stage,
  operation: (term: { readonly fence: number; readonly reason: string }) => Promise<unknown>,
): Promise<void> {
  await using session = await openSession({ store: coordinator.store, owner: 'o' });
  assert.equal((await session.acquire('k')).kind, 'acquired');
  await operation({ fence: (await client.leases.read('k')).fence ?? 0, reason: 'stuck' });
}

function idOf(key: string): string {
  return key.split('_')[1] ?? '';
}

test('every route that changes something leaves a record, with its key', async () => {
  const retention = { archive: 'none', keepMs: { completed: 0 } } as const;
  await using coordinator = await TestCoordinator.onMemory({
    ...{ links: LINKS, channels: { signing: LINKS }, retention },
  });
  await coordinator.worker([asks]);
  const key = await coordinator.key(ROLES);
  const stage = new Stage(coordinator, key);
  for (const [route, action, run] of OPERATIONS) {
    const before = (await stage.client.records.audit({ limit: 1 })).items[0]?.id ?? '';
    await run(stage);
    const { items } = await stage.client.records.audit({ limit: 10 });
    const found = items.find((each) => each.id > before && each.action === action);
    assert.equal(found?.actor, `submit+work+lease+operate+admin of all (${idOf(key)})`, route);
  }
  const covered = [
    ...OPERATIONS.map(([route]) => route),
    ...Object.keys(ELSEWHERE),
    ...Object.keys(OF_THE_ENGINE),
    ...['answerByLink', 'answerByChannel'],
  ];
  assert.deepEqual(changing.toSorted(), covered.toSorted(), 'a new route belongs into this file');
});

test('two keys of one name are two actors, in audit, history and log (J-8)', async () => {
  const lines: { readonly actor?: string; readonly key?: string }[] = [];
  const log = {
    info: (_: string, about?: object) => void lines.push(about ?? {}),
    fault: (_: string, error: unknown) => console.error(error),
  };
  await using coordinator = await TestCoordinator.onMemory({ log, logRequests: true });
  const keys = [await coordinator.key(ROLES, 'default'), await coordinator.key(ROLES, 'default')];
  for (const key of keys) {
    const { client } = new Stage(coordinator, key);
    const { id } = await client.executions.submit({ pipeline: 'p' });
    await client.executions.signal(id, 'hello');
    await client.executions.cancel(id);
    const actor = `submit+work+lease+operate+admin of default (${idOf(key)})`;
    const { submittedBy } = await client.executions.read(id);
    const [record] = (await client.records.audit({ limit: 1 })).items;
    assert.deepEqual([submittedBy, record?.actor], [actor, actor]);
  }
  const seen = lines.flatMap(({ actor, key }) => (key === undefined ? [] : [`${actor} ${key}`]));
  assert.deepEqual(
    [...new Set(seen)],
    keys.map((key) => `submit+work+lease+operate+admin of default ${idOf(key)}`),
  );
});

test('an answer by link is recorded with the link, which names the key that created it (J-9)', async () => {
  await using coordinator = await TestCoordinator.onMemory({ links: LINKS });
  await coordinator.worker([asksSigned]);
  const key = await coordinator.key(['submit', 'operate'], 'default');
  const stage = new Stage(coordinator, key);
  const id = await stage.asked('asks-signed');
  await assert.rejects(stage.client.awaits.answer(id, 1), refusedWith('link-required'));
  const { path } = await stage.client.awaits.link(id, 60_000);
  const answered = await fetch(`${coordinator.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ value: 1 }),
  });
  assert.equal(answered.status, 200);
  const { items } = await stage.client.records.audit({ target: 'interaction', targetId: id });
  const [answer, made] = items;
  assert.deepEqual([answer?.action, made?.action], ['answer', 'create-link']);
  assert.equal(made?.actor, `submit+operate of default (${idOf(key)})`);
  const link = made?.after?.['link'];
  assert.match(String(link), /^[0-9a-f]{16}$/);
  assert.deepEqual([answer?.actor, answer?.after?.['link']], [`link ${link}`, link]);
  assert.equal((await stage.client.awaits.read(id)).answer?.actor, `link ${link}`);
  assert.ok(!path.includes(String(link)), 'its id opens nothing');
});

test('a link can be tried a limited number of times per minute', async () => {
  await using coordinator = await TestCoordinator.onMemory({ links: LINKS });
  await coordinator.worker([asksSigned]);
  const stage = new Stage(coordinator, await coordinator.key(['submit', 'operate'], 'default'));
  const { path } = await stage.client.awaits.link(await stage.asked('asks-signed'), 60_000);
  const statuses: number[] = [];
  for (let nth = 0; nth < 21; nth += 1) {
    const answered = await fetch(`${coordinator.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ value: nth }),
    });
    statuses.push(answered.status);
  }
  assert.deepEqual([statuses[0], statuses[1], statuses[19], statuses[20]], [200, 409, 409, 429]);
});

test('the longest name of a key fits wherever it is recorded', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await coordinator.client(['admin']);
  const roles = ['submit', 'operate'] as const;
  const made = await admin.keys.create({
    name: 'n'.repeat(256),
    roles: [...roles],
    project: 'default',
  });
  const { client } = new Stage(coordinator, made.key);
  const { id } = await client.executions.submit({ pipeline: 'p' });
  await client.templates.put('t', 1, { pipeline: 'p' });
  await client.executions.cancel(id);
  const actor = `${'n'.repeat(256)} (${made.id})`;
  assert.equal((await client.records.audit({ actor })).items.length, 2);
});
