import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { isExcluded, isLongRun } from '../services/excluded.ts';
import { type OpenBackend, openBackend, type StoreName } from './backends.ts';
import { pastFailures } from './past-failures.ts';
import { runProgram } from './run-program.ts';
import { KINDS, searchFailure } from './search.ts';

/** How long each kind of program is looked for, in seconds. */
const SECONDS: Readonly<Record<StoreName, number>> = {
  ...{ memory: 2, sqlite: 8, postgres: 8, redis: 4, etcd: 5 },
};
/** Every write waits for three disks: what others repeat until a race shows is done once. */
const SLOW: readonly StoreName[] = ['etcd'];
const LONG_RUN_FACTOR = 25;

export function registerModel(store: StoreName): void {
  const skip = isExcluded(store) && `${store} was excluded by name`;
  describe(`the model explains ${store}`, { skip }, () => {
    let opened: Promise<OpenBackend> | undefined;
    const backend = async () => {
      opened ??= openBackend(store);
      return (await opened).backend;
    };
    after(async () => (await opened)?.release());

    for (const { why, program, times = 1 } of pastFailures()) {
      test(`once: ${why}`, async () => {
        const last = SLOW.includes(store) && !isLongRun() ? 1 : times;
        for (let time = 1; time <= last; time += 1) await runProgram(await backend(), program);
      });
    }

    for (const kind of KINDS) {
      test(`programs at random, ${kind}`, async (t) => {
        const seconds = SECONDS[store] * (isLongRun() ? LONG_RUN_FACTOR : 1);
        const seed = randomInt(2 ** 31);
        const found = await searchFailure(await backend(), { store, kind, seed, seconds });
        t.diagnostic(`${found.programs} programs from seed ${seed}`);
        assert.ok(found.failure === undefined, found.failure);
      });
    }
  });
}
