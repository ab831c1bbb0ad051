// P4 for deployments: under endless load, the test kills a worker, and one of several coordinators.
// Other workers claim its executions within ttl + 2 s, and the deployment never stops for longer. A
// process beside them measures the machine's own delay, which the test allows for.

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { HistoryMessage } from '../../src/protocol/messages/execution.ts';
import type { PlaceIn } from '../load/place.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { Deployment } from './deployment.ts';

const TTL_MS = 4_000;
const BOUND_MS = recoveryBoundMs(TTL_MS);
const STEP_MS = 400;
/** Two workers have twenty at once, each for three steps: this lasts longer than the bound. */
const EXECUTIONS = 320;
const TRIES = 3;
const VICTIM = 'worker-1';
const OTHERS = ['worker-2', 'worker-3'];

export async function recoversInTime(
  t: TestContext,
  placeIn: PlaceIn,
  coordinators: number,
): Promise<void> {
  const measured: string[] = [];
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const { lost, takenOverMs, standstillMs, keptMs } = await killUnderLoad(placeIn, coordinators);
    const boundMs = BOUND_MS + keptMs;
    measured.push(
      `${lost} taken over within ${takenOverMs} ms, nothing ended for ${standstillMs} ms at most; the bound is ${BOUND_MS} ms, and ${keptMs} ms of machine delay`,
    );
    t.diagnostic(measured.at(-1) ?? '');
    if (takenOverMs <= boundMs && standstillMs <= boundMs) return;
  }
  assert.fail(`P4: ${measured.join('; ')}`);
}

interface Recovery {
  /** How many executions the victim had. */
  readonly lost: number;
  readonly takenOverMs: number;
  /** The longest time in which no execution ended, while there were some. */
  readonly standstillMs: number;
  readonly keptMs: number;
}

async function killUnderLoad(placeIn: PlaceIn, coordinators: number): Promise<Recovery> {
  const nodes = await Deployment.open(placeIn, { coordinators, ttlMs: TTL_MS, stepMs: STEP_MS });
  const control = fork(join(import.meta.dirname, 'children/control.ts'), [nodes.file('control')]);
  try {
    for (let nth = 0; nth < coordinators; nth += 1) await nodes.startCoordinator(nth);
    await Promise.all([VICTIM, ...OTHERS].map((owner) => nodes.startWorker(owner)));
    await nodes.submit(EXECUTIONS);
    await longestWait(control);
    const killedAt = Date.now();
    if (coordinators > 1) await nodes.end('coordinator-0', 'SIGKILL');
    await nodes.end(VICTIM, 'SIGKILL');
    await nodes.settle();
    const keptMs = await longestWait(control);
    const histories = await nodes.histories();
    const waits = histories.flatMap((events) => takeoverOf(events, killedAt));
    assert.ok(waits.length > 0, 'it was killed with something in hand');
    const standstillMs = standstill(histories, killedAt);
    return { lost: waits.length, takenOverMs: Math.max(...waits), standstillMs, keptMs };
  } finally {
    control.disconnect();
    await once(control, 'exit');
    await nodes.close();
  }
}

async function longestWait(control: ChildProcess): Promise<number> {
  control.send('tell');
  const [ms] = (await once(control, 'message')) as [number];
  return ms;
}

/**
 * How long after the kill another worker had the victim's execution. Other sessions that ended died
 * at another time.
 */
function takeoverOf(events: readonly HistoryMessage[], killedAt: number): readonly number[] {
  const claims = events
    .filter(({ kind }) => kind === 'claimed')
    .map(({ at, body }) => ({ at: Date.parse(at), ...(body as ClaimedBody) }));
  return claims.flatMap(({ at, previous }, nth) =>
    previous === 'lost' && claims[nth - 1]?.owner === VICTIM ? [at - killedAt] : [],
  );
}

interface ClaimedBody {
  readonly owner: string;
  readonly previous: string;
}

function standstill(histories: readonly (readonly HistoryMessage[])[], killedAt: number): number {
  const ends = histories
    .map((events) => Date.parse(events.at(-1)?.at ?? ''))
    .filter((at) => at >= killedAt)
    .sort((a, b) => a - b);
  return Math.max(...ends.map((at, nth) => at - (ends[nth - 1] ?? killedAt)));
}
