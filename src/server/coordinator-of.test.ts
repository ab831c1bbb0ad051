import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type ExecutionId, parseProject } from '../execution/names.ts';
import type { Role } from '../features/access/model.ts';
import { describeFinding } from '../features/reconcile/model.ts';
import { projectShare } from '../protocol/rest/route.ts';
import { workHandlers } from '../protocol/rest/work-handlers.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { systemClock, toInstant } from '../support/clock.ts';
import { systemTimers } from '../support/timer.ts';
import { buildCoordinator, observerFor } from './coordinator-of.ts';

test('Z-30: a coordinator logs data that breaks an invariant', () => {
  const lines: unknown[] = [];
  const log = {
    info: (message: string, about?: object) => void lines.push([message, about]),
    fault: () => undefined,
  };
  const finding = describeFinding({ invariant: 'running-unowned', repaired: true });
  observerFor(log).report({ kind: 'stale', ...finding });
  assert.deepEqual(lines, [['found data that breaks an invariant', finding]]);
});

test('P-18: four unknown sessions of a project are looked up at once, and another project does not wait', async () => {
  const plain = openMemoryStore();
  const looked: string[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const projects = new Map<string, string>();
  const inspect: typeof plain.sessions.inspect = async (id) => {
    looked.push(projects.get(id) ?? '');
    await released;
    return plain.sessions.inspect(id);
  };
  const store = { ...plain, sessions: { ...plain.sessions, inspect } };
  const coordinator = buildCoordinator({ store }, undefined);
  const { signal } = new AbortController();
  const beatOf = (name: string): Promise<unknown> => {
    const project = parseProject(name);
    const caller = { name, project, isOfAll: false, roles: new Set<Role>(['work']) };
    const id = crypto.randomUUID();
    projects.set(id, name);
    const body = { id, owner: name };
    return assert.rejects(
      workHandlers.heartbeat(coordinator, { body, caller, transport: 'http', signal }),
      { code: 'session-unknown' },
    );
  };
  const beats = Array.from({ length: 6 }, () => beatOf('hostile'));
  beats.push(beatOf('healthy'));
  await turn();
  assert.deepEqual(looked, [...Array(4).fill('hostile'), 'healthy']);
  release();
  await Promise.all(beats);
  assert.equal(looked.length, 7);
  await plain.close();
});

const SIZE = 2 ** 20;

test('P-18: a project reads one large value at a time, and pays for it before the next one', async () => {
  const plain = openMemoryStore();
  let turns = 0;
  const soon = (turn: () => void): void => {
    turns += 1;
    systemTimers.soon(turn);
  };
  const { download } = buildCoordinator(
    { store: plain, timers: { ...systemTimers, soon } },
    undefined,
  );
  const project = parseProject('hostile');
  let underWay = 0;
  const readAfter: number[] = [];
  const read = async (): Promise<Uint8Array> => {
    underWay += 1;
    readAfter.push(turns);
    await turn();
    assert.equal(underWay, 1);
    underWay -= 1;
    return new Uint8Array(SIZE);
  };
  const gone = new AbortController();
  const first = [download({ project }, read), download({ project }, read)];
  const late = download({ project, signal: gone.signal }, read);
  await first[0];
  gone.abort();
  await assert.rejects(late, { code: 'caller-gone' });
  await Promise.all(first);
  const [one = 0, two = 0, ...more] = readAfter;
  // 64 small requests in one turn, and 8 KiB cost as much as one.
  assert.ok(two - one >= SIZE / 8_192 / 64, `${two - one} turns`);
  assert.deepEqual(more, [], 'a value whose caller is gone was read');
  await plain.close();
});

/** The time that a fire takes. */
const FIRE_MS = 100;

test('P-18: a fire of a schedule takes a share of its project, by the time that it took', async () => {
  const plain = openMemoryStore();
  let nowMs = 0;
  const fireSchedule: typeof plain.executions.fireSchedule = (request) => {
    nowMs += FIRE_MS;
    return plain.executions.fireSchedule(request);
  };
  let turns = 0;
  const soon = (turn: () => void): void => {
    turns += 1;
    systemTimers.soon(turn);
  };
  const { store, shares } = buildCoordinator(
    {
      store: { ...plain, executions: { ...plain.executions, fireSchedule } },
      clock: { ...systemClock, monotonicMs: () => nowMs },
      timers: { ...systemTimers, soon },
    },
    undefined,
  );
  const project = parseProject('hostile');
  const times = { expected: toInstant(1), firedAt: toInstant(1) };
  const due = { project, id: 'often', digest: 'sha256:0', submits: [], overlap: 'allow' } as const;
  await store.executions.fireSchedule({ ...due, ...times });
  await shares.begin(projectShare(project));
  assert.ok(turns >= FIRE_MS / 10, `${turns} turns`);
  await plain.close();
});

test('P-18: a page of a history is paid for by its bytes, before the next one', async () => {
  const plain = openMemoryStore();
  const project = parseProject('hostile');
  const id = '01a1e190-0000-7000-8000-000000000001' as ExecutionId;
  const event = { seq: 1, at: toInstant(1), kind: 'progressed', body: 'y'.repeat(SIZE) } as const;
  let turns = 0;
  const soon = (turn: () => void): void => {
    turns += 1;
    systemTimers.soon(turn);
  };
  const executions = {
    ...plain.executions,
    history: async () => [event] as never,
    read: async () => ({ id, project }) as never,
  };
  const { store } = buildCoordinator(
    { store: { ...plain, executions }, timers: { ...systemTimers, soon } },
    undefined,
  );
  const read = (): Promise<unknown> => store.executions.history({ id, after: 0, limit: 1 });
  await read();
  const first = turns;
  await read();
  assert.ok(turns - first >= SIZE / 8_192 / 64, `${turns} turns, ${first} for the first page`);
  await plain.close();
});
