// npm run bench:peers -- [--quick] [--json] [--row=<part>] [--subject=<part>,<part>] [--rounds=<n>]
//
// Measures Holdfast beside other engines and queues on the same machine. Subjects take turns within a
// round. Each row of each subject has its own process and a new database.

import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FLUSHED_ALWAYS, startRedis } from '../../test/services/redis.ts';
import { runCommand } from '../../test/services/run-command.ts';
import { runChild } from '../executions/child.ts';
import { openStoreFactory, type StoreFactory } from '../executions/store-factory.ts';
import { median } from '../measure.ts';
import { conditionsOf, rounded, type Settings } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { comparedWith, shown, shownComparison } from './compare.ts';

const HERE = import.meta.dirname;

const ROWS = {
  submit: { title: 'submit in batches of 500', unit: '/s', full: 20_000, quick: 2_000 },
  drained1: { title: 'one step, drained', unit: '/s', full: 20_000, quick: 2_000 },
  drained3: { title: 'three steps, drained', unit: '/s', full: 20_000, quick: 2_000 },
  inFlight64: { title: 'three steps, 64 in flight', unit: '/s', full: 20_000, quick: 1_000 },
  oneAtATime: { title: 'three steps, one at a time', unit: 'ms', full: 400, quick: 100 },
  pickup: { title: 'pickup from idle', unit: 'ms', full: 60, quick: 30 },
  wake: { title: 'wake from an await', unit: 'ms', full: 50, quick: 20 },
  fanOut: { title: 'fan-out of 1,000 children', unit: 'ms', full: 5, quick: 1 },
  restart: {
    title: 'longest pause around a crash of the database, 64 in flight',
    unit: 'ms',
    full: 10_000,
    quick: 2_000,
  },
  behindWaiting: {
    title: 'one step, drained, beside 100,000 that wait',
    unit: '/s',
    full: 20_000,
    quick: 2_000,
  },
} as const;

type Row = keyof typeof ROWS;

interface Subject {
  readonly name: string;
  /** The file below `subjects/`. */
  readonly file: string;
  readonly store: 'postgres' | 'sqlite' | 'redis' | 'own';
  /** It has no such operation, or the row would mean something else. */
  readonly without?: readonly Row[];
  /** Rows that only some subjects have. */
  readonly also?: readonly Row[];
  /** At most so many in rows of rates, and in rows of latencies, because it is slow. */
  readonly most?: readonly [number, number];
}

const OURS = 'Holdfast';
const OUR_COORDINATOR = 'Holdfast, coordinator';
/** The least that a coordinator with this durability can do. It is no engine. */
const FLOOR = 'Floor of a coordinator';
const OUR_COORDINATOR_SQLITE = 'Holdfast, coordinator on SQLite';

/** Rows that a subject has only if it lists them. */
const OPTIONAL: readonly Row[] = ['wake', 'fanOut', 'restart', 'behindWaiting'];

const SUBJECTS: readonly Subject[] = [
  { name: OURS, file: 'holdfast', store: 'postgres', also: OPTIONAL },
  {
    name: 'Holdfast on SQLite',
    ...{ file: 'holdfast', store: 'sqlite', also: ['wake', 'fanOut', 'behindWaiting'] },
  },
  {
    name: OUR_COORDINATOR,
    ...{ file: 'coordinator', store: 'postgres', without: ['submit', 'drained1'] },
    also: ['wake', 'fanOut', 'restart'],
  },
  {
    name: FLOOR,
    ...{ file: 'stream-floor', store: 'postgres' },
    without: ['submit', 'drained1', 'drained3', 'pickup'],
  },
  {
    name: OUR_COORDINATOR_SQLITE,
    ...{ file: 'coordinator', store: 'sqlite', without: ['submit', 'drained1'] },
    also: ['wake', 'fanOut'],
  },
  {
    name: 'Restate',
    ...{ file: 'restate', store: 'own', without: ['submit'], most: [3_000, 200] },
    also: ['wake', 'fanOut'],
  },
  {
    name: 'DBOS',
    ...{ file: 'dbos', store: 'postgres', most: [1_000, 200], also: ['wake', 'fanOut'] },
  },
  { name: 'OpenWorkflow', file: 'openworkflow', store: 'postgres', most: [200, 10] },
  { name: 'graphile-worker', file: 'graphile-worker', store: 'postgres', also: ['behindWaiting'] },
  {
    name: 'pg-boss',
    ...{ file: 'pg-boss', store: 'postgres', most: [20_000, 50], also: ['behindWaiting'] },
  },
  { name: 'BullMQ', file: 'bullmq', store: 'redis', also: ['fanOut', 'behindWaiting'] },
];

interface Measured {
  readonly row: Row;
  readonly subject: string;
  readonly count: number;
  readonly settings: string;
  /** Of each round: a rate, or the median latency. */
  readonly values: number[];
  readonly p99s: number[];
  /** Of the process that measures, in each round. Servers and workers beside it are not included. */
  readonly peakMb: number[];
}

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    row: { type: 'string', default: '' },
    subject: { type: 'string', default: '' },
    rounds: { type: 'string' },
  },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 3 : 7));

await installPeers();
const folder = scratchFolder();
const stores = {
  postgres: await openStoreFactory('postgres', folder),
  sqlite: await openStoreFactory('sqlite', folder),
};
try {
  for (const row of Object.keys(ROWS) as readonly Row[]) {
    const found = await measureRow(row);
    if (found.length === 0) continue;
    for (const line of flags.json ? found.map(jsonOf) : tableOf(row, found)) console.log(line);
  }
} finally {
  await stores.postgres.close();
  await stores.sqlite.close();
}

/**
 * The peers have their own lockfile, so `npm ci` of the project does not install them. `npm ci` here
 * would demand binaries of other platforms, which not every registry has.
 */
async function installPeers(): Promise<void> {
  if (existsSync(join(HERE, 'node_modules/.package-lock.json'))) return;
  console.error('Installing the peers below bench/peers…');
  process.env['SCARF_ANALYTICS'] = 'false';
  const install = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  await runCommand('npm', install, { cwd: HERE });
}

async function measureRow(row: Row): Promise<readonly Measured[]> {
  const { title, full, quick, unit } = ROWS[row];
  if (!title.includes(flags.row)) return [];
  const named = flags.subject.split(',');
  const subjects = SUBJECTS.filter(
    ({ name, without = [], also = [] }) =>
      (OPTIONAL.includes(row) ? also.includes(row) : !without.includes(row)) &&
      named.some((part) => name.includes(part)),
  );
  const found = subjects.map(({ name, most }): Measured => {
    const wanted = flags.quick ? quick : full;
    const limit = most?.[unit === '/s' ? 0 : 1] ?? wanted;
    return {
      ...{ row, subject: name, settings: '', values: [], p99s: [], peakMb: [] },
      count: Math.min(wanted, limit),
    };
  });
  for (let round = 0; round < rounds; round += 1) {
    const turns = subjects.map((subject, nth) => ({ subject, nth }));
    for (const { subject, nth } of round % 2 === 0 ? turns : turns.reverse()) {
      const measured = found[nth];
      if (measured === undefined) continue;
      if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${title}: ${subject.name}`);
      const { settings, perSecond, p50Ms, p99Ms, peakMb } = await measureOnce(subject, measured);
      found[nth] = { ...measured, settings };
      measured.values.push(perSecond ?? p50Ms ?? Number.NaN);
      if (p99Ms !== undefined) measured.p99s.push(p99Ms);
      measured.peakMb.push(peakMb);
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  return found;
}

interface Reply {
  readonly settings: string;
  readonly perSecond?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly peakMb: number;
}

async function measureOnce(
  { file, store }: Subject,
  { row, count }: Pick<Measured, 'row' | 'count'>,
): Promise<Reply> {
  const measure = async (place: object): Promise<Reply> => {
    const request = JSON.stringify({ subject: file, row, count, place });
    const limitMs = 200_000;
    // Peers warn of settings that are right on one machine.
    const env = { RESTATE_LOGGING: 'ERROR', NODE_NO_WARNINGS: '1' };
    const onOutput = (text: string): void => {
      if (text.includes('restart\n')) void stores.postgres.restart?.();
    };
    return (await runChild(join(HERE, 'child.mjs'), [request], {
      limitMs,
      env,
      onOutput,
    })) as Reply;
  };
  if (store === 'own') {
    return measure({ folder: mkdtempSync(join(folder, 'own-')) });
  }
  if (store === 'redis') {
    const redis = await startRedis(FLUSHED_ALWAYS);
    try {
      return await measure({ redis: redis.socket });
    } finally {
      await redis.stop();
    }
  }
  return onNewStore(stores[store], measure);
}

function onNewStore(
  factory: StoreFactory,
  measure: (place: object) => Promise<Reply>,
): Promise<Reply> {
  return factory.with((location) =>
    measure({
      url:
        location.kind === 'postgres'
          ? location.url
          : location.kind === 'sqlite'
            ? location.file
            : '',
    }),
  );
}

function jsonOf({ row, values, p99s, peakMb, ...rest }: Measured): string {
  const { title, unit } = ROWS[row];
  const store = SUBJECTS.find(({ name }) => name === rest.subject)?.store;
  const storeSettings: Settings =
    store === 'postgres' || store === 'sqlite' ? stores[store].settings : {};
  return JSON.stringify({
    ...{ suite: 'peers', row: title, unit, ...rest },
    values: values.map(rounded),
    p99s: p99s.map(rounded),
    peakMb: peakMb.map(rounded),
    storeSettings,
    conditions: conditionsOf(flags),
  });
}

function tableOf(row: Row, found: readonly Measured[]): readonly string[] {
  const { title, unit } = ROWS[row];
  const isRate = unit === '/s';
  const bases = [OURS, OUR_COORDINATOR].flatMap(
    (name) => found.find(({ subject }) => subject === name) ?? [],
  );
  const latency = isRate ? [] : ['p99 ms'];
  const head = ['', 'count', `median ${unit}`, 'lowest – highest', ...latency, 'peak MB'];
  const lines = found.map((each) => [
    each.subject,
    String(each.count),
    shown(median(each.values)),
    `${shown(Math.min(...each.values))} – ${shown(Math.max(...each.values))}`,
    ...(isRate ? [] : [shown(median(each.p99s))]),
    shown(median(each.peakMb)),
    ...bases.map((base) =>
      base === each
        ? ''
        : shownComparison(
            comparedWith({ values: base.values, unit }, { values: each.values, unit }),
          ),
    ),
  ]);
  const heads = [...head, ...bases.map(({ subject }) => `× ${subject}`)];
  return [
    `\n${title}, ${rounds} rounds`,
    ...aligned([heads, ...lines]),
    ...found.map(({ subject, settings }) => `  ${subject}: ${settings}`),
  ];
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, nth) =>
        nth === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[nth] ?? 0),
      )
      .join('   ')
      .trimEnd(),
  );
}
