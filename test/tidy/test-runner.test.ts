// The test runner, over files that try to pass without a test.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Report } from '../../scripts/test/report.ts';

const SCRIPTS = join(import.meta.dirname, '../../scripts/test');
const IMPORT = "import { before, describe, test } from 'node:test';\n";

/** Texts of test files that the runner must reject, loaded into one process as sampled runs do. */
const GROUPED: Readonly<Record<string, string>> = {
  'throws-at-load': "throw new Error('at load');",
  'waits-at-load': "await null; test('waited', () => {});",
  'is-no-code': 'const = ;',
  'has-no-test': '',
  'throws-in-suite': "describe('broken suite', () => { throw new Error('in the suite'); });",
  'skips-a-suite': "describe.skip('skipped', () => { test('x', () => {}); }); test('y', () => {});",
  hooks: "before(() => { throw new Error('in a hook'); }); test('hooked', () => {});",
  // A hook of another file must not reach it.
  passes: "test('passes', () => {});",
};

/** Each in its own process. */
const ALONE: Readonly<Record<string, string>> = {
  leaves: "test('seen', () => {}); test('leaves', () => process.exit(0)); test('z', () => {});",
  empty: '',
  late: "test('ends', () => { setTimeout(() => Promise.reject(new Error('too late'))); });",
};

test('a test that is missing, skipped or broken fails the run, alone and in a group', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'hf-runner-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of Object.entries({ ...GROUPED, ...ALONE })) {
    await writeFile(join(folder, `${name}.test.ts`), IMPORT + text);
  }
  const paths = (names: object) =>
    Object.keys(names).map((name) => join(folder, `${name}.test.ts`));
  const { passed, failures } = await reportOf(folder, paths(GROUPED), paths(ALONE));
  const found = failures.map(({ file, name, why }) => `${file} ${name} ${why}`);
  for (const [index, line] of FAILURES.entries()) assert.match(found[index] ?? '', line);
  assert.equal(found.length, FAILURES.length, found.join('\n'));
  // `leaves` may have reported the test before the one that leaves.
  const known = ['y', 'passes', 'ends'].length;
  assert.ok(passed === known || passed === known + 1, `${passed} passed`);
});

const FAILURES: readonly RegExp[] = [
  /throws-at-load.* Error: at load/,
  /waits-at-load.*ERR_REQUIRE_ASYNC_MODULE/,
  /is-no-code.*ERR_INVALID_TYPESCRIPT_SYNTAX/s,
  /has-no-test.* The suite contains no test/,
  /broken suite Error: in the suite/,
  /skipped The test was skipped/,
  /hooked .*cancelled/,
  /hooks\.test\.ts Error: in a hook/,
  /late\.test\.ts .*too late/,
  /leaves\.test\.ts .*exited before its tests ended/,
  /empty\.test\.ts .*contains no test/,
];

/** Counts the runs of the file that loads it. */
const NTH = `import { appendFileSync, readFileSync } from 'node:fs';
  appendFileSync(import.meta.filename + '.runs', 'x');
  const nth = readFileSync(import.meta.filename + '.runs').length;`;

test('a failure beside other files that does not repeat is reported, and fails no run', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'hf-runner-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const texts = {
    once: `${NTH} test('fails once', () => { if (nth === 1) throw new Error('no CPU'); });`,
    always: "test('fails always', () => { throw new Error('broken'); });",
    passes: "test('passes', () => {}); test('passes too', () => {});",
  };
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(folder, `${name}.test.ts`), IMPORT + text);
  }
  const files = Object.keys(texts).map((name) => join(folder, `${name}.test.ts`));
  const report = await run(
    folder,
    `import { runSteadily } from ${JSON.stringify(join(SCRIPTS, 'run-files.ts'))};
    const report = await runSteadily(${JSON.stringify(files)}, {});`,
  );
  assert.deepEqual(
    [report.unsteady, report.failures].map((each) => each.map(({ name }) => name)),
    [['fails once'], ['fails always']],
  );
  assert.match(report.unsteady[0]?.why ?? '', /no CPU/);
  assert.equal(report.passed, 3);
});

function reportOf(folder: string, group: readonly string[], alone: readonly string[]) {
  return run(
    folder,
    `import { runFiles } from ${JSON.stringify(join(SCRIPTS, 'run-files.ts'))};
    import { writeGroup } from ${JSON.stringify(join(SCRIPTS, 'groups.ts'))};
    const group = ${JSON.stringify(join(folder, 'group.test.ts'))};
    writeGroup(group, ${JSON.stringify(group)});
    const report = await runFiles([group, ...${JSON.stringify(alone)}], {});`,
  );
}

async function run(folder: string, script: string): Promise<Report> {
  const main = join(folder, 'main.ts');
  await writeFile(main, `${script}\nconsole.log(JSON.stringify(report));`);
  const { stdout } = await promisify(execFile)(process.execPath, [main]);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report;
}
