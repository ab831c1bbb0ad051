// A project with one of everything, and requests of every kind that reach for it.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFolderArchive } from '../../src/archive/folder.ts';
import type { ExecutionId, InteractionId } from '../../src/execution/names.ts';
import { parseProject } from '../../src/execution/names.ts';
import { readKey } from '../../src/features/access/model.ts';
import { Holdfast, pipeline } from '../../src/index.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
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
  await holdfast.close();
  return {
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
  const ids = (await executions.list({ project, limit: 1_000 })).map(({ id }) => id);
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
    archived: await executions.archived(victim.archived as ExecutionId),
    session: (await sessions.inspect(victim.session as SessionId))?.session,
  };
}

export interface Reach {
  readonly path: string;
  readonly body?: unknown;
}

const FENCE = 2 ** 40 + 1;

/** For every route that names something: the request of a stranger. */
export function reachesOf(victim: Victim): Readonly<Record<string, Reach>> {
  const { waiting, failed, job, interaction, archived } = victim;
  const execution = (rest: string, body?: unknown): Reach => ({
    path: `/v1/executions/${waiting}${rest}`,
    body,
  });
  const asked = (rest: string, body?: unknown): Reach => ({
    path: `/v1/awaits/${interaction}${rest}`,
    body,
  });
  return {
    readExecution: execution(''),
    readHistory: execution('/history'),
    explainExecution: execution('/explain'),
    listChildren: execution('/children'),
    listAttachments: execution('/attachments'),
    readAttachment: execution('/attachments/note'),
    readResult: execution('/result'),
    streamExecution: execution('/events'),
    cancelExecution: execution('/cancel', {}),
    pauseExecution: execution('/pause', {}),
    resumeExecution: execution('/resume', {}),
    signalExecution: execution('/signals', { name: 'go' }),
    redriveExecution: { path: `/v1/executions/${failed}/redrive`, body: {} },
    skipCompensation: execution('/skip-compensation', { step: 'a', reason: 'b' }),
    retryCompensation: execution('/retry-compensation', { step: 'a' }),
    answerPlace: execution('/awaits/approval/answer', { value: 1 }),
    readAwait: asked(''),
    answerAwait: asked('/answer', { value: 1 }),
    extendAwait: asked('/extend', { timeoutMs: 1 }),
    assignAwait: asked('/assign', { assignee: 'me' }),
    cancelAwait: asked('/cancel'),
    linkAwait: asked('/link', { expiresInMs: 60_000 }),
    noteExecution: execution('/notes', { text: 'mine' }),
    readArchived: { path: `/v1/archive/${archived}` },
    readArchivedDocument: { path: `/v1/archive/${archived}/document?name=report.md` },
    verifyArchived: { path: `/v1/archive/${archived}/verification` },
    readDeadLetter: { path: `/v1/dead-letters/${failed}` },
    readJob: { path: `/v1/jobs/${job}` },
    listJobItems: { path: `/v1/jobs/${job}/items` },
    pauseJob: { path: `/v1/jobs/${job}/pause`, body: {} },
    resumeJob: { path: `/v1/jobs/${job}/resume`, body: {} },
    stopJob: { path: `/v1/jobs/${job}/stop`, body: {} },
    ...reachesBeyond(victim),
  };
}

/** The parts that do not belong to an execution. */
function reachesBeyond(victim: Victim): Readonly<Record<string, Reach>> {
  const { session, key } = victim;
  return {
    readTemplate: { path: '/v1/templates/template' },
    readSchedule: { path: '/v1/schedules/schedule' },
    repinExecution: { path: `/v1/executions/${victim.waiting}/repin`, body: { to: 'v1' } },
    preflightRelease: { path: '/v1/pipelines/asks/releases/v1/preflight', body: {} },
    compareRelease: { path: '/v1/pipelines/asks/releases/v1/changes' },
    pauseSchedule: { path: '/v1/schedules/schedule/pause' },
    resumeSchedule: { path: '/v1/schedules/schedule/resume' },
    readSession: { path: `/v1/sessions/${session}` },
    forceSessionEnd: { path: `/v1/sessions/${session}/end`, body: { reason: 'mine' } },
    readLease: { path: '/v1/leases/any' },
    listLeases: { path: '/v1/leases' },
    drainLease: {
      path: '/v1/leases/any/drain',
      body: { fence: FENCE, reason: 'mine', deadlineMs: 1 },
    },
    revokeLease: { path: '/v1/leases/any/revoke', body: { fence: FENCE, reason: 'mine' } },
    putProject: { path: '/v1/projects/victim', body: { title: 'mine' } },
    readProject: { path: '/v1/projects/victim' },
    readKey: { path: `/v1/keys/${key}` },
    revokeKey: { path: `/v1/keys/${key}/revoke`, body: {} },
    rotateKey: { path: `/v1/keys/${key}/rotate`, body: {} },
    createKey: { path: '/v1/keys', body: { name: 'x', roles: ['admin'], project: 'victim' } },
    ...workReachesOf(victim),
  };
}

function workReachesOf(victim: Victim): Readonly<Record<string, Reach>> {
  const { waiting, interaction, session } = victim;
  const write = { id: waiting, fence: FENCE, session, seq: 1, events: [] };
  return {
    getBlob: { path: `/v1/work/blobs/${digestOf(LARGE)}` },
    listClaims: { path: `/v1/work/sessions/${session}/claims` },
    heartbeat: { path: `/v1/work/sessions/${session}/heartbeat`, body: { owner: 'victim' } },
    endSession: {
      path: `/v1/work/sessions/${session}/end`,
      body: { owner: 'victim', exit: 'finished' },
    },
    claimExecutions: {
      path: '/v1/work/claims',
      body: { session, pipelines: ['asks'], shares: [{ lane: 'interactive', limit: 9 }] },
    },
    announceWorker: {
      path: '/v1/work/announcements',
      body: { session, pipelines: ['asks'], state: 'ready', everyMs: 5_000, room: 1 },
    },
    writeAsOwner: { path: '/v1/work/writes', body: { writes: [{ verb: 'record', ...write }] } },
    readInbox: { path: `/v1/work/executions/${waiting}/inbox` },
    readStoredHistory: { path: `/v1/work/executions/${waiting}/history` },
    readStoredExecution: { path: `/v1/work/executions/${waiting}` },
    readStoredAwait: { path: `/v1/work/awaits/${interaction}` },
    expireAwaits: { path: `/v1/work/executions/${waiting}/expire-awaits` },
  };
}

/** Routes that name nothing, or whose names the caller chooses. */
export const WITHOUT_TARGET: readonly string[] = [
  ...['submitExecution', 'listExecutions', 'countExecutions', 'streamHints', 'openStream'],
  ...['listAwaits', 'listDeadLetters'],
  ...[
    'groupDeadLetters',
    'listAudit',
    'listRefusedWrites',
    'listArchive',
    'runArchive',
    'redriveMany',
    'cancelMany',
    'listJobs',
    'listTemplates',
    'putTemplate',
  ],
  ...[
    'listSchedules',
    'putSchedule',
    'removeSchedule',
    'listWorkers',
    'listSessions',
    'readAdvice',
    'readDepth',
    'readOverview',
    'readTrends',
  ],
  ...['readCaller', 'signIn', 'signOut', 'readDemo', 'playDemo'],
  ...['listProjects', 'listKeys', 'readMetrics', 'greet', 'openSession', 'waitForWakeup'],
  ...[
    'registerRelease',
    'listReleases',
    'listRollouts',
    'readRollout',
    'listActivations',
    'changeRollout',
  ],
  'repinMany',
  // The caller that puts it has the bytes.
  'putBlob',
];
