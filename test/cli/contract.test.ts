// holdfast contract, as a process: it builds a contract from a module, keeps it, and compares it
// with later code.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const INDEX = join(import.meta.dirname, '../../src/index.ts');

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly problems: string;
}

let folder = '';

function holdfast(...words: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const args = [MAIN, 'contract', ...words];
    execFile(process.execPath, args, { cwd: folder }, (failure, out, problems) => {
      resolve({ code: failure === null ? 0 : Number(failure.code), out, problems });
    });
  });
}

function save(name: string, input: object): Promise<void> {
  return writeFile(
    join(folder, name),
    `import { pipeline, question } from ${JSON.stringify(INDEX)};
     const input = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }),
       jsonSchema: { input: () => (${JSON.stringify(input)}) } } };
     export const order = pipeline({ name: 'order', input, awaits: [question({ name: 'approve' })], run: () => 1 });`,
  );
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-contract-'));
  await save('v1.ts', { type: 'object', properties: { id: { type: 'string' } } });
  await save('v2.ts', { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] });
});

after(() => rm(folder, { recursive: true, force: true }));

test('contract build writes a contract, check finds a difference, and diff prints it', async () => {
  const built = await holdfast('build', 'v1.ts', '--json');
  assert.equal(built.code, 0, built.problems);
  const { version } = JSON.parse(built.out) as { version: string };
  const kept = JSON.parse(await readFile(join(folder, 'holdfast.contract.json'), 'utf8'));
  assert.equal(kept.contracts[0].version, version);
  assert.equal((await holdfast('check', 'v1.ts')).code, 0);
  const drifted = await holdfast('check', 'v2.ts');
  assert.equal(drifted.code, 1);
  assert.match(drifted.out, /BREAKS +order +input\.id +must be there[\s\S]*contract build v2\.ts/);
  await holdfast('build', 'v2.ts', '--file', 'v2.json');
  const forth = await holdfast('diff', 'holdfast.contract.json', 'v2.json', '--json');
  assert.equal(forth.code, 1);
  assert.equal(JSON.parse(forth.out).breaking, true);
  const back = await holdfast('diff', 'v2.json', 'holdfast.contract.json');
  assert.equal(back.code, 0);
  assert.match(back.out, /ok +order +input\.id +need not be there/);
});

test('contract check explains a new required field', async () => {
  const id = { type: 'string' };
  await save('v3.ts', { type: 'object', properties: { id, colour: id }, required: ['colour'] });
  await holdfast('build', 'v1.ts');
  const { out } = await holdfast('check', 'v3.ts');
  assert.match(out, /BREAKS +order +input\.colour +could have any value.*must now be string/);
  assert.match(out, /BREAKS +order +input\.colour +must be there/);
});

test('contract commands with wrong arguments print a fix', async () => {
  await writeFile(join(folder, 'none.ts'), 'export const nothing = 1;');
  await writeFile(join(folder, 'broken.ts'), "import './elsewhere.ts';");
  await writeFile(join(folder, 'bad.json'), '{"contracts":[{}]}');
  const cases: readonly (readonly [words: readonly string[], expected: RegExp])[] = [
    [[], /build, check or diff is required/],
    [['bild', 'v1.ts'], /Did you mean "build"/],
    [['build'], /<module> is required/],
    [['build', 'none.ts'], /exports no pipeline/],
    [
      ['build', 'missing.ts'],
      /^missing\.ts does not exist\. .*Pass the file that exports your pipelines/,
    ],
    [['build', 'broken.ts'], /^broken\.ts cannot be loaded: .*elsewhere\.ts/],
    [['check', 'v1.ts', '--file', 'missing.json'], /cannot be read \(ENOENT\)/],
    [['diff', 'bad.json', 'bad.json'], /not a contract: it lacks format/],
  ];
  for (const [words, expected] of cases) {
    const { code, problems } = await holdfast(...words);
    assert.equal(code, 2, words.join(' '));
    assert.match(problems, expected);
  }
  await holdfast('build', 'v1.ts', '--file', 'edited.json');
  const text = await readFile(join(folder, 'edited.json'), 'utf8');
  await writeFile(join(folder, 'edited.json'), text.replace('"attempts": 5', '"attempts": 6'));
  assert.match(
    (await holdfast('check', 'v1.ts', '--file', 'edited.json')).problems,
    /the file was edited/,
  );
});
