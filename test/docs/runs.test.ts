// Examples of the documentation print what their page shows. An example is a `ts` block with a `text` block in the same
// section, which has its output.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { sample } from '../services/tier.ts';

const ROOT = join(import.meta.dirname, '../..');
const IN_ONE_RUN = 6;

const IN_GUIDES: readonly string[] = [
  ...['answer-links', 'approvals', 'audit', 'encryption', 'execution-metrics', 'fan-out', 'limits'],
  ...[
    'leases-over-http',
    'long-executions',
    'long-steps',
    'observing',
    'pipelines',
    'remote-steps',
    'repair',
    'retention',
    'sagas',
  ],
  ...['schedules', 'steps', 'submit', 'templates', 'transactions', 'values', 'waiting'],
  ...['guard-files', 'guard-sqlite', 'hierarchy', 'registry', 'with-lease'],
];

const PAGES: readonly string[] = [
  ...IN_GUIDES.map((page) => `guides/${page}`),
  'start/choose',
  ...['leases-and-fences', 'replay-and-drift', 'what-can-run-twice'].map(
    (page) => `concepts/${page}`,
  ),
  ...['coming-from-bullmq', 'coming-from-temporal'].map((page) => `compare/${page}`),
];

interface Example {
  readonly name: string;
  readonly code: string;
  readonly output: string;
}

const SECTION = /^```ts\n(.*?)^```$((?:(?!^```ts|^## ).)*)/gms;
const OUTPUT = /^```text\n(.*?)^```$/ms;

function examplesOn(page: string): readonly Example[] {
  const text = readFileSync(join(ROOT, `docs/${page}.md`), 'utf8');
  return [...text.matchAll(SECTION)].flatMap(([, code = '', rest = ''], nth) => {
    const output = OUTPUT.exec(rest)?.[1];
    return output === undefined ? [] : [{ name: `${page}.md, block ${nth + 1}`, code, output }];
  });
}

/** In an empty folder, with the keys that some pages tell the reader to make. */
async function outputOf(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-docs-'));
  const key = randomBytes(32).toString('base64');
  try {
    await writeFile(join(folder, 'example.ts'), code);
    const hook = join(import.meta.dirname, '../../scripts/package-sources.ts');
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', hook, 'example.ts'],
      {
        cwd: folder,
        env: { ...env, KEY_2026_11: key, KEY_2026_05: key, LINK_KEY: key },
        timeout: 60_000,
      },
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const examples = PAGES.flatMap(examplesOn);

test('every page of the list has an example with its output', () => {
  const names = new Set(examples.map(({ name }) => name.replace(/\.md.*/, '')));
  assert.deepEqual(
    PAGES.filter((page) => !names.has(page)),
    [],
  );
});

for (const { name, code, output } of sample('examples of the guide', examples, IN_ONE_RUN)) {
  test(`${name} prints what the page shows`, async () => {
    assert.equal((await outputOf(code)).trimEnd(), output.trimEnd());
  });
}
