import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { isFullRun, noteLeftOut, runSeed } from '../services/tier.ts';
import { type OpenBackend, openBackend, type StoreName } from './backends.ts';
import { pastFailures } from './past-failures.ts';
import { runProgram } from './run-program.ts';
import { KINDS, searchFailure } from './search.ts';

/** How many programs of each kind run in full, and how many in `npm test`. */
const PROGRAMS_IN_FULL: Readonly<Record<StoreName, number>> = {
  ...{ sqlite: 500, postgres: 200, redis: 300, etcd: 30 },
};
const PROGRAMS: Readonly<Record<StoreName, number>> = {
  ...{ sqlite: 15, postgres: 8, redis: 10, etcd: 2 },
};
/** Every write waits for three members, so a race runs once here. */
const SLOW: readonly StoreName[] = ['etcd'];

export function registerModel(store: StoreName): void {
  describe(`the model explains ${store}`, () => {
    let opened: Promise<OpenBackend> | undefined;
    const backend = async () => {
      opened ??= openBackend(store);
      return (await opened).backend;
    };
    after(async () => (await opened)?.release());

    for (const { why, program, times = 1 } of pastFailures()) {
      test(`once: ${why}`, async () => {
        const last = SLOW.includes(store) && !isFullRun() ? 1 : times;
        for (let time = 1; time <= last; time += 1) await runProgram(await backend(), program);
      });
    }

    for (const kind of KINDS) {
      test(`random programs, ${kind}`, async () => {
        const inFull = PROGRAMS_IN_FULL[store];
        const programs = isFullRun() ? inFull : PROGRAMS[store];
        const family = `random programs, ${store}, ${kind}`;
        if (programs < inFull) noteLeftOut(family, inFull - programs, inFull);
        const seed = runSeed() % 2 ** 31;
        const found = await searchFailure(await backend(), { store, kind, seed, programs });
        assert.ok(found.failure === undefined, found.failure);
      });
    }
  });
}
