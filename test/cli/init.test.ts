// The files that `holdfast init` writes, run with these sources.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectFiles } from '../../src/cli/init.ts';
import { inFolder, inherited, Spawned, startHoldfast } from './spawned.ts';

const FILES = projectFiles({ name: 'shop', holdfast: '*', versions: {} });
const SOURCES = new URL('../../src/', import.meta.url);

test('the .gitignore covers the store that `holdfast serve` creates by default', () => {
  assert.match(FILES['.gitignore'] ?? '', /^holdfast\.db\*$/m);
});

test('the worker prints why its key is refused, without a stack, and exits with 1', async () => {
  await inFolder(async (folder, own) => {
    const serve = own(startHoldfast(['serve', '--port', '0'], { cwd: folder }));
    for (const file of ['order.ts', 'worker.ts']) {
      const text = (FILES[file] ?? '')
        .replace("'holdfast'", `'${new URL('index.ts', SOURCES).href}'`)
        .replace("'holdfast/worker'", `'${new URL('worker/open-worker.ts', SOURCES).href}'`);
      await writeFile(join(folder, file), text);
    }
    const env = { ...inherited(), HOLDFAST_URL: await serve.url(), HOLDFAST_KEY: 'wrong' };
    const worker = own(new Spawned(spawn(process.execPath, ['worker.ts'], { cwd: folder, env })));
    const { code, problems } = await worker.ended();
    assert.equal(code, 1);
    assert.match(problems, /key/);
    assert.doesNotMatch(problems, /^ +at /m);
  });
});
