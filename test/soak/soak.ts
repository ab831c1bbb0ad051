// One coordinator and two workers as processes, on one store, at half of the rate that they reach
// or at a given rate.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { CallRefused, HoldfastClient } from '../../src/client/client.ts';
import { PRESENT_BUILD } from '../server/build.ts';
import { ownEnvironment } from '../server/deployment.ts';
import { freePort } from '../services/free-port.ts';
import { startPostgres } from '../services/postgres.ts';
import type { Curve } from './curves.ts';

export type SoakStore = 'sqlite' | 'postgres';

export interface SoakOptions {
  readonly store: SoakStore;
  readonly minutes: number;
  /** Executions per second; otherwise half of the peak. A busy machine may not hold that for long. */
  readonly rate: number | undefined;
  /** A planted leak: nothing removes ended executions. */
  readonly keepsAll: boolean;
  readonly onProgress: (line: string) => void;
}

export interface Soaked {
  readonly peakPerSecond: number;
  readonly perSecond: number;
  readonly executions: number;
  readonly seconds: number;
  /** Calls that a caller sent again, because the store did not respond. */
  readonly repeated: number;
  /** How much of the time in which they had work our processes waited for a CPU, from 0 to 1. */
  readonly waitedShare: number;
  readonly curves: readonly Curve[];
  readonly problems: readonly string[];
}

const PEAK_MS = 15_000;
const PEAK_IN_FLIGHT = 32;
/** Each clean-up removes everything that has ended, so sizes reach their level within the warm-up. */
const KEEP_DAYS = '0';
const EVERY_MS = 5_000;
/** Sizes and memory first rise to their level. The check looks at the rest. */
const WARM_UP_SHARE = 0.4;
const IN_FLIGHT_MAX = 2_000;
const TICK_MS = 50;
const REPEATS_MAX = 60;
const REPEAT_MS = 500;
const MB = 1024 * 1024;
const PAGE_BYTES = 4_096;

/** What one curve is called, its unit, and the growth that counts as flat at any size. */
const KINDS = {
  'heap of the coordinator': ['MB', 12],
  'heap of both workers': ['MB', 16],
  // V8 returns memory to the system late, so these rise for longer.
  'memory of the coordinator': ['MB', 96],
  'memory of both workers': ['MB', 96],
  // Without the share in which our processes waited for a CPU, so other load does not change them.
  'latency, median': ['ms', 50],
  'latency, 99 %': ['ms', 150],
  tables: ['MB', 8],
  indexes: ['MB', 8],
  'database file': ['MB', 8],
  WAL: ['MB', 48],
  'dead tuples': ['rows', 20_000],
} as const;

type Sample = Partial<Record<keyof typeof KINDS, number>>;

export async function soak(options: SoakOptions): Promise<Soaked> {
  const { store, minutes, rate, keepsAll, onProgress } = options;
  const disk = store === 'sqlite' ? await sqliteDisk() : await postgresDisk();
  const children: ChildProcess[] = [];
  try {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const keep = ['--retention-completed-days', KEEP_DAYS, '--retention-without-archive', 'true'];
    const every = ['--retention-every-ms', String(EVERY_MS)];
    const coordinator = await started(children, [
      ...[PRESENT_BUILD.cli, 'serve', '--auth', 'off', '--port', String(port)],
      ...['--store', disk.url, '--log-requests', 'false'],
      ...(keepsAll ? [] : [...keep, ...every]),
    ]);
    const file = join(import.meta.dirname, 'worker.ts');
    const workers = [await started(children, [file, url]), await started(children, [file, url])];
    const load = new Load(new HoldfastClient({ url }));
    const peakPerSecond = await load.peak();
    onProgress(`${store}: at most ${peakPerSecond.toFixed(0)} executions per second`);
    const startMs = Date.now();
    const endMs = startMs + minutes * 60_000;
    const everyMs = Math.max(2_000, (minutes * 60_000) / 100);
    const samples: Sample[] = [];
    const ours = [process.pid, ...children.map(({ pid }) => pid ?? assert.fail())];
    const atStart = await timesOf(ours);
    let before = atStart;
    const perSecond = rate ?? peakPerSecond / 2;
    const driving = load.drive(perSecond, endMs);
    while (Date.now() < endMs && load.problems.length === 0) {
      await pause(everyMs);
      const now = await timesOf(ours);
      const waited = waitedShare(before, now);
      before = now;
      const heapMb = async (of: readonly ChildProcess[]) => (await sumOf(of.map(heapOf))) / MB;
      const rssMb = async (of: readonly ChildProcess[]) => (await sumOf(of.map(rssOf))) / MB;
      samples.push({
        'heap of the coordinator': await heapMb([coordinator]),
        'heap of both workers': await heapMb(workers),
        'memory of the coordinator': await rssMb([coordinator]),
        'memory of both workers': await rssMb(workers),
        ...load.latencies(1 - waited),
        ...(await disk.sizes()),
      });
    }
    const executions = await driving;
    const seconds = (Date.now() - startMs) / 1_000;
    const waited = waitedShare(atStart, before);
    const dead = children.filter(({ exitCode, signalCode }) => (exitCode ?? signalCode) !== null);
    const problems = [
      ...load.problems,
      ...dead.map(({ spawnargs }) => `${spawnargs.join(' ')} ended by itself.`),
    ];
    const curves = curvesOf(samples.slice(Math.floor(samples.length * WARM_UP_SHARE)));
    return {
      peakPerSecond,
      perSecond: executions / seconds,
      executions,
      seconds,
      waitedShare: waited,
      repeated: load.repeated,
      curves,
      problems,
    };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await disk.close();
  }
}

function curvesOf(samples: readonly Sample[]): readonly Curve[] {
  const names = Object.keys(samples[0] ?? {}) as (keyof typeof KINDS)[];
  return names.map((name) => {
    const [unit, floor] = KINDS[name];
    return { name, unit, floor, values: samples.map((sample) => sample[name] ?? 0) };
  });
}

/** Executions of three steps, each awaited by its caller. */
class Load {
  readonly problems: string[] = [];
  /** Calls that were sent again. */
  repeated = 0;
  readonly #client: HoldfastClient;
  #inFlight = 0;
  #latencies: number[] = [];

  constructor(client: HoldfastClient) {
    this.#client = client;
  }

  /** Executions per second if a fixed number is always in flight. */
  async peak(): Promise<number> {
    const startMs = performance.now();
    let ended = 0;
    const caller = async (): Promise<void> => {
      while (performance.now() - startMs < PEAK_MS) {
        await this.#one();
        ended += 1;
      }
    };
    await Promise.all(Array.from({ length: PEAK_IN_FLIGHT }, caller));
    return ended / ((performance.now() - startMs) / 1_000);
  }

  /** Submits at this rate, however long the store takes. Returns how many have ended. */
  async drive(perSecond: number, endMs: number): Promise<number> {
    const startMs = Date.now();
    const running: Promise<void>[] = [];
    let begun = 0;
    while (Date.now() < endMs && this.problems.length === 0) {
      const due = Math.floor(((Date.now() - startMs) / 1_000) * perSecond);
      for (; begun < due; begun += 1) {
        running.push(this.#one().catch((error: unknown) => void this.problems.push(String(error))));
      }
      if (this.#inFlight > IN_FLIGHT_MAX) {
        this.problems.push(`The load was not held: ${this.#inFlight} executions are in flight.`);
      }
      await pause(TICK_MS);
    }
    await Promise.all(running);
    return begun;
  }

  /** Of the executions that ended since the last call, times this share. */
  latencies(share: number): Sample {
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    this.#latencies = [];
    const at = (part: number): number => share * (sorted[Math.floor(sorted.length * part)] ?? 0);
    return { 'latency, median': at(0.5), 'latency, 99 %': at(0.99) };
  }

  /** As callers do while the store does not respond, such as on a busy machine. */
  async #repeated<Found>(call: (client: HoldfastClient) => Promise<Found>): Promise<Found> {
    for (let left = REPEATS_MAX; ; left -= 1) {
      try {
        return await call(this.#client);
      } catch (error) {
        const isRefusal = error instanceof CallRefused && error.status < 500;
        if (isRefusal || left === 0) throw error;
        this.repeated += 1;
        await pause(REPEAT_MS);
      }
    }
  }

  async #one(): Promise<void> {
    this.#inFlight += 1;
    const startMs = performance.now();
    try {
      const key = randomUUID();
      const { id } = await this.#repeated(({ executions }) =>
        executions.submit({ pipeline: 'soak', input: 'x'.repeat(200), key }),
      );
      const status = await this.#repeated(({ executions }) => executions.result(id)).then(
        (result) => result.status,
        (error: unknown) => {
          // It ended, and a clean-up came before this read.
          if (error instanceof CallRefused && error.status === 404) return 'completed';
          throw error;
        },
      );
      if (status !== 'completed') this.problems.push(`${id} is ${status}.`);
      this.#latencies.push(performance.now() - startMs);
    } finally {
      this.#inFlight -= 1;
    }
  }
}

interface Disk {
  /** The store's address. */
  readonly url: string;
  sizes(): Promise<Sample>;
  close(): Promise<void>;
}

async function sqliteDisk(): Promise<Disk> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-soak-'));
  const url = join(folder, 'holdfast.db');
  const sizeOf = async (path: string): Promise<number> =>
    (await stat(path).catch(() => ({ size: 0 }))).size / MB;
  return {
    url,
    sizes: async () => ({ 'database file': await sizeOf(url), WAL: await sizeOf(`${url}-wal`) }),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

async function postgresDisk(): Promise<Disk> {
  // Short runs would end before the default minute between two looks of autovacuum.
  const server = await startPostgres({ settings: { autovacuum_naptime: '5s' } });
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => undefined);
  return {
    url: server.url,
    async sizes() {
      const { rows } = await pool.query<{
        tables: number;
        indexes: number;
        wal: number;
        dead: number;
      }>(
        `select sum(pg_table_size(relid))::float8 / ${MB} as tables,
                sum(pg_indexes_size(relid))::float8 / ${MB} as indexes,
                sum(n_dead_tup)::float8 as dead,
                (select sum(size)::float8 / ${MB} from pg_ls_waldir()) as wal
           from pg_stat_user_tables`,
      );
      const { tables, indexes, wal, dead } = rows[0] ?? assert.fail();
      return { tables, indexes, WAL: wal, 'dead tuples': dead };
    },
    async close() {
      await pool.end();
      await server.stop();
    },
  };
}

async function started(children: ChildProcess[], words: readonly string[]): Promise<ChildProcess> {
  const reports = ['--expose-gc', '--import', join(import.meta.dirname, 'report-heap.ts')];
  const child = spawn(process.execPath, [...reports, ...words], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: ownEnvironment(),
  });
  children.push(child);
  assert.ok(child.stdout !== null);
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  child.stdout.resume();
  assert.equal(child.exitCode, null, `${words.join(' ')} did not start.`);
  return child;
}

/** In bytes, after a collection: what the process really keeps. */
async function heapOf(child: ChildProcess): Promise<number> {
  const replied = once(child, 'message');
  child.send('heap');
  const [bytes] = (await replied) as [number];
  return bytes;
}

interface CpuTimes {
  readonly ranNs: number;
  readonly waitedNs: number;
}

/** How long the main threads of processes have run, and waited for a CPU. */
async function timesOf(pids: readonly number[]): Promise<CpuTimes> {
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/schedstat`, 'utf8')));
  const sum = (nth: number): number =>
    texts.reduce((total, text) => total + Number(text.split(' ')[nth]), 0);
  return { ranNs: sum(0), waitedNs: sum(1) };
}

function waitedShare(from: CpuTimes, to: CpuTimes): number {
  const waited = to.waitedNs - from.waitedNs;
  return waited / Math.max(1, waited + to.ranNs - from.ranNs);
}

/** In bytes. */
async function rssOf({ pid }: ChildProcess): Promise<number> {
  const [, pages] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ');
  return Number(pages) * PAGE_BYTES;
}

async function sumOf(values: readonly Promise<number>[]): Promise<number> {
  return (await Promise.all(values)).reduce((sum, value) => sum + value, 0);
}
