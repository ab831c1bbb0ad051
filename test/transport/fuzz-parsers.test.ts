// Texts that people and programs write by hand, spoilt at random: names, keys, addresses, cron,
// filters, fences, stored values, and exported files. A parser returns a value or throws a fault
// with a code. An error without one would reach a caller as a 500.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { mustSubmit } from '../../contract/execution/worker.ts';
import { openStore } from '../../src/embedded/open-store.ts';
import { parseEnvelope } from '../../src/engine/values/payloads.ts';
import {
  DEFAULT_PROJECT,
  parseExecutionRef,
  parsePipelineName,
  parseProject,
} from '../../src/execution/names.ts';
import { parseReleaseName } from '../../src/execution/route.ts';
import { readKey } from '../../src/features/access/model.ts';
import { parseContract } from '../../src/features/releases/contract-model.ts';
import { timesOf } from '../../src/features/schedules/plan-api.ts';
import { readFenced } from '../../src/guards/http-headers.ts';
import { parseFence } from '../../src/lease/fence.ts';
import { parseLeaseKey, parseOwner } from '../../src/lease/names.ts';
import { filterFrom } from '../../src/protocol/rest/handling.ts';
import { ProblemReply } from '../../src/protocol/rest/route.ts';
import { Fault } from '../../src/support/fault.ts';
import { inFolder } from '../cli/spawned.ts';
import { exported, imported } from '../export/exported.ts';
import { isFullRun, noteLeftOut, runSeed } from '../services/tier.ts';
import { kept, lineOf, spoilt } from './spoilt.ts';

const RUNS_IN_FULL = 20_000;
const RUNS = isFullRun() ? RUNS_IN_FULL : 200;
const FILES_IN_FULL = 300;
const FILES = isFullRun() ? FILES_IN_FULL : 5;
const ID = '018f4e3a-6d0c-7b1e-9c57-2f1a0c9d8e7b';
const KEY = `hf_${'a'.repeat(16)}_${'b'.repeat(43)}`;

const PARSERS: readonly {
  readonly name: string;
  readonly seeds: readonly string[];
  parse(text: string): unknown;
}[] = [
  { name: 'execution id or key', seeds: [ID, 'key:order-17'], parse: parseExecutionRef },
  { name: 'project', seeds: ['default', 'a-b.c'], parse: parseProject },
  { name: 'pipeline', seeds: ['order', 'a/b'], parse: parsePipelineName },
  { name: 'release', seeds: ['v1', '2026-11-18'], parse: parseReleaseName },
  { name: 'lease key', seeds: ['leader', 'a/b/c'], parse: parseLeaseKey },
  { name: 'owner', seeds: ['host-1'], parse: parseOwner },
  { name: 'fence', seeds: ['1099511627777', '0'], parse: parseFence },
  { name: 'access key', seeds: [KEY], parse: readKey },
  {
    name: 'cron',
    seeds: ['0 9 * * 1-5', '*/15 0-6 1,15 JAN-MAR MON', '0 0 L * *'],
    parse: (cron) => timesOf({ cron, timeZone: 'Europe/Berlin' }),
  },
  {
    name: 'time zone',
    seeds: ['Europe/Berlin', 'UTC'],
    parse: (timeZone) => timesOf({ cron: '0 9 * * *', timeZone }),
  },
  {
    name: 'filter',
    seeds: ['amount>=10', 'status:failed parent:x order', 'country=de', 'from:2026-01-01'],
    parse: (text) => [
      filterFrom({ where: [text] }, CALLER),
      filterFrom({ q: text }, CALLER),
      filterFrom({ attribute: text, equals: text }, CALLER),
    ],
  },
  {
    name: 'fence headers',
    seeds: ['orders%2F17'],
    parse: (resource) => readFenced({ 'holdfast-resource': resource, 'holdfast-fence': resource }),
  },
  {
    name: 'stored value',
    seeds: ['{"v":1}', '{"enc":"aGk=","by":"codec"}', `{"ref":"${'f'.repeat(64)}","size":3}`],
    parse: parseEnvelope,
  },
  {
    name: 'input contract',
    seeds: ['{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'],
    parse: (text) => parseContract('contract', json(text)),
  },
];

const CALLER = { project: DEFAULT_PROJECT } as Parameters<typeof filterFrom>[1];

if (!isFullRun()) {
  const [all, taken] = [RUNS_IN_FULL * PARSERS.length, RUNS * PARSERS.length];
  noteLeftOut('spoilt texts', all - taken, all);
}

for (const { name, seeds, parse } of PARSERS) {
  test(`spoilt texts: "${name}" is parsed or refused with a code`, async () => {
    const tried = async (bytes: Buffer): Promise<void> =>
      passesOrRefuses(async () => parse(bytes.toString('latin1')), lineOf(name, bytes));
    for (const bytes of kept(name)) await tried(bytes);
    const property = fc.asyncProperty(spoilt(seeds), tried);
    await fc.assert(property, { numRuns: RUNS, seed: runSeed() % 2 ** 31 });
  });
}

test('spoilt files: an exported store is imported or refused with a code', () =>
  inFolder(async (folder) => {
    const [old, file, copy] = ['old.db', 'all.ndjson', 'copy.ndjson'].map((n) => join(folder, n));
    const store = await openStore(old ?? '');
    await mustSubmit(store);
    await store.close();
    await exported({ store: old ?? '' }, file ?? '');
    const seed = await readFile(file ?? '');
    let nth = 0;
    const property = fc.asyncProperty(spoilt([seed]), async (bytes) => {
      nth += 1;
      await writeFile(copy ?? '', bytes);
      const place = { store: join(folder, `${nth}.db`) };
      await passesOrRefuses(() => imported(place, copy ?? ''), lineOf('exported file', bytes));
    });
    await fc.assert(property, { numRuns: FILES, seed: runSeed() % 2 ** 31 });
  }));

async function passesOrRefuses(use: () => Promise<unknown>, line: string): Promise<void> {
  try {
    await use();
  } catch (error) {
    const isRefusal = error instanceof Fault || error instanceof ProblemReply;
    assert.ok(isRefusal, `${error}. Keep it in corpus.jsonl: ${line}`);
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
