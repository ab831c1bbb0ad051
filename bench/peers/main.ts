// npm run bench:peers -- [--quick] [--json] [--only=<part of a row or subject>]
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
import { scratchFolder } from '../scratch-folder.ts';

const HERE = import.meta.dirname;

const ROWS = {
  submit: { title: 'submit in batches of 500', unit: '/s', full: 20_000, quick: 2_000 },
  drained1: { title: 'one step, drained', unit: '/s', full: 20_000, quick: 2_000 },
  drained3: { title: 'three steps, drained', unit: '/s', full: 20_000, quick: 2_000 },
  inFlight64: { title: 'three steps, 64 in flight', unit: '/s', full: 20_000, quick: 1_000 },
  oneAtATime: { title: 'three steps, one at a time', unit: 'ms', full: 500, quick: 100 },
  pickup: { title: 'pickup from idle', unit: 'ms', full: 200, quick: 50 },
} as const;

type Row = keyof typeof ROWS;

interface Subject {
  readonly name: string;
  /** The file below `subjects/`. */
  readonly file: string;
  readonly store: 'postgres' | 'sqlite' | 'redis' | 'own';
  /** It has no such operation, or the row would mean something else. */
  readonly without?: readonly Row[];
  /** At most so many in rows of rates, and in rows of latencies, because it is slow. */
  readonly most?: readonly [number, number];
}

const OURS = 'Holdfast';
const OUR_COORDINATOR = 'Holdfast, coordinator';

const SUBJECTS: readonly Subject[] = [
  { name: OURS, file: 'holdfast', store: 'postgres' },
  { name: 'Holdfast on SQLite', file: 'holdfast', store: 'sqlite' },
  {
    name: OUR_COORDINATOR,
    ...{ file: 'coordinator', store: 'postgres', without: ['submit', 'drained1'] },
  },
  {
    name: 'Restate',
    ...{ file: 'restate', store: 'own', without: ['submit'], most: [4_000, 200] },
  },
  { name: 'DBOS', file: 'dbos', store: 'postgres', most: [2_000, 200] },
  { name: 'OpenWorkflow', file: 'openworkflow', store: 'postgres', most: [500, 20] },
  { name: 'graphile-worker', file: 'graphile-worker', store: 'postgres' },
  { name: 'pg-boss', file: 'pg-boss', store: 'postgres', most: [20_000, 50] },
  { name: 'BullMQ', file: 'bullmq', store: 'redis' },
];

interface Measured {
  readonly row: Row;
  readonly subject: string;
  readonly count: number;
  readonly settings: string;
  /** Of each round: a rate, or the median latency. */
  readonly values: number[];
  readonly p99s: number[];
}

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});
const rounds = flags.quick ? 3 : 7;

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

/** The peers have their own lockfile, so `npm ci` of the project does not install them. */
async function installPeers(): Promise<void> {
  if (existsSync(join(HERE, 'node_modules/.package-lock.json'))) return;
  console.error('Installing the peers below bench/peers…');
  process.env['SCARF_ANALYTICS'] = 'false';
  await runCommand('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: HERE });
}

async function measureRow(row: Row): Promise<readonly Measured[]> {
  const { title, full, quick, unit } = ROWS[row];
  const subjects = SUBJECTS.filter(
    ({ name, without = [] }) =>
      !without.includes(row) && (title.includes(flags.only) || name.includes(flags.only)),
  );
  const found = subjects.map(({ name, most }): Measured => {
    const wanted = flags.quick ? quick : full;
    const limit = most?.[unit === '/s' ? 0 : 1] ?? wanted;
    return {
      ...{ row, subject: name, settings: '', values: [], p99s: [] },
      count: Math.min(wanted, limit),
    };
  });
  for (let round = 0; round < rounds; round += 1) {
    const turns = subjects.map((subject, nth) => ({ subject, nth }));
    for (const { subject, nth } of round % 2 === 0 ? turns : turns.reverse()) {
      const measured = found[nth];
      if (measured === undefined) continue;
      if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${title}: ${subject.name}`);
      const { settings, perSecond, p50Ms, p99Ms } = await measureOnce(subject, measured);
      found[nth] = { ...measured, settings };
      measured.values.push(perSecond ?? p50Ms ?? Number.NaN);
      if (p99Ms !== undefined) measured.p99s.push(p99Ms);
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
    return (await runChild(join(HERE, 'child.mjs'), [request], { limitMs, env })) as Reply;
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

function jsonOf({ row, values, p99s, ...rest }: Measured): string {
  return JSON.stringify({ row: ROWS[row].title, unit: ROWS[row].unit, ...rest, values, p99s });
}

function tableOf(row: Row, found: readonly Measured[]): readonly string[] {
  const { title, unit } = ROWS[row];
  const isRate = unit === '/s';
  const bases = [OURS, OUR_COORDINATOR].flatMap(
    (name) => found.find(({ subject }) => subject === name) ?? [],
  );
  const head = ['', 'count', `median ${unit}`, 'lowest – highest', ...(isRate ? [] : ['p99 ms'])];
  const lines = found.map((each) => [
    each.subject,
    String(each.count),
    shown(median(each.values)),
    `${shown(Math.min(...each.values))} – ${shown(Math.max(...each.values))}`,
    ...(isRate ? [] : [shown(median(each.p99s))]),
    ...bases.map((base) => (base === each ? '' : ratioOf(base, each, isRate))),
  ]);
  const heads = [...head, ...bases.map(({ subject }) => `× ${subject}`)];
  return [
    `\n${title}, ${rounds} rounds`,
    ...aligned([heads, ...lines]),
    ...found.map(({ subject, settings }) => `  ${subject}: ${settings}`),
  ];
}

/** How many times as fast as the other it is, round by round. No ratio if the rounds disagree. */
function ratioOf(ours: Measured, theirs: Measured, isRate: boolean): string {
  const ratios = ours.values.map((value, nth) => {
    const other = theirs.values[nth] ?? Number.NaN;
    return isRate ? value / other : other / value;
  });
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
  if (low <= 1 && high >= 1) return `not clear (${shown(low)} – ${shown(high)})`;
  return `${shown(median(ratios))} (${shown(low)} – ${shown(high)})`;
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toPrecision(2);
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
