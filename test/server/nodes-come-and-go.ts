// A deployment under load: in every turn the test kills a coordinator and starts it again, and
// kills a worker, or freezes it until others have done its work.

import type { TestContext } from 'node:test';
import type { PlaceIn } from '../load/place.ts';
import { Deployment } from './deployment.ts';

export interface Cast {
  readonly coordinators: number;
  readonly workers: number;
  /** The number of submits in each turn. */
  readonly round: number;
}

const TTL_MS = 2_000;

export async function nodesComeAndGo(t: TestContext, placeIn: PlaceIn, cast: Cast): Promise<void> {
  const { coordinators, round } = cast;
  const owners = Array.from({ length: cast.workers }, (_, nth) => `worker-${nth + 1}`);
  const nodes = await Deployment.open(placeIn, { coordinators, ttlMs: TTL_MS });
  try {
    // The first creates the schema; the others start together.
    await nodes.startCoordinator(0);
    const others = Array.from({ length: coordinators - 1 }, (_, nth) => nth + 1);
    await Promise.all(others.map((nth) => nodes.startCoordinator(nth)));
    await Promise.all(owners.map((owner) => nodes.startWorker(owner)));
    await nodes.submit(round);
    for (const [turn, owner] of owners.entries()) {
      const nth = turn % coordinators;
      const submitting = nodes.submit(round);
      await nodes.end(`coordinator-${nth}`, 'SIGKILL');
      if (turn % 2 === 0) await frozenMeanwhile(nodes, owner, nth);
      else {
        await nodes.end(owner, 'SIGKILL');
        await nodes.startCoordinator(nth);
        await nodes.startWorker(owner);
      }
      await submitting;
    }
    const { executions, repeated, stale, perSecond } = await nodes.settle();
    t.diagnostic(
      `${executions} executions, ${repeated} effects repeated, ${stale} of workers that were frozen, ${nodes.faults} faults`,
    );
    t.diagnostic(`ended in each second: ${perSecond.join(' ')}`);
  } finally {
    await nodes.close();
  }
}

/** Its session is over when all is done without it, and its later writes are refused. */
async function frozenMeanwhile(nodes: Deployment, owner: string, nth: number): Promise<void> {
  nodes.freeze(owner);
  await nodes.startCoordinator(nth);
  await nodes.settle();
  nodes.thaw(owner);
}
