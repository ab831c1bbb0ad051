import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProject } from '../execution/names.ts';
import { describeFinding } from '../features/reconcile/model.ts';
import { projectShare } from '../protocol/rest/route.ts';
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
  const due = { project, id: 'often', digest: 'sha256:0', submits: [], skipsWhileOpen: false };
  await store.executions.fireSchedule({ ...due, ...times });
  await shares.begin(projectShare(project));
  assert.ok(turns >= FIRE_MS / 10, `${turns} turns`);
  await plain.close();
});
