// Examples of the documentation print what their page shows. An example is a `ts` block with a `text` block in the same
// section, which has its output.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sample } from '../services/tier.ts';
import { outputOf } from './run-example.ts';

const ROOT = join(import.meta.dirname, '../..');
const IN_ONE_RUN = 4;

const IN_GUIDES: readonly string[] = [
  ...[
    'answer-links',
    'approvals',
    'audit',
    'encryption',
    'erasure',
    'execution-metrics',
    'fan-out',
    'limits',
  ],
  ...[
    'lease-blocks',
    'leases-over-http',
    'long-executions',
    'circuits',
    'long-steps',
    'observing',
    'pipelines',
    'remote-steps',
    'repair',
    'retention',
    'rolling-deploys',
    'sagas',
  ],
  ...['cancel', 'schedules', 'steps', 'submit', 'templates', 'transactions', 'values'],
  ...['updates', 'waiting'],
  ...['guard-files', 'guard-sqlite', 'hierarchy', 'once', 'registry', 'semaphore', 'with-lease'],
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
