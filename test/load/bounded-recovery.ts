// P4: another worker claims all executions of a killed worker within ttl + 2 s.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { Fleet } from './fleet.ts';
import type { PlaceIn } from './place.ts';

const TTL_MS = 1_500;
const BOUND_MS = recoveryBoundMs(TTL_MS);
const EXECUTIONS = 15;

export function registerBoundedRecovery(kind: string, placeIn: PlaceIn): void {
  test(`${kind}: P4: executions of a killed worker are owned again within ttl + 2 s`, async (t) => {
    const fleet = await Fleet.open(placeIn, { ttlMs: TTL_MS });
    try {
      // Its first step lasts far longer than the test, unless another worker runs it.
      await fleet.start('victim', { stepMs: 60_000 });
      const ids = await fleet.submitWithoutWaiting(EXECUTIONS);
      await fleet.untilAll(ids, ({ status }) => status === 'running');
      await fleet.start('successor');
      const killedAt = Date.now();
      await fleet.end('victim', 'SIGKILL');
      await fleet.untilAll(ids, ({ status }) => status === 'completed');
      let longestMs = 0;
      for (const id of ids) {
        const claims = (await fleet.holdfast.history(id)).filter(
          (event) => event.kind === 'claimed',
        );
        assert.equal(claims.length, 2);
        longestMs = Math.max(longestMs, (claims[1]?.at ?? 0) - killedAt);
      }
      t.diagnostic(`the last was claimed after ${longestMs} ms; the bound is ${BOUND_MS} ms`);
      assert.ok(longestMs <= BOUND_MS, `P4: ${longestMs} ms, at most ${BOUND_MS} ms`);
    } finally {
      await fleet.close();
    }
  });
}
