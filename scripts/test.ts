// Runs tests and starts the services that they need. `npm test -- --help` lists tiers and options.

import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { type PrivateEtcd, startEtcd } from '../test/services/etcd.ts';
import { type PrivatePostgres, startPostgres } from '../test/services/postgres.ts';
import { checkSources } from './test/check-sources.ts';
import { HELP, type Plan, parseCommandLine } from './test/command-line.ts';
import { cpuMs } from './test/preload.ts';
import { joinReports, type Report, reportLines } from './test/report.ts';
import { runFiles, runSteadily } from './test/run-files.ts';
import { isFull, type SelectedFiles, selectFiles } from './test/select-files.ts';

/** Differs from UTC by 12:45 hours or more, so that tests fail if code uses local dates. */
const TIME_ZONE = 'Pacific/Chatham';

/** Small, and without background work that would compete with the tests. */
const POSTGRES_SETTINGS = { shared_buffers: '64MB', autovacuum: 'off' };

/** Used if it is large enough: tests write and sync thousands of small files. */
const MEMORY_DISK = '/dev/shm';
const MEMORY_DISK_BYTES_MIN = 4 * 1024 ** 3;

/**
 * A guard run starts no family after this time. CI ends after 30 minutes: `npm test` takes 8 of them, and
 * the longest family 10.
 */
const GUARD_MS = 6 * 60_000;

async function main(plan: Plan): Promise<boolean> {
  if (process.env['NODE_OPTIONS']?.includes('--test-')) {
    throw new Error('NODE_OPTIONS selects tests (--test-…), so no test ran. Unset it.');
  }
  const selected = selectFiles(plan);
  announce(plan, selected);
  if (selected.files.length === 0) {
    throw new Error('No test file matches, so no test ran. Check --without and --part.');
  }
  useMemoryDisk();
  const checks = plan.filters.length === 0 && plan.part.nth === 1 ? checkSources() : [];
  const services = await startServices(plan, selected.servers);
  let report: Report;
  try {
    report = await runBatches(plan, selected, services.settings);
  } finally {
    await services.stop();
  }
  const checked = await checks;
  const run = { seed: plan.seed, ms: performance.now(), cpuMs: cpuMs() };
  const leftOut = [...selected.leftOut, ...report.leftOut];
  for (const line of reportLines({ ...report, leftOut }, run)) console.log(line);
  const passed = report.passed + checked.filter((ok) => ok).length;
  const failed = report.failures.length + checked.filter((ok) => !ok).length;
  console.log(`${passed} passed, ${failed} failed`);
  return passed > 0 && failed === 0;
}

async function runBatches(
  plan: Plan,
  { batches }: SelectedFiles,
  services: NodeJS.ProcessEnv,
): Promise<Report> {
  const settings = { ...planSettings(plan), ...services };
  // Files of a full run measure faults, so a failure there counts at once.
  const run = isFull(plan.tier) ? runFiles : runSteadily;
  const reports: Report[] = [];
  for (const { name, files } of batches) {
    if (reports.length > 0 && performance.now() > GUARD_MS) break;
    if (batches.length > 1) console.log(`• in full: ${name}`);
    reports.push(await run(files, settings));
  }
  const left = batches.length - reports.length;
  const leftOut = left > 0 ? [{ family: 'families, by time', left, of: batches.length }] : [];
  return joinReports([...reports, { passed: 0, failures: [], unsteady: [], files: [], leftOut }]);
}

function useMemoryDisk(): void {
  if (process.env['TMPDIR'] !== undefined || !hasMemoryDisk()) return;
  const folder = mkdtempSync(join(MEMORY_DISK, 'holdfast-test-'));
  // PostgreSQL runs as another user when root runs the tests.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

function hasMemoryDisk(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    return bavail * bsize >= MEMORY_DISK_BYTES_MIN;
  } catch {
    return false;
  }
}

function announce(plan: Plan, { files }: SelectedFiles): void {
  console.log(`• ${plan.tier}: ${files.length} files, --seed=${plan.seed}`);
  for (const backend of plan.tier === 'check' ? [] : plan.without) {
    console.log(`!!! WITHOUT ${backend.toUpperCase()}: this run tests nothing that needs it`);
  }
}

function planSettings(plan: Plan): NodeJS.ProcessEnv {
  return {
    TZ: TIME_ZONE,
    // Always set, so that a variable in the shell cannot leave out a backend.
    HOLDFAST_TEST_WITHOUT: plan.without.join(','),
    HOLDFAST_TEST_SEED: String(plan.seed),
    HOLDFAST_TEST_FULL: isFull(plan.tier) ? '1' : '0',
    // Hundreds of processes load the same sources. Node compiles them once.
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../.cache/compiled'),
  };
}

interface Services {
  readonly settings: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

/** One etcd member is enough: tests that lose a member or leader start their own clusters. */
async function startServices({ tier }: Plan, names: ReadonlySet<string>): Promise<Services> {
  const [postgres, etcd] = await Promise.all([
    names.has('postgres') ? providePostgres() : undefined,
    names.has('etcd') ? provideEtcd(isFull(tier) ? 3 : 1) : undefined,
  ]);
  return {
    settings: {
      ...(postgres && { HOLDFAST_TEST_POSTGRES_URL: postgres.url }),
      ...(etcd && { HOLDFAST_TEST_ETCD_ENDPOINTS: etcd.endpoints.join() }),
    },
    async stop() {
      await Promise.all([postgres?.stop(), etcd?.stop()]);
    },
  };
}

async function providePostgres(): Promise<PrivatePostgres | undefined> {
  if (process.env['HOLDFAST_TEST_POSTGRES_URL'] !== undefined) {
    console.log('• PostgreSQL: from HOLDFAST_TEST_POSTGRES_URL');
    return undefined;
  }
  const postgres = await startPostgres({ settings: POSTGRES_SETTINGS });
  console.log(`• PostgreSQL ${postgres.version} (${postgres.source}: ${postgres.binDirectory})`);
  return postgres;
}

async function provideEtcd(members: number): Promise<PrivateEtcd | undefined> {
  if (process.env['HOLDFAST_TEST_ETCD_ENDPOINTS'] !== undefined) {
    console.log('• etcd: from HOLDFAST_TEST_ETCD_ENDPOINTS');
    return undefined;
  }
  const etcd = await startEtcd({ members });
  console.log(`• etcd ${etcd.version} (${etcd.source}), ${etcd.endpoints.length} members`);
  return etcd;
}

try {
  const plan = parseCommandLine(process.argv.slice(2));
  if (plan === undefined) console.log(HELP);
  else process.exitCode = (await main(plan)) ? 0 : 1;
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : String(error)}\n`);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
}
