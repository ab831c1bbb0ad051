// The page for the first five minutes, on the sources. test/package plays it from the package.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inherited } from '../cli/spawned.ts';
import { playFiveMinutes } from './play-five-minutes.ts';

const HOOK = join(import.meta.dirname, '../../scripts/package-sources.ts');

test('the program continues after a kill, as the page shows', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-five-minutes-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const options = { cwd: folder, env: inherited() };
  await playFiveMinutes({
    ...{ folder, store: join(folder, 'orders.db') },
    start: () => spawn(process.execPath, ['--import', HOOK, 'order.ts'], options),
  });
});
