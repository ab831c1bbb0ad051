// A project with one of everything, and requests of every kind that reach for it.

import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFolderArchive } from '../../src/archive/folder.ts';
import type { ExecutionId, InteractionId, PipelineName } from '../../src/execution/names.ts';
import { parseProject } from '../../src/execution/names.ts';
import { readKey } from '../../src/features/access/model.ts';
import { Holdfast, pipeline } from '../../src/index.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import type { Route } from '../../src/protocol/rest/route.ts';
import { digestOf } from '../../src/support/digest.ts';
import { systemRandom } from '../../src/support/random.ts';
import { type TestCoordinator, until } from './coordinator.ts';

const PROJECT = 'victim';
const LARGE = new TextEncoder().encode('of the victim');

const asks = pipeline({
  name: 'asks',
  retry: { attempts: 1 },
  async run(ctx, input: { readonly fails?: boolean }) {
    if (input.fails === true) throw new Error('as asked');
    await ctx.attach('note', 'of the victim');
    await ctx.await('approval', { request: 'may I' });
  },
});

const quick = pipeline({ name: 'quick', run: () => 1 });

export interface Victim {
  readonly waiting: string;
  readonly failed: string;
  readonly job: string;
  readonly interaction: string;
  readonly session: string;
  /** The write that the owner of a running execution would send next, without its verb. */
  readonly owned: {
    readonly id: string;
    readonly fence: number;
    readonly session: string;
    readonly seq: number;
  };
  readonly key: string;
  readonly archived: string;
}

export async function plantVictim(coordinator: TestCoordinator): Promise<Victim> {
  const { store } = coordinator;
  const key = readKey(await coordinator.key(['submit'], PROJECT))?.id ?? '';
  const holdfast = new Holdfast({ store });
  const worker = await holdfast.worker({ pipelines: [asks], pollMs: 20 });
  const project = { project: PROJECT };
  const failed = await holdfast.submit(asks, { fails: true }, project);
  await failed.result().catch(() => undefined);
  const waiting = await holdfast.submit(asks, {}, project);
  const interaction = await until(async () => (await holdfast.awaits.list(project)).items[0]?.id);
  const archived = await plantArchived(store);
  const job = await holdfast.bulk.redrive({ filter: project, dryRun: true });
  await job.result();
  await holdfast.templates.put({ id: 'template', version: 1, pipeline: 'asks', ...project });
  const build = { name: 'v1', artifact: 'image', digest: 'sha256:v1' };
  await holdfast.releases.register({ pipeline: asks, ...build, ...project });
  await holdfast.schedules.put({ id: 'schedule', every: 3_600_000, pipeline: 'asks', ...project });
  const view = { id: 'view', name: 'A view of the victim', page: 'executions', query: '' };
  await store.access.putView({ project: parseProject(PROJECT), ...view });
  await store.access.putChannel({
    ...{ project: parseProject(PROJECT), id: 'channel', uid: systemRandom.uuid(), paused: true },
    ...{ kind: 'webhook', url: 'https://receiver.invalid/', events: ['execution-ended'] },
    secret: { key: 'k1', nonce: 'a' },
  });
  const large = { digest: digestOf(LARGE), bytes: LARGE };
  await store.executions.putBlob({ project: parseProject(PROJECT), ...large });
  const session = systemRandom.uuid();
  await store.sessions.open({
    id: session as SessionId,
    owner: 'victim' as Owner,
    ttlMs: 600_000,
    graceMs: 1_000,
    metadata: { 'holdfast.project': PROJECT },
  });
  await worker.stop();
  await holdfast.submit('held', undefined, project);
  const claimed = await store.executions.claim({
    session: session as SessionId,
    pipelines: ['held' as PipelineName],
    shares: [{ lane: 'interactive', limit: 1 }],
  });
  assert.ok(claimed.kind === 'claimed' && claimed.claims[0] !== undefined);
  const { execution, fence } = claimed.claims[0];
  await holdfast.close();
  return {
    owned: { id: execution.id, fence, session, seq: execution.seq + 1 },
    waiting: waiting.id,
    failed: failed.id,
    job: job.id,
    interaction,
    session,
    key,
    archived,
  };
}

/**
 * An archived execution. A caller that must not know of it must not learn whether its documents can
 * be read.
 */
async function plantArchived(store: TestCoordinator['store']): Promise<string> {
  const archive = openFolderArchive({ folder: await mkdtemp(join(tmpdir(), 'hf-victim-')) });
  const retention = { archive, keepMs: { completed: 0 } };
  const holdfast = new Holdfast({ store, retention });
  const worker = await holdfast.worker({ pipelines: [quick], pollMs: 20 });
  const { id, result } = await holdfast.submit(quick, undefined, { project: PROJECT });
  await result();
  await worker.stop();
  await holdfast.archive.run({ project: PROJECT });
  await holdfast.close();
  return id;
}

/** All of it, as it is stored. */
export async function look({ store }: TestCoordinator, victim: Victim): Promise<unknown> {
  const { executions, access, sessions } = store;
  const project = parseProject(PROJECT);
  const { ids } = await executions.find({ project, limit: 1_000 });
  return {
    ids,
    records: await Promise.all(ids.map((id) => executions.read(id))),
    histories: await Promise.all(ids.map((id) => executions.history({ id, after: 0, limit: 999 }))),
    inboxes: await Promise.all(ids.map((id) => executions.inbox({ id, after: 0, limit: 999 }))),
    items: await executions.jobItems({ job: victim.job as ExecutionId, limit: 999 }),
    interaction: await executions.interaction({
      project,
      id: victim.interaction as InteractionId,
    }),
    templates: await executions.templates({ project, limit: 99 }),
    schedules: await executions.schedules({ project, limit: 99 }),
    releases: await executions.releases({ project, limit: 99 }),
    rollout: await executions.rollout({ project, pipeline: asks.name }),
    keys: await access.keys({ project, limit: 99, all: true }),
    project: await access.project(project),
    views: await access.views({ project, limit: 99 }),
    channels: await access.channels({ project, limit: 99 }),
    archived: await executions.archived(victim.archived as ExecutionId),
    session: (await sessions.inspect(victim.session as SessionId))?.session,
  };
}

export interface Reach {
  readonly path: string;
  readonly body?: unknown;
}

const FENCE = 2 ** 40 + 1;

/** In a path, the segment before a parameter says which part of the victim it names. */
function targetsOf(victim: Victim): Readonly<Record<string, string>> {
  return {
    executions: victim.waiting,
    children: victim.waiting,
    attachments: 'note',
    published: 'note',
    awaits: victim.interaction,
    archive: victim.archived,
    'dead-letters': victim.failed,
    jobs: victim.job,
    templates: 'template',
    schedules: 'schedule',
    views: 'view',
    channels: 'channel',
    pipelines: asks.name,
    releases: 'v1',
    sessions: victim.session,
    leases: 'any',
    projects: PROJECT,
    keys: victim.key,
    blobs: digestOf(LARGE),
  };
}

/** Paths of requests that need more, or something else, than the table's path with its targets. */
function pathsOf({ waiting, failed, archived }: Victim): Readonly<Record<string, string>> {
  return {
    redriveExecution: `/v1/executions/${failed}/redrive`,
    eraseExecution: `/v1/executions/${failed}/erase`,
    answerPlace: `/v1/executions/${waiting}/awaits/approval/answer`,
    readArchivedDocument: `/v1/archive/${archived}/document?name=report.md`,
  };
}

/** Bodies of requests that change something. */
function bodiesOf(victim: Victim): Readonly<Record<string, unknown>> {
  const { session } = victim;
  const shares = [{ lane: 'interactive', limit: 9 }];
  const announcement = { pipelines: ['asks'], state: 'ready', everyMs: 5_000, room: 1 };
  return {
    signalExecution: { name: 'go' },
    eraseExecution: { reason: 'of the victim' },
    updateExecution: { name: 'go' },
    queryExecution: { name: 'go' },
    skipCompensation: { step: 'a', reason: 'b' },
    retryCompensation: { step: 'a' },
    answerPlace: { value: 1 },
    answerAwait: { value: 1 },
    answerAwaits: { ids: [victim.interaction], value: 1 },
    extendAwait: { timeoutMs: 1 },
    assignAwait: { assignee: 'me' },
    cancelAwait: undefined,
    linkAwait: { expiresInMs: 60_000 },
    noteExecution: { text: 'mine' },
    repinExecution: { to: 'v1' },
    triggerSchedule: {},
    backfillSchedule: { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' },
    pauseSchedule: undefined,
    resumeSchedule: undefined,
    rotateChannelSecret: {},
    testChannel: undefined,
    replayDeliveries: {},
    forceSessionEnd: { reason: 'mine' },
    drainLease: { fence: FENCE, reason: 'mine', deadlineMs: 1 },
    revokeLease: { fence: FENCE, reason: 'mine' },
    putProject: { title: 'mine' },
    createKey: { name: 'x', roles: ['admin'], project: 'victim' },
    heartbeat: { owner: 'victim' },
    endSession: { owner: 'victim', exit: 'finished' },
    claimExecutions: { session, pipelines: ['asks'], shares },
    announceWorker: { session, ...announcement },
    writeAsOwner: { writes: writesOf(victim) },
    messageChild: { id: victim.waiting, session, fence: FENCE, message: { kind: 'cancel' } },
    expireAwaits: undefined,
  };
}

const STEP = { kind: 'step-completed', name: 'a', body: '{"key":"step:a#1"}' };

/** Every write of an owner, with the session and the fence that it needs. */
export function writesOf({ owned }: Victim): readonly object[] {
  return [
    { verb: 'record', ...owned, events: [STEP] },
    { verb: 'park', ...owned, events: [{ kind: 'parked' }], wakeAfter: 0, inboxSeen: 0 },
    { verb: 'giveBack', ...owned, events: [{ kind: 'given-back' }] },
    { verb: 'finish', ...owned, events: [{ kind: 'completed' }], status: 'completed' },
  ];
}

/** Routes whose names the caller chooses, in its own project, or that name nothing. */
const WITHOUT_TARGET: readonly string[] = [
  ...['submitExecution', 'redriveMany', 'cancelMany', 'runArchive', 'signIn', 'openSession'],
  ...['putTemplate', 'putSchedule', 'removeSchedule', 'playDemo', 'repinMany'],
  ...['putView', 'removeView', 'putChannel', 'removeChannel'],
  ...['registerRelease', 'listReleases', 'readRollout', 'listActivations', 'changeRollout'],
  // The caller that puts it has the bytes.
  'putBlob',
  // leases.test.ts covers the messages that name keys.
  ...['acquireLease', 'withdrawAttempt', 'saveCheckpoint', 'beginIntent', 'settleIntent'],
  ...['releaseLease', 'requestDrain', 'revokeTerm'],
];

/**
 * The request of a stranger to this route. Undefined if the route names nothing of the victim: a
 * list or figure of the caller's own project.
 */
export function reachOf({ name, method, path }: Route, victim: Victim): Reach | undefined {
  const isOwnRead = method === 'GET' && !path.includes('/:') && name !== 'listLeases';
  if (isOwnRead || WITHOUT_TARGET.includes(name)) return undefined;
  const targets = targetsOf(victim);
  const filled = path.replace(/(?<=\/([\w-]+)\/):\w+/g, (param, before: string) => {
    const target = targets[before];
    assert.ok(target, `${name}: test/server/victim.ts has no target for ${before}/${param}`);
    return target;
  });
  const bodies = bodiesOf(victim);
  const body = name in bodies ? bodies[name] : {};
  return {
    path: pathsOf(victim)[name] ?? filled,
    ...(method === 'GET' ? {} : { body }),
  };
}
