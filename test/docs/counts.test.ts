// Limits and defaults in the pages on executions are those of the code. figures.test.ts checks times and sizes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { resolveWorkerOptions } from '../../src/engine/worker/worker-options.ts';
import { DEFAULT_RETRY } from '../../src/execution/failure.ts';
import { pipeline } from '../../src/index.ts';
import { TTL_MS_DEFAULT } from '../../src/lease/session-options.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The text of a page, and where its number is defined: a file of `src` and a name in it. */
const COUNTS: readonly (readonly [page: string, text: string, file: string, name: string])[] = [
  ['guides/audit', '10,000 lines', 'features/audit/model.ts', 'REFUSED_WRITES_MAX'],
  ['guides/fan-out', '(16 by default)', 'engine/run/run-context.ts', 'concurrency'],
  ['guides/fan-out', 'up to 1,000 children', 'engine/run/calls/spawn.ts', 'CHUNK'],
  ['guides/observing', '4,096 characters', 'engine/run/log.ts', 'MESSAGE_MAX'],
  ['guides/observing', '8,192 of its data', 'engine/run/log.ts', 'DATA_MAX'],
  ['guides/observing', '1,000 lines', 'engine/run/log.ts', 'LINES_MAX'],
  ['guides/schedules', 'at least 100', 'features/schedules/plan-api.ts', 'EVERY_MS_MIN'],
  ['guides/schedules', 'the last 1,000', 'features/schedules/duty.ts', 'CATCH_UP_MAX'],
  ['guides/submit', 'at most 64 each', 'engine/submission.ts', 'TAGS_MAX'],
  ['guides/values', '200 levels', 'support/value.ts', 'DEPTH_MAX'],
  ['guides/values', '1,000 digits', 'support/value.ts', 'DIGITS_MAX'],
  ['guides/waiting', '(100 by default)', 'engine/config.ts', 'parkAfterMs'],
  ['operate/metrics', 'first 50 pipelines', 'server/metrics.ts', 'PIPELINES_MAX'],
  ['operate/metrics', 'the first 1,000 of all', 'server/metrics.ts', 'ALL_PIPELINES_MAX'],
  ['operate/metrics', 'run now, up to 10000', 'server/metrics.ts', 'DEPTH_MAX'],
];

function pageText(page: string): string {
  return readFileSync(join(ROOT, `docs/${page}.md`), 'utf8');
}

function definedIn(file: string, name: string): number {
  const text = readFileSync(join(ROOT, 'src', file), 'utf8');
  const [, found] = new RegExp(`\\b${name}\\s*(?:=|:)\\s*(\\d[\\d_]*)`).exec(text) ?? [];
  assert.ok(found !== undefined, `${file} defines no number ${name}`);
  return Number(found.replaceAll('_', ''));
}

/** The second column of the row whose first column has this name. */
function defaultIn(page: string, option: string): number {
  const [, cell] = new RegExp(`^\\| \`${option}\` \\| ([\\d.]+) `, 'm').exec(pageText(page)) ?? [];
  assert.ok(cell !== undefined, `${page}.md has no default of ${option}`);
  return Number(cell);
}

for (const [page, text, file, name] of COUNTS) {
  test(`${page}.md: ${text}`, () => {
    assert.ok(
      pageText(page).replaceAll(/\s+/g, ' ').includes(text),
      `${page}.md does not have the text "${text}"`,
    );
    const number = Number(/\d[\d,]*/.exec(text)?.[0].replaceAll(',', ''));
    assert.equal(number, definedIn(file, name));
  });
}

test('the table of retries has the defaults of the code', () => {
  for (const [option, value] of Object.entries(DEFAULT_RETRY)) {
    assert.equal(defaultIn('guides/steps', option), value, option);
  }
});

test('the table of worker options has the defaults of the code', () => {
  const { concurrency, pollMs, stopGraceMs, reconcileMs } = resolveWorkerOptions({
    pipelines: [pipeline({ name: 'idle', run: () => undefined })],
  });
  const defaults = { concurrency, pollMs, stopGraceMs, reconcileMs, ttlMs: TTL_MS_DEFAULT };
  for (const [option, value] of Object.entries(defaults)) {
    assert.equal(defaultIn('guides/workers', option), value, option);
  }
});
