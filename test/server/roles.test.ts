// Every sentence of the guide about roles, and its proof. doors.test.ts checks for every route that
// callers without the role are refused.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Role } from '../../src/features/access/model.ts';
import { pipeline } from '../../src/index.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { refusedWith, TestCoordinator, until } from './coordinator.ts';

const GUIDE = join(import.meta.dirname, '../../docs/guide');
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

const READS = ['listExecutions', 'readExecution', 'readHistory', 'readResult', 'explainExecution'];
const RELEASES = [
  'registerRelease',
  'changeRollout',
  'preflightRelease',
  'repinExecution',
  'repinMany',
];

/** By the sentence in the guide. */
const SENTENCES: Readonly<Record<string, () => unknown>> = {
  'Roles do not inherit from each other': () => {
    const alone = new Map<Role, readonly string[]>([
      ['submit', ['submitExecution']],
      ['work', ['claimExecutions', 'writeAsOwner']],
      ['operate', ['pauseExecution', 'answerAwait']],
      ['admin', ['createKey', 'changeRollout']],
    ]);
    for (const [role, names] of alone) {
      for (const other of alone.keys()) (other === role ? mayAll : mayNone)(other, names);
    }
  },
  '`submit` submits executions, reads, signals and cancels them.': () =>
    mayAll('submit', ['submitExecution', ...READS, 'signalExecution', 'cancelExecution']),
  '`work` does what workers do: it claims executions of its project, reads their inputs and histories, and writes what it claimed.':
    () => {
      const names = [...may('work')].sort();
      const ofWorkers = ROUTES.filter(({ path }) => /^\/v1\/work(\/|$)/.test(path));
      assert.deepEqual(names, ofWorkers.map(({ name }) => name).sort());
    },
  '`operate` reads, signals, pauses, resumes, cancels, answers and re-drives, and manages bulk jobs.':
    () =>
      mayAll('operate', [
        ...READS,
        ...['signalExecution', 'pauseExecution', 'resumeExecution', 'cancelExecution'],
        ...['answerAwait', 'answerPlace', 'redriveExecution', 'redriveMany', 'cancelMany'],
        ...['listJobs', 'pauseJob', 'resumeJob', 'stopJob'],
      ]),
  '`admin` manages keys, [releases](releases.md), projects, leases and forced ends, where the admin routes are on.':
    () => {
      const keys = ['createKey', 'revokeKey', 'rotateKey', 'listKeys', 'putProject'];
      const names = [...keys, ...RELEASES, 'forceSessionEnd', 'drainLease', 'revokeLease'];
      mayAll('admin', names);
      const listeners = ROUTES.filter(({ name }) => names.includes(name));
      assert.ok(listeners.every(({ listener }) => listener === 'admin'));
      for (const other of ['submit', 'work', 'operate'] as const) mayNone(other, names);
    },
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
  'Any key with `operate` can make an answer link, and any holder of the link can answer. The audit names the key that made it.':
    // recorded.test.ts checks the actor.
    () => mayAll('operate', ['linkAwait']),
  'A key of one project cannot manage projects or leases, whatever its roles.': onlyOfAll,
  // Sentences of other pages.
  'with role `admin` and where [the routes of admin]': () => mayAll('admin', RELEASES),
  'It takes role `admin` to start, and `operate` to see how far it is.': () => {
    mayAll('admin', ['repinMany']);
    mayAll('operate', ['readJob', 'listJobItems']);
  },
  'Give workers role `work` and no other. What is registered is told to `submit`, `operate` and `admin` (`holdfast releases list`), not to `work`':
    () => {
      for (const role of ['submit', 'operate', 'admin'] as const) mayAll(role, ['listReleases']);
      mayNone('work', ['listReleases', 'listRollouts', 'compareRelease']);
    },
  'changes no release, rollout or pin: these are operations of role `admin`.': () =>
    mayNone('work', RELEASES),
  'Operations need role `admin`, whether its routes are on or off': () => {
    for (const role of ['submit', 'operate', 'work'] as const) mayNone(role, RELEASES);
  },
  '`/metrics` (needs `prom-client`; role operate': () => mayAll('operate', ['readMetrics']),
  '`/metrics` (role `operate`, or `publicMetrics`)': () => mayAll('operate', ['readMetrics']),
  '`operate` for most of it, `admin` with a key of all projects for leases, projects and keys':
    () => mayAll('operate', ['listExecutions', 'listAudit', 'listSchedules', 'listWorkers']),
};

/** Sentences without a claim about a role. */
const NOT_TESTABLE: readonly RegExp[] = [
  /a URL and a key of role `work` instead of a store/,
  /`key`, `project` \| of role `work`/,
  /The last key of role `admin` is lost/,
  // contract/access/revoke-key.ts covers `--descendants`.
  /A key of role `admin` got into wrong hands/,
  // A holder of such a key is trusted with everything that follows from claiming: the sentence
  // about `work`.
  /Who has a key of role `work` and knows digest/,
  /So a key of role `work` is trust/,
];

test('every sentence about roles is true', async (t) => {
  for (const [sentence, check] of Object.entries(SENTENCES)) {
    await t.test(sentence.slice(0, 80), async () => void (await check()));
  }
});

test('every sentence of the guide about roles is one of these', async () => {
  const files = (await readdir(GUIDE, { recursive: true })).filter((file) => file.endsWith('.md'));
  const pages = await Promise.all(files.map((file) => readFile(join(GUIDE, file), 'utf8')));
  const guide = pages.join('\n');
  const gone = Object.keys(SENTENCES).filter((sentence) => !guide.includes(sentence));
  assert.deepEqual(gone, [], 'no longer in the guide');
  const roles = /<a id="roles"><\/a>.*\n\n((?:- .*\n)+)/.exec(guide)?.[1]?.trim().split('\n') ?? [];
  assert.ok(roles.length > 8);
  const statements = guide
    .split('\n')
    .filter((line) => /\brole `?(submit|work|operate|admin)\b/.test(line));
  const untested = [...roles, ...statements].filter(
    (line) =>
      !Object.keys(SENTENCES).some((sentence) => line.includes(sentence)) &&
      !NOT_TESTABLE.some((pattern) => pattern.test(line)),
  );
  assert.deepEqual(untested, [], 'a sentence about roles needs a check in this file');
});

test('links can be created by operate, not by submit', async () => {
  await using coordinator = await TestCoordinator.onMemory({ links: LINKS });
  const submitter = await coordinator.client(['submit'], 'default');
  await assert.rejects(submitter.awaits.link('x', 1_000), refusedWith('role-missing', 403));
});
