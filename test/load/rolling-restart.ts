import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fleet } from './fleet.ts';
import type { PlaceIn } from './place.ts';

const OWNERS = ['worker-1', 'worker-2', 'worker-3', 'worker-4'] as const;
const ROUND = 60;
const TTL_MS = 1_000;
/** A slow machine must not make a live worker look dead. */
const CALM_TTL_MS = 15_000;

export function registerRollingRestart(kind: string, placeIn: PlaceIn): void {
  test(`${kind}: a rolling restart of four workers under load strands and doubles nothing`, async (t) => {
    const fleet = await Fleet.open(placeIn, { ttlMs: CALM_TTL_MS });
    try {
      await Promise.all(OWNERS.map((owner) => fleet.start(owner)));
      await fleet.submit(ROUND);
      // The new process has the name of the old one, as in a deployment.
      for (const owner of OWNERS) {
        const submitting = fleet.submit(ROUND);
        await fleet.end(owner, 'SIGTERM');
        await fleet.start(owner);
        await submitting;
      }
      const { executions, repeated } = await fleet.settle();
      assert.equal(repeated, 0, 'a worker that stops in order leaves nothing half done');
      t.diagnostic(`${executions} executions`);
    } finally {
      await fleet.close();
    }
  });

  test(`${kind}: workers that are killed under load strand nothing; effects repeat in fence order`, async (t) => {
    const fleet = await Fleet.open(placeIn, { ttlMs: TTL_MS });
    try {
      await Promise.all(OWNERS.map((owner) => fleet.start(owner)));
      for (const owner of OWNERS) {
        await fleet.submit(ROUND);
        await fleet.end(owner, 'SIGKILL');
        await fleet.start(owner);
      }
      const { executions, repeated } = await fleet.settle();
      t.diagnostic(`${executions} executions, ${repeated} effects repeated`);
    } finally {
      await fleet.close();
    }
  });
}
