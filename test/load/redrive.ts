// Y-23: a bulk job continues in another process after its process is killed twice, in the middle of
// a page. Every item has one outcome and one new execution.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { checkRedriven, LETTERS, makeLetters } from './letters.ts';
import { openAddressed, type PlaceIn } from './place.ts';
import type { RedriveWorkerArgs } from './redrive-worker.ts';

const COUNT = 2_000;
const TTL_MS = 500;

/** In the middle of a page each time: just before the write, and after it but before the answer. */
const DEATHS: readonly Required<RedriveWorkerArgs>['dieAt'][] = [
  { phase: 'after', item: 250 },
  { phase: 'before', item: 450 },
];

export function registerKilledRedrive(kind: string, placeIn: PlaceIn): void {
  test(`${kind}: Y-23: a bulk re-drive that is killed twice makes one execution of each letter`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hf-redrive-'));
    const place = await placeIn(folder);
    const store = await openAddressed(place);
    const holdfast = new Holdfast({ store });
    try {
      await makeLetters(holdfast, COUNT);
      const job = await holdfast.bulk.redrive({ filter: { pipeline: LETTERS }, actor: 'test' });
      for (const dieAt of DEATHS) {
        const args = { store: place, job: job.id, ttlMs: TTL_MS, dieAt };
        assert.equal(await runWorker(args), 'SIGKILL');
        const done = await holdfast.bulk.items(job.id, { limit: COUNT });
        assert.ok(done.length > 0 && done.length < COUNT, `killed after ${done.length}`);
        const { progress } = (await holdfast.read(job.id)) ?? {};
        const { seen } = (await holdfast.decode(progress ?? '')) as { readonly seen: number };
        if (dieAt.phase === 'after') assert.ok(done.length > seen, 'more is done than it knows of');
      }
      assert.equal(await runWorker({ store: place, job: job.id, ttlMs: TTL_MS }), 0);
      await checkRedriven(holdfast, job.id, COUNT);
    } finally {
      await holdfast.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** How the process ended: its signal or its code. */
async function runWorker(args: RedriveWorkerArgs): Promise<string | number> {
  const file = join(import.meta.dirname, 'redrive-worker.ts');
  const child = spawn(process.execPath, [file, JSON.stringify(args)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return signal ?? code ?? 'no code';
}
