import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { parseLeaseKey } from '../../src/index.ts';
import { outOfOrder } from '../processes/oracle/record.ts';
import type { Backend } from '../processes/stage/backend.ts';
import { Stage } from '../processes/stage/stage.ts';
import { isFullRun } from '../services/tier.ts';
import type { CancellerApi } from './children/canceller.ts';

// Long enough for heartbeats on a machine that runs other tests too.
const TTL_MS = 2_500;
const STEPS = 5;
const KEY = 'subscription/9';

export function registerWithLease(backend: Backend): void {
  describe(`withLease on ${backend.name}`, () => {
    after(() => backend.end());
    const steps = isFullRun() ? [1, 2, 3, 4, 5] : [3];
    for (const step of steps) {
      for (const moment of ['before-effect', 'after-effect'] as const) {
        const when = `${moment === 'before-effect' ? 'before' : 'after'} the effect of step ${step}`;
        test(`A-2, K-6: killed ${when}, the next process gets exit, checkpoint and open intent, and does each step once`, () =>
          killAndResume(backend, { step, moment }));
      }
    }
  });
}

async function killAndResume(
  backend: Backend,
  haltAt: { readonly step: number; readonly moment: 'before-effect' | 'after-effect' },
): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('checked');
  const { address: store } = stage;
  const order = { store, ttlMs: TTL_MS, key: KEY, oraclePort: oracle.port, steps: STEPS };
  const first = stage.start<CancellerApi>('../recipes/children/canceller.ts');
  const halted = first.next('halted');
  void first.call('cancel', { ...order, owner: 'first', happened: [], haltAt });
  await halted;
  await first.kill();

  // The oracle has no file before its first write.
  const isUntouched = haltAt.step === 1 && haltAt.moment === 'before-effect';
  const happened = isUntouched ? [] : (await oracle.records()).map(({ effect }) => effect);
  const second = stage.start<CancellerApi>('../recipes/children/canceller.ts');
  const done = await second.call('cancel', { ...order, owner: 'second', happened });
  const doneBefore = haltAt.moment === 'after-effect' ? haltAt.step : haltAt.step - 1;
  assert.deepEqual(done, {
    outcome: 'done',
    exit: 'expired',
    restored: haltAt.step === 1 ? '' : String(haltAt.step - 1),
    intents: [`step-${haltAt.step}`],
    did: stepsFrom(doneBefore + 1),
  });
  const records = await oracle.records();
  assert.deepEqual(
    records.map(({ effect }) => effect),
    stepsFrom(1),
    'every step was done once, in order',
  );
  assert.deepEqual(outOfOrder(records), []);
  const { record } = await stage.store.leases.inspect(parseLeaseKey(KEY));
  assert.equal(record?.end?.exit, 'finished');
  assert.deepEqual(record.intents, []);
}

function stepsFrom(first: number): readonly string[] {
  return Array.from({ length: STEPS - first + 1 }, (_, index) => `step-${first + index}`);
}
