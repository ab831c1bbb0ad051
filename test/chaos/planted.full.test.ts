// Short runs in which a planted bug breaks a promise.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULTS } from './faults.ts';
import { runChaos } from './run.ts';

const PLANTED = [
  { plant: 'stale-effect', fault: 'worker frozen', found: /^P1: the fenced ledger accepted/ },
  { plant: 'doubled-start', fault: 'replies lost', found: /^P2: execution .* was started twice/ },
  {
    plant: 'lost-commit',
    fault: 'primary killed, standby promoted',
    found: /^P3: order .* was acknowledged and is lost/,
  },
  { plant: 'slow-takeover', fault: 'worker killed', found: /^P4: after "worker killed"/ },
] as const;

/** A fault may meet no execution at the right moment, above all on a busy machine. */
const ATTEMPTS = 4;

for (const { plant, fault, found } of PLANTED) {
  test(`the planted bug "${plant}" is found`, async () => {
    const faults = FAULTS.filter(({ name }) => name === fault);
    const all: string[] = [];
    for (let seed = 1; seed <= ATTEMPTS && !all.some((each) => found.test(each)); seed += 1) {
      all.push(...(await runChaos({ minutes: 0.4, seed, plant, faults })).problems);
    }
    assert.ok(
      all.some((problem) => found.test(problem)),
      all.join('\n'),
    );
  });
}
