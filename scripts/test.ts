// The one test command: format and lint, types, then every test, with the services they need.
//
//   npm test                              everything
//   npm test -- test/tidy src/lease       only the tests in these files and folders
//   npm test -- --without=postgres        leaves a backend out, by name
//   npm run test:long                     also the cases that take minutes
//   npm run check:quick                   no services: lint, types, tidy, unit, contract

import { join } from 'node:path';
import { type PrivateEtcd, startEtcd } from '../test/services/etcd.ts';
import { BACKENDS } from '../test/services/excluded.ts';
import { type PrivatePostgres, startPostgres } from '../test/services/postgres.ts';
import { checkSources } from './test/check-sources.ts';
import { HELP, type Plan, parseCommandLine } from './test/command-line.ts';
import { runTests } from './test/run-tests.ts';
import { type SelectedFiles, selectFiles } from './test/select-files.ts';
import { addTallies, reportLines, type Tally, tallyLine, tallyOf } from './test/tally.ts';

const OTHER_TIME_ZONE = 'Pacific/Chatham';

/** Adds to `tallies` as it goes, so that what already ran is counted even when a later part throws. */
async function main(plan: Plan, tallies: Tally[]): Promise<void> {
  const files = selectFiles(plan);
  if (plan.filters.length === 0) {
    tallies.push(...(await checkSources()));
  }
  const needs = (name: string) => files.using.has(name) && !plan.without.includes(name);
  const postgres = needs('postgres') ? await providePostgres() : undefined;
  try {
    const etcd = needs('etcd') ? await provideEtcd() : undefined;
    try {
      const env = { ...process.env, ...planEnvironment(plan) };
      if (postgres !== undefined) env['HOLDFAST_TEST_POSTGRES_URL'] = postgres.url;
      if (etcd !== undefined) env['HOLDFAST_TEST_ETCD_ENDPOINTS'] = etcd.endpoints.join();
      tallies.push(...(await runAll(files, env)));
    } finally {
      await etcd?.stop();
    }
  } finally {
    await postgres?.stop();
  }
}

async function runAll(files: SelectedFiles, env: NodeJS.ProcessEnv): Promise<readonly Tally[]> {
  const reports = [await runTests('tests', files.all, env)];
  if (files.forOtherTimeZone.length > 0) {
    const elsewhere = { ...env, TZ: OTHER_TIME_ZONE, HOLDFAST_TEST_WITHOUT: BACKENDS.join(',') };
    const title = `contract tests in the time zone ${OTHER_TIME_ZONE}`;
    reports.push(await runTests(title, files.forOtherTimeZone, elsewhere));
  }
  for (const line of reports.flatMap(reportLines)) console.log(line);
  const tallies = reports.map(({ tally }) => tally);
  const { passed, failed } = addTallies(tallies);
  if (passed + failed === 0) {
    throw new Error('No test ran, which counts as a failure. Check the paths on the command line.');
  }
  return tallies;
}

function planEnvironment(plan: Plan): NodeJS.ProcessEnv {
  return {
    // Always set: a backend is left out on the command line, not by a variable left in a shell.
    HOLDFAST_TEST_WITHOUT: plan.without.join(','),
    ...(plan.long && { HOLDFAST_TEST_LONG: '1' }),
    // Hundreds of processes load the same sources: they are compiled once.
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../.cache/compiled'),
  };
}

async function providePostgres(): Promise<PrivatePostgres | undefined> {
  if (process.env['HOLDFAST_TEST_POSTGRES_URL'] !== undefined) {
    console.log('• PostgreSQL: the one named by HOLDFAST_TEST_POSTGRES_URL');
    return undefined;
  }
  const postgres = await startPostgres();
  console.log(`• PostgreSQL ${postgres.version} (${postgres.source}: ${postgres.binDirectory})`);
  return postgres;
}

async function provideEtcd(): Promise<PrivateEtcd | undefined> {
  if (process.env['HOLDFAST_TEST_ETCD_ENDPOINTS'] !== undefined) {
    console.log('• etcd: the one named by HOLDFAST_TEST_ETCD_ENDPOINTS');
    return undefined;
  }
  const etcd = await startEtcd();
  console.log(`• etcd ${etcd.version} (${etcd.source}), ${etcd.endpoints.length} members`);
  return etcd;
}

const tallies: Tally[] = [];
try {
  const plan = parseCommandLine(process.argv.slice(2));
  if (plan === undefined) {
    console.log(HELP);
    process.exit(0);
  }
  await main(plan, tallies);
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : String(error)}\n`);
  tallies.push(tallyOf(false));
}
const total = addTallies(tallies);
console.log(tallyLine(total));
process.exitCode = total.failed === 0 ? 0 : 1;
