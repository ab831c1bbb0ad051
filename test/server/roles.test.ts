// Every sentence of the docs about roles, and its proof. doors.test.ts checks for every route that
// callers without the role are refused.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROLES, type Role } from '../../src/features/access/model.ts';
import { LEASE_MESSAGES } from '../../src/features/leases/messages.ts';
import { pipeline } from '../../src/index.ts';
import type { Tag } from '../../src/protocol/messages/operation.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { systemRandom } from '../../src/support/random.ts';
import { refusedWith, TestCoordinator, until } from './coordinator.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = 'docs/{start,guides,concepts,operate,compare}/**/*.md';
const LINKS = { keys: { k1: 's'.repeat(32) }, current: 'k1' };

function may(...roles: readonly Role[]): ReadonlySet<string> {
  const held = ROUTES.filter(({ allows, needs = [] }) => {
    if (allows === 'public') return false;
    return (
      allows.some((role) => roles.includes(role)) && needs.every((role) => roles.includes(role))
    );
  });
  return new Set(held.map(({ name }) => name));
}

function mayAll(role: Role, names: readonly string[]): void {
  const allowed = may(role);
  assert.deepEqual(
    names.filter((name) => !allowed.has(name)),
    [],
    role,
  );
}

function mayNone(role: Role, names: readonly string[]): void {
  const allowed = may(role);
  assert.deepEqual(
    names.filter((name) => allowed.has(name)),
    [],
    role,
  );
}

const asks = pipeline({ name: 'asks', run: (ctx) => ctx.await('approval', { request: 1 }) });
const parent = pipeline({
  name: 'parent',
  run: async (ctx) => (await ctx.spawn('other', 1, { name: 'other' })).id,
});

/** Returns what it submitted. */
async function answersItsOwn(): Promise<void> {
  await using coordinator = await TestCoordinator.onMemory();
  const both = await coordinator.client(['submit', 'operate'], 'default');
  await coordinator.worker([asks]);
  const { id } = await both.executions.submit({ pipeline: 'asks' });
  const open = await until(async () => (await both.awaits.list({ execution: id })).items[0]?.id);
  await both.awaits.answer(open, 'yes');
  assert.equal((await both.executions.result(id)).status, 'completed');
}

async function startsChildren(): Promise<void> {
  await using coordinator = await TestCoordinator.onMemory();
  const client = await coordinator.client(['submit'], 'default');
  await coordinator.worker([parent]);
  const { id } = await client.executions.submit({ pipeline: 'parent' });
  const child = (await client.executions.result(id)).output as string;
  assert.equal((await client.executions.read(child)).pipeline, 'other');
  const worker = await coordinator.client(['work'], 'default');
  await assert.rejects(
    worker.executions.submit({ pipeline: 'other' }),
    refusedWith('role-missing'),
  );
}

async function editsNeedBoth(): Promise<void> {
  await using coordinator = await TestCoordinator.onMemory();
  const id = systemRandom.uuid();
  for (const roles of [['operate'], ['submit']] as const) {
    const { executions } = await coordinator.client(roles, 'default');
    const edit = executions.redrive(id, { input: 1 });
    await assert.rejects(edit, refusedWith('role-missing', 403));
  }
  const both = await coordinator.client(['operate', 'submit'], 'default');
  const edit = both.executions.redrive(id, { input: 1 });
  await assert.rejects(edit, refusedWith('execution-unknown', 404));
}

async function forceNeedsOperate(): Promise<void> {
  await using coordinator = await TestCoordinator.onMemory();
  const submitter = await coordinator.client(['submit'], 'default');
  const { id } = await submitter.executions.submit({ pipeline: 'order' });
  const forced = submitter.executions.cancel(id, 'stuck', { force: true });
  await assert.rejects(forced, refusedWith('role-missing', 403));
  const operator = await coordinator.client(['operate'], 'default');
  await operator.executions.cancel(id, 'stuck', { force: true });
  assert.equal((await submitter.executions.read(id)).status, 'cancelled');
}

async function schedulesNeedBoth(): Promise<void> {
  await using coordinator = await TestCoordinator.onMemory();
  const plan = { pipeline: 'p', every: 60_000 };
  for (const roles of [['operate'], ['submit']] as const) {
    const client = await coordinator.client(roles, 'default');
    await assert.rejects(client.schedules.put('s', plan), refusedWith('role-missing', 403));
    const template = { pipeline: 'p' };
    await assert.rejects(client.templates.put('t', 1, template), refusedWith('role-missing', 403));
  }
  const both = await coordinator.client(['operate', 'submit'], 'default');
  await both.schedules.put('s', plan);
  await both.templates.put('t', 1, { pipeline: 'p' });
}

async function onlyOfAll(): Promise<void> {
  await using coordinator = await TestCoordinator.onMemory();
  const scoped = await coordinator.client(['submit', 'work', 'operate', 'admin'], 'default');
  await assert.rejects(scoped.projects.put('default', {}), refusedWith('project-denied', 403));
}

/** The reads with one of these tags. */
function readsOf(...tags: readonly Tag[]): readonly string[] {
  const found = ROUTES.filter(({ method, tag }) => method === 'GET' && tags.includes(tag));
  return found.map(({ name }) => name);
}

const READS = readsOf('Executions');
const RELEASES = [
  'registerRelease',
  'changeRollout',
  'preflightRelease',
  'repinExecution',
  'repinMany',
];

const KEYS = ['createKey', 'revokeKey', 'rotateKey', 'listKeys', 'putProject'];

async function createsAnyRole(): Promise<void> {
  mayNone('admin', READS);
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await coordinator.client(['admin'], 'default');
  const roles = [...ROLES];
  await admin.keys.create({ name: 'all', roles: [...roles], project: 'default' });
  await assert.rejects(
    admin.keys.create({ name: 'all', roles: [...roles], project: null }),
    refusedWith('project-denied', 403),
  );
}

/** The lease messages that `ctx.lease` needs. */
const HOLDING = [
  ...['acquireLease', 'withdrawAttempt', 'releaseLease', 'verifyFence', 'inspectLease'],
  ...['waitForLeaseHint', 'listCarriedLeases'],
];
const ONLY_LEASE = Object.keys(LEASE_MESSAGES).filter((name) => !HOLDING.includes(name));

/** By the sentences of the docs. */
const SENTENCES: Readonly<Record<string, () => unknown>> = {
  // keys.md
  'Roles do not inherit from each other': () => {
    const alone = new Map<Role, readonly string[]>([
      ['submit', ['submitExecution']],
      ['work', ['claimExecutions', 'writeAsOwner']],
      ['lease', ['saveCheckpoint', 'listProjectLeases']],
      ['operate', ['pauseExecution', 'answerAwait']],
      ['admin', ['createKey', 'changeRollout']],
    ]);
    for (const [role, names] of alone) {
      for (const other of alone.keys()) (other === role ? mayAll : mayNone)(other, names);
    }
  },
  '`submit` submits executions, and reads, signals and cancels every execution of the project.':
    () => mayAll('submit', ['submitExecution', ...READS, 'signalExecution', 'cancelExecution']),
  '`work` runs workers: it claims executions, reads inputs and histories of every execution of the project, and writes to the executions that it claimed.':
    () => {
      const names = [...may('work')].sort();
      const ofWorkers = ROUTES.filter(
        ({ path, name }) => /^\/v1\/(work|stream)(\/|$)/.test(path) && !ONLY_LEASE.includes(name),
      );
      assert.deepEqual(names, ofWorkers.map(({ name }) => name).sort());
    },
  'Without `--store`, the command uses the coordinator at `--url`, with a key that has the role [`lease`](../operate/keys.md#roles).':
    () => mayAll('lease', HOLDING),
  'Its sessions can acquire, inspect and release any lease of the project, for `ctx.lease`.': () =>
    mayAll('work', HOLDING),
  '`lease` opens sessions, and acquires, lists, watches, drains and revokes every lease of the project.':
    () => {
      const sessions = ['greet', 'openSession', 'heartbeat', 'endSession', 'openStream'];
      const names = [...Object.keys(LEASE_MESSAGES), ...sessions].sort();
      assert.deepEqual([...may('lease')].sort(), names);
    },
  'A key with `lease` alone cannot read or run executions.': () =>
    mayNone('lease', [...READS, 'claimExecutions', 'writeAsOwner', 'readStoredExecution']),
  '`operate` reads, signals, pauses, resumes, cancels, answers and re-drives, manages bulk jobs, and reads the audit.':
    () =>
      mayAll('operate', [
        ...READS,
        ...['signalExecution', 'pauseExecution', 'resumeExecution', 'cancelExecution'],
        ...['answerAwait', 'answerPlace', 'redriveExecution', 'redriveMany', 'cancelMany'],
        ...['listJobs', 'pauseJob', 'resumeJob', 'stopJob', 'listAudit'],
      ]),
  '`admin` manages keys, releases, projects, leases and forced ends, where the admin routes are on.':
    () => {
      const names = [...KEYS, ...RELEASES, 'forceSessionEnd', 'drainLease', 'revokeLease'];
      mayAll('admin', names);
      const listeners = ROUTES.filter(({ name }) => names.includes(name));
      assert.ok(listeners.every(({ listener }) => listener === 'admin'));
      for (const other of ['submit', 'work', 'lease', 'operate'] as const) mayNone(other, names);
    },
  'Only `admin` erases the values of an execution, because that cannot be undone.': () => {
    mayAll('admin', ['eraseExecution']);
    for (const other of ['submit', 'work', 'lease', 'operate'] as const) {
      mayNone(other, ['eraseExecution']);
    }
  },
  'A key with `admin` alone cannot read executions, but it can create a key with any role in its own scope.':
    createsAnyRole,
  'A key with `submit` alone cannot answer awaits, make answer links or re-drive.': () =>
    mayNone('submit', [
      'answerAwait',
      'answerPlace',
      'linkAwait',
      'redriveExecution',
      'redriveMany',
    ]),
  'A key with `operate` alone cannot submit, put schedules or put templates. Schedules and templates need `submit` and `operate`.':
    schedulesNeedBoth,
  'A key with `work` alone cannot submit through the API. The executions that it runs can start children of any pipeline in the project.':
    startsChildren,
  'A key with `submit` and `operate` can answer what it submitted. Use two keys where people must not approve their own requests.':
    answersItsOwn,
  // recorded.test.ts checks the actor.
  'Any key with `operate` can make an answer link, and any holder of the link can answer. The audit names the key that made it.':
    () => mayAll('operate', ['linkAwait']),
  'A key of one project cannot manage projects or the leases of others, whatever its roles.':
    onlyOfAll,
  'A key with `admin` of one project manages only the keys and releases of that project.':
    createsAnyRole,
  'You need a key with `admin`, and a coordinator with [admin routes]': () =>
    mayAll('admin', [...KEYS, ...RELEASES]),
  // security.md
  'A key with `submit` reads every execution of the project, not only its own.': () =>
    mayAll('submit', READS),
  'A key with `submit` and `operate` can answer its own question.': answersItsOwn,
  // Other pages.
  'From code, use `client.channels`. Its operations need a key with the role `operate`.': () => {
    // Signatures authorize the other ones.
    const names = ROUTES.filter(({ tag, allows }) => tag === 'Channels' && allows !== 'public').map(
      ({ name }) => name,
    );
    assert.ok(names.length > 5);
    mayAll('operate', names);
    for (const other of ['submit', 'work', 'lease', 'admin'] as const) mayNone(other, names);
  },
  'Every key with `lease` can drain and revoke all leases of its project.': () =>
    mayAll('lease', ['requestDrain', 'revokeTerm']),
  'Give each program a key with the role [`lease`](../operate/keys.md#roles).': () =>
    mayAll('lease', ['acquireLease']),
  '`LeaseSession` holds [leases through a coordinator](leases-over-http.md), with a key of the role `lease`.':
    () => mayAll('lease', HOLDING),
  'Over HTTP, a forced cancel needs a key with the role `operate`.': forceNeedsOperate,
  'You create projects with a key with `admin` for all projects': onlyOfAll,
  'To change releases, keys, projects or leases, you need `admin`': () =>
    mayAll('admin', [...KEYS, ...RELEASES, 'drainLease', 'revokeLease']),
  'You need the roles `submit` and `operate`.': editsNeedBoth,
  'You need the URL and a key with `submit`.': () => mayAll('submit', ['submitExecution']),
  'You need a key with `admin`.': () => mayAll('admin', RELEASES),
  'You need `admin` to start the job, and `operate` to follow it.': () => {
    mayAll('admin', ['repinMany']);
    mayAll('operate', ['readJob', 'listJobItems']);
  },
  'Give workers only `work`. The keys with `submit`, `operate` and `admin` can list releases; `work` cannot, and a refused worker does not learn what would fit.':
    () => {
      for (const role of ['submit', 'operate', 'admin'] as const) mayAll(role, ['listReleases']);
      mayNone('work', ['listReleases', 'listRollouts', 'compareRelease']);
    },
  'cannot change a release, rollout or pin. Only `admin` can.': () => mayNone('work', RELEASES),
  'Prometheus needs a key with `operate`.': () => mayAll('operate', ['readMetrics']),
};

/** Sentences about roles that need no check here. */
const NOT_TESTABLE: readonly RegExp[] = [
  /It needs the URL of a coordinator and a key with `work`/,
  /`key`, `project` \| a key with `work`/,
  /`role-missing` \| Use a key with/,
  /`admin` \| `off`/,
  /If you lost the last key with `admin`/,
  // hostile-workers.test.ts covers the sessions of endpoints.
  /Any key with `work` of the project can write to an execution that was pushed/,
  // The holder of such a key is trusted with everything that follows from claiming.
  /A holder of a key with `work` who knows the digest/,
  /Give a key with `work` only to holders whom you trust/,
  // The method of the client.
  /`submit` and other calls throw/,
  // The head of the table, whose rows have a test of their own.
  /^\| \| no key \|/,
];

test('every sentence about roles is true', async (t) => {
  for (const [sentence, check] of Object.entries(SENTENCES)) {
    await t.test(sentence.slice(0, 80), async () => void (await check()));
  }
});

/** The sentences of a page, each on one line. */
function sentencesOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^\s*```[\s\S]*?^\s*```/gm, '');
  return unwrapped(text)
    .split('\n')
    .flatMap((line) => line.split(/(?<=[.!?]) +(?=[A-Z`*])/));
}

function unwrapped(text: string): string {
  return text.replace(/\n(?!\s*\n|\s*[-|#<]|\s*\d+\.)\s*/g, ' ');
}

test('every sentence of the docs about roles is one of these', () => {
  const pages = globSync(PAGES, { cwd: ROOT });
  const all = pages.map((page) => unwrapped(readFileSync(join(ROOT, page), 'utf8'))).join('\n');
  const gone = Object.keys(SENTENCES).filter((sentence) => !all.includes(sentence));
  assert.deepEqual(gone, [], 'no longer in the docs');
  const statements = pages
    .flatMap(sentencesOf)
    .filter((each) => /`(?:submit|work|lease|operate|admin)`/.test(each))
    .filter((each) => /\b(?:keys?|roles?|needs?)\b/i.test(each))
    .map((each) => each.replace(/^[-\s]+|\s+$/g, ''));
  assert.ok(statements.length > 20);
  const known = Object.keys(SENTENCES);
  const untested = statements.filter(
    (each) =>
      !known.some((sentence) => sentence.includes(each) || each.includes(sentence)) &&
      !NOT_TESTABLE.some((pattern) => pattern.test(each)),
  );
  assert.deepEqual(untested, [], 'a sentence about roles needs a check in this file');
});

/** By the first cell of the table of rights. Absent: another test covers it. */
const RIGHTS: Readonly<Record<string, readonly string[]>> = {
  'executions: list, input, history, result, attachments, archive': [
    ...READS,
    ...readsOf('Archive').filter((name) => name !== 'verifyArchived'),
  ],
  'executions as stored, inboxes, large values': [
    ...['readStoredExecution', 'readStoredHistory', 'readInbox', 'getBlob'],
  ],
  'open questions, dead letters, schedules, templates, saved views, workers, figures': [
    ...readsOf('Awaits', 'Repair', 'Schedules', 'Templates', 'Saved views', 'Overview'),
    ...['listWorkers', 'readDepth'],
  ],
  'audit, refused writes, channels, sessions, metrics': [
    ...readsOf('Audit', 'Channels'),
    ...['listSessions', 'readSession', 'readHeartbeats', 'readMetrics'],
  ],
  'one lease, to hold it for an execution or a session': HOLDING,
  "the project's leases and sessions": ONLY_LEASE,
  'leases of all projects (only keys for all projects)': readsOf('Leases'),
  'releases and rollouts': readsOf('Releases'),
  'keys and projects': readsOf('Projects and keys'),
};

test('the table of rights is that of the routes', () => {
  const page = readFileSync(join(ROOT, 'docs/operate/keys.md'), 'utf8');
  const rows = [
    ...page.matchAll(/^\| (.*?) \| (\w+) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$/gm),
  ];
  const rights = new Map(rows.map(([, what = '', ...cells]) => [what, cells]));
  for (const [what, names] of Object.entries(RIGHTS)) {
    const [none, ...cells] = rights.get(what) ?? [];
    assert.equal(none, 'no', what);
    for (const [nth, role] of ROLES.entries()) {
      const cell = cells[nth] ?? '';
      (/^(?:yes|read)/.test(cell) ? mayAll : mayNone)(role, names);
    }
  }
});

test('links can be created by operate, not by submit', async () => {
  await using coordinator = await TestCoordinator.onMemory({ links: LINKS });
  const submitter = await coordinator.client(['submit'], 'default');
  await assert.rejects(submitter.awaits.link('x', 1_000), refusedWith('role-missing', 403));
});
