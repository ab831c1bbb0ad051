import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { oneAtATime } from '../../scripts/one-at-a-time.ts';

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-one-'));
  try {
    await work(folder);
    assert.deepEqual(await readdir(folder), [], 'nothing is left behind');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('callers of one name, also in one process, work one at a time', () =>
  inFolder(async (folder) => {
    let working = 0;
    const all = Array.from({ length: 4 }, (_, nth) =>
      oneAtATime(join(folder, 'it'), async () => {
        working += 1;
        assert.equal(working, 1);
        await new Promise((resolve) => setImmediate(resolve));
        working -= 1;
        return nth;
      }),
    );
    assert.deepEqual(await Promise.all(all), [0, 1, 2, 3]);
  }));

test('work that failed, or whose process is gone, blocks no other caller', () =>
  inFolder(async (folder) => {
    const name = join(folder, 'it');
    const failing = oneAtATime(name, () => Promise.reject(new Error('no')));
    await assert.rejects(failing, /no/);
    // No process has that number.
    await writeFile(`${name}.lock`, '2147483646');
    assert.equal(await oneAtATime(name, async () => 'done'), 'done');
  }));

test('work that takes hours renews its lock', (t) =>
  inFolder(async (folder) => {
    t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() });
    const name = join(folder, 'it');
    await oneAtATime(name, async () => {
      t.mock.timers.tick(2 * 3_600_000);
      const isRenewed = async () => (await stat(`${name}.lock`)).mtimeMs > Date.now() - 60_000;
      while (!(await isRenewed())) await new Promise(setImmediate);
    });
  }));
