// A job that must never run twice at once. A child of it writes its fence to a ledger without a
// guard, as often as it can; it writes to a guarded one itself.

import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { FileGuard } from '../../../src/guards/files.ts';
import { parseFence } from '../../../src/index.ts';

const [folder = ''] = process.argv.slice(2);
const { HOLDFAST_LEASE_KEY: key = '', HOLDFAST_LEASE_FENCE: fence = '' } = process.env;

// Its parent is the watchdog of `lease run`.
const about = { program: process.pid, watchdog: process.ppid };
writeFileSync(join(folder, `pids-${fence}`), JSON.stringify(about));
spawn('sh', ['-c', 'while echo "$HOLDFAST_LEASE_FENCE" >> plain; do sleep 0.01; done'], {
  cwd: folder,
  stdio: 'inherit',
});
const guard = new FileGuard(join(folder, 'guarded'));
const fenced = { key, fence: parseFence(fence) };
for (;;) {
  await pause(5);
  const { kind } = await guard.append(fenced, `${fence}\n`);
  if (kind !== 'written') appendFileSync(join(folder, 'refused'), `${fence}\n`);
}
