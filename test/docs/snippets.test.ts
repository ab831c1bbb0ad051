// Compiles every TypeScript block of the README and the guide, and every `@example` of public
// JSDoc, with the declarations of the sources, under the names that a user imports. A Markdown block is a whole
// module, so that a reader can paste it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { declarationPaths } from '../services/declarations.ts';
import { isFullRun } from '../services/tier.ts';
import { publicApi } from '../tidy/public-api.ts';
import { examplesOf } from './examples.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Snippet {
  readonly from: string;
  readonly line: number;
  readonly code: string;
}

test('every TypeScript block of README and guide, and every @example of public JSDoc, compiles', async () => {
  const blocks = (await Promise.all((await pages()).map(snippetsOf))).flat();
  assert.ok(blocks.length > 0, 'no snippet was found: has the README lost its example?');
  const examples = examplesOf(publicApi());
  assert.ok(examples.length > 100, `only ${examples.length} examples were found`);
  const snippets = examples.map(({ name, code }, index) => ({ from: name, line: index, code }));
  // One program for both: what they import takes most of the time.
  assert.equal(await compile([...blocks, ...snippets]), '');
});

if (isFullRun())
  test('a block that does not compile is found and named', async () => {
    const bad = { from: 'made-up.md', line: 12, code: "import { openSesion } from 'holdfast';" };
    const report = await compile([bad]);
    assert.match(report, /made-up\.md-12/);
    assert.match(report, /openSesion/);
  });

async function pages(): Promise<readonly string[]> {
  const docs = await readdir(join(ROOT, 'docs'), { recursive: true });
  const guidePages = docs.filter((name) =>
    /^(?:start|guides?|concepts|operate|compare)\/.*\.md$/.test(name),
  );
  return ['README.md', ...guidePages.map((name) => join('docs', name))];
}

async function snippetsOf(page: string): Promise<readonly Snippet[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => ({
    from: page.replaceAll(/[\\/]/g, '-'),
    line: text.slice(0, match.index).split('\n').length,
    code: match[1] ?? '',
  }));
}

/** The errors of the compiler; empty if there are none. */
async function compile(snippets: readonly Snippet[]): Promise<string> {
  // Inside the project, so that packages resolve as they do for the sources.
  const cache = join(ROOT, '.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'snippets-'));
  try {
    for (const { from, line, code } of snippets) {
      await writeFile(join(folder, `${from}-${line}.ts`), `${code}\nexport {};\n`);
    }
    const paths = await declarationPaths();
    const config = { ...CONFIG, compilerOptions: { ...CONFIG.compilerOptions, paths } };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    return await promisify(execFile)(process.execPath, [
      compiler,
      '-p',
      folder,
      '--singleThreaded',
    ]).then(
      () => '',
      (failure: { stdout?: string }) => failure.stdout ?? String(failure),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const CONFIG = {
  extends: join(ROOT, 'tsconfig.json'),
  compilerOptions: { noUnusedLocals: false, declaration: false },
  include: ['*.ts'],
};
