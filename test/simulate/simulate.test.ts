import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { simulate } from '../../contract/index.ts';
import { simulateWatched } from '../../contract/simulator/simulate.ts';
import { digestOf } from '../../src/support/digest.ts';
import { isFullRun, noteLeftOut, runSeed } from '../services/tier.ts';
import { readProjectFile } from '../tidy/project-files.ts';
import { keptPlans } from './kept-plans.ts';
import { watchLeaseModel } from './lease-model.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { runSeeds } from './run-seeds.ts';

const SEEDS = 200;
const SEEDS_IN_FULL = 2_000;

describe('the simulator', () => {
  test('the same seed gives the same run, in this process and in another', async () => {
    const digests: string[] = [];
    for (let time = 1; time <= 2; time += 1) {
      const { trace } = await simulate({ seed: 4 });
      digests.push(digestOf(Buffer.from(trace.join('\n'))));
    }
    const program = join(import.meta.dirname, 'print-trace.ts');
    digests.push(execFileSync(process.execPath, [program, '4'], { encoding: 'utf8' }).trim());
    assert.equal(new Set(digests).size, 1, digests.join(' '));
  });

  for (const { why, plan } of keptPlans()) {
    test(`kept: ${why}`, async () => {
      const { violations } = await simulateWatched({ seed: plan.seed, plan }, watchLeaseModel);
      assert.deepEqual(violations, []);
    });
  }

  test('every planted bug still has its place in the sources', () => {
    const stale = PLANTED_BUGS.filter(({ file, before, line }) => {
      const source = readProjectFile(file);
      return line === undefined
        ? source.split(before).length !== 2
        : source.split('\n')[line - 1] !== before;
    });
    assert.deepEqual(
      stale.map(({ id }) => id),
      [],
    );
  });

  test('random seeds break no promise and no rule', async () => {
    const count = isFullRun() ? SEEDS_IN_FULL : SEEDS;
    if (count < SEEDS_IN_FULL) noteLeftOut('simulated seeds', SEEDS_IN_FULL - count, SEEDS_IN_FULL);
    const failed: string[] = [];
    await runSeeds({
      ...{ first: runSeed() % 2 ** 30, count },
      onReport({ seed, operations, faults, violations }) {
        const [first] = violations;
        if (first !== undefined)
          failed.push(`npm run simulate -- --seeds 1 --seed ${seed}: ${first.rule}: ${first.text}`);
        if (operations < 200 || faults < 3)
          failed.push(`seed ${seed} has ${operations} operations and ${faults} faults`);
        return failed.length > 3;
      },
    });
    assert.deepEqual(failed, []);
  });
});
