// The files that `holdfast init` writes, run with these sources.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectFiles } from '../../src/cli/init.ts';
import { TEMPLATES, type TemplateName } from '../../src/cli/init-templates.ts';
import { declarationPaths } from '../services/declarations.ts';
import { runCommand } from '../services/run-command.ts';
import { sample } from '../services/tier.ts';
import { holdfast, inFolder, inherited, Spawned, startHoldfast } from './spawned.ts';

const PROJECT = { name: 'shop', holdfast: '*', versions: {} };
const FILES = await projectFiles({ ...PROJECT, template: 'coordinator' });
const ROOT = join(import.meta.dirname, '../..');
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

const templates = sample('templates', Object.keys(TEMPLATES) as readonly TemplateName[], 1);
for (const template of templates) {
  test(`the project of template ${template} type-checks, and its test passes`, async () => {
    // Below the checkout, so that packages resolve as in a project that installed them.
    const folder = await mkdtemp(join(ROOT, '.cache/init-'));
    try {
      const files = await projectFiles({ ...PROJECT, template });
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      const { compilerOptions, ...types } = JSON.parse(files['tsconfig.json'] ?? '');
      const paths = await declarationPaths();
      const options = { ...compilerOptions, skipLibCheck: true, paths };
      await writeFile(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ ...types, compilerOptions: options }),
      );
      await runCommand(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);
      const { scripts } = JSON.parse(files['package.json'] ?? '') as {
        readonly scripts: { readonly test: string };
      };
      const [, ...words] = scripts.test.split(' ');
      const hook = join(ROOT, 'scripts/package-sources.ts');
      const tested = await runCommand(
        process.execPath,
        ['--import', hook, '--test-reporter=tap', ...words],
        { cwd: folder, env: inherited() },
      );
      assert.match(tested, /# fail 0/);
      assert.match(tested, /# pass [12]\n/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

test('the service of template embedded takes an order, and stops by SIGTERM', async () => {
  const { 'main.ts': main = '', 'order.ts': order = '' } = await projectFiles({
    ...PROJECT,
    template: 'embedded',
  });
  await inFolder(async (folder, own) => {
    await writeFile(join(folder, 'main.ts'), main);
    await writeFile(join(folder, 'order.ts'), order);
    const hook = join(ROOT, 'scripts/package-sources.ts');
    const env = { ...inherited(), PORT: '0' };
    const words = ['--import', hook, 'main.ts'];
    const service = own(new Spawned(spawn(process.execPath, words, { cwd: folder, env })));
    const port = await service.prints(/port: (\d+)/);
    const url = `http://127.0.0.1:${port}/orders`;
    const body = '{"item":"tent","guest":"ann"}';
    const headers = { 'idempotency-key': 'order/1' };
    const ids = await Promise.all(
      [1, 2].map(async () => (await fetch(url, { method: 'POST', headers, body })).json()),
    );
    assert.deepEqual(ids[0], ids[1]);
    const { id } = ids[0] as { readonly id: string };
    assert.equal((await fetch(`${url}/${id}`)).status, 200);
    assert.equal((await service.stop()).code, 0);
  });
});

test('an unknown template is refused with the names of all', async () => {
  await inFolder(async (folder) => {
    const ran = await holdfast(['init', join(folder, 'shop'), '--template', 'lambda']);
    assert.equal(ran.code, 2);
    assert.match(ran.problems, /no template "lambda"\. Nothing was written\. .*embedded/);
  });
});
