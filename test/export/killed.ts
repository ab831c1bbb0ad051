// Kills exports and imports at several points: a partial result is never used, and both can be
// repeated.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { allExecutions } from '../../contract/execution/check.ts';
import { mustSubmit, worker } from '../../contract/execution/worker.ts';
import { openStore } from '../../src/embedded/open-store.ts';
import { openAddressed, type StorePlace } from '../load/place.ts';
import type { ExportAndDie } from './children/export-and-die.ts';
import { allRows, expectEqual, exported, imported } from './exported.ts';
import { placed } from './under-load.ts';

const CHILD = join(import.meta.dirname, 'children/export-and-die.ts');

async function dies(args: ExportAndDie): Promise<void> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(args)], { stdio: 'inherit' });
  const [, signal] = await once(child, 'exit');
  assert.equal(signal, 'SIGKILL', `it was to die at ${args.at}`);
}

/**
 * First the wait at the end, if there is one; then the seal and the rows. 24 tables report at least
 * once each.
 */
const EXPORT_POINTS = [26, 1, 2, 9, 25] as const;
const IMPORT_POINTS = [1, 7, 24] as const;

/** EX-5, EX-8. */
export async function survivesKills(
  folder: string,
  { from, to }: { readonly from: StorePlace; readonly to: StorePlace },
): Promise<void> {
  const store = await openAddressed(from);
  for (let n = 0; n < 50; n += 1) await mustSubmit(store);
  await worker(store, 'ann', { ttlMs: 5_000, graceMs: 0 });
  const file = join(folder, 'all.ndjson');
  for (const at of EXPORT_POINTS) {
    await dies({ what: 'export', place: placed(from), file, at });
    await assert.rejects(() => access(file), 'a file has its name only when it is whole');
    await assert.rejects(() => imported(placed(to), `${file}.part`));
    await assert.rejects(() => mustSubmit(store), /sealed/);
  }
  await store.close();
  assert.equal((await exported(placed(from), file)).kind, 'exported-again');
  for (const at of IMPORT_POINTS) {
    await dies({ what: 'import', place: placed(to), file, at });
    const opened = await openStore(placed(to).store, placed(to).postgres);
    assert.deepEqual(await allExecutions(opened), []);
    await opened.close();
  }
  await imported(placed(to), file);
  await exported(placed(to), join(folder, 'again.ndjson'));
  expectEqual(await allRows(placed(to)), await allRows(placed(from)));
}
