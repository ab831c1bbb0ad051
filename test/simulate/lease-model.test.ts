import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreCall } from '../../contract/simulator/link.ts';
import type { SimulatedProcess } from '../../contract/simulator/process.ts';
import { DEFAULT_POLICY } from '../../src/lease/policy.ts';
import { watchLeaseModel } from './lease-model.ts';

const POLICY = { ...DEFAULT_POLICY, recoveryGraceMs: 0 };
const OPEN = { id: 'session', owner: 'owner', ttlMs: 3_000, graceMs: 500, metadata: {} };
const LIFE = { ttlMs: 3_000, graceMs: 500, notices: 0 };

test('C-2: a read before a step of the clock leaves the time of the next write as it is', () => {
  const found: string[] = [];
  const violate = (rule: string, text: string): number => found.push(`${rule}: ${text}`);
  const world = { policy: POLICY, isSteady: true, violate };
  const checker = watchLeaseModel(world);
  let order = 0;
  const see = (verb: string, at: number, about: Pick<StoreCall, 'request' | 'reply'>): void => {
    order += 1;
    checker.handled?.({ process: {} as SimulatedProcess, verb, at, order, ...about });
  };

  see('sessions.leases', 1_003, { request: 'session', reply: [] });
  world.isSteady = false;
  const opened = {
    kind: 'opened',
    replayed: false,
    ...LIFE,
    authorityMs: 2_500,
    remainingMs: 3_000,
  };
  see('sessions.open', 1_000, { request: OPEN, reply: opened });
  const again = { kind: 'opened', replayed: true, ...LIFE, authorityMs: 2_450, remainingMs: 2_950 };
  see('sessions.open', 1_050, { request: OPEN, reply: again });

  assert.deepEqual(found, []);
});
