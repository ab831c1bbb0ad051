// The processes under chaos: two coordinators, workers over every transport, PostgreSQL with a
// standby, the user's own database, and proxies on loopback between workers and coordinators.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { CallRefused, HoldfastClient } from '../../src/client/client.ts';
import { type Build, PRESENT_BUILD } from '../server/build.ts';
import { ownEnvironment } from '../server/deployment.ts';
import { type ShiftedClock, shiftedClock } from '../services/faketime.ts';
import { freePort } from '../services/free-port.ts';
import { PatroniCluster } from '../services/patroni.ts';
import { type PrivatePostgres, startPostgres } from '../services/postgres.ts';
import { canMount, PostgresPair } from '../services/postgres-pair.ts';
import { startProxy, type TcpProxy } from '../services/proxy.ts';
import { SqsStand } from '../transport/sqs-stand.ts';
import { LEDGER_SQL } from './order.ts';
import type { TransportArgs, WorkerArgs } from './worker.ts';

export const TTL_MS = 3_000;
const COORDINATORS = 2;
const SECRET = 'k'.repeat(32);
const RETRY_MS = 50;
const DISK_MB = 768;
const STARTS_MAX = 5;

/** A bug that the run must detect, by the promise that it breaks. */
export const PLANTS = ['stale-effect', 'lost-commit', 'slow-takeover', 'doubled-start'] as const;
export type Plant = (typeof PLANTS)[number];

interface Coordinator {
  readonly port: number;
  readonly grpcPort: number;
  /** Workers and clients reach the coordinator only through it. */
  readonly proxy: TcpProxy;
}

/** The PostgreSQL servers of the store: a pair that the faults drive, or two nodes under Patroni. */
export type Servers = PostgresPair | PatroniCluster;

export interface StageOptions {
  readonly plant?: Plant | undefined;
  /** Patroni decides which server is the primary. */
  readonly patroni?: 'synchronous' | 'asynchronous' | undefined;
}

export class Stage {
  readonly servers: Servers;
  readonly ledger: pg.Pool;
  readonly coordinators: readonly Coordinator[];
  readonly owners: readonly string[];
  readonly plant: Plant | undefined;
  /** Of the processes that start from now on. */
  build: Build = PRESENT_BUILD;
  /** Problems that a process of ours printed when it should not have ended. */
  readonly problems: string[] = [];
  /** When processes were asked to stop in order. */
  readonly stopsMs: number[] = [];
  readonly #children: Map<string, ChildProcess> = new Map();
  readonly #clocks: Map<string, ShiftedClock> = new Map();
  readonly #transports: ReadonlyMap<string, TransportArgs>;
  readonly #parts: Parts;
  #isOver = false;

  private constructor(parts: Parts, plant: Plant | undefined) {
    this.#parts = parts;
    this.servers = parts.servers;
    this.ledger = parts.ledger;
    this.coordinators = parts.coordinators;
    this.#transports = parts.transports;
    this.owners = [...parts.transports.keys()];
    this.plant = plant;
  }

  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(await openParts(options), options.plant);
    // However this process ends, its children end with it.
    process.once('exit', () => stage.#killAll());
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => process.exit(1));
    // The first one creates the schema.
    for (const nth of stage.coordinators.keys()) await stage.startCoordinator(nth);
    await Promise.all(stage.owners.map((owner) => stage.startWorker(owner)));
    return stage;
  }

  get pair(): PostgresPair {
    assert.ok(this.servers instanceof PostgresPair, 'Patroni has this fault to itself.');
    return this.servers;
  }

  get patroni(): PatroniCluster {
    assert.ok(this.servers instanceof PatroniCluster, 'This fault needs Patroni.');
    return this.servers;
  }

  /** The disk of the store can be filled. */
  get hasDisk(): boolean {
    return this.#parts.hasDisk;
  }

  get ledgerUrl(): string {
    return this.#parts.database.url;
  }

  async startCoordinator(nth: number): Promise<void> {
    const { port, grpcPort } = this.coordinators[nth] ?? assert.fail();
    const { folder, pushPort, sqs } = this.#parts;
    const endpoint = {
      url: `http://127.0.0.1:${pushPort}/holdfast`,
      pipelines: ['order'],
      capacity: 10,
    };
    await this.#start(`coordinator-${nth}`, [
      ...[this.build.cli, 'serve', '--auth', 'off', '--port', String(port)],
      ...['--store', this.#storeUrl, '--grpc', `127.0.0.1:${grpcPort}`],
      ...['--log-requests', 'false', '--postgres-connections-max', '6'],
      ...['--push-endpoints', JSON.stringify([endpoint]), '--push-hosts', '127.0.0.1'],
      ...['--push-signing-file', join(folder, 'push.json'), '--push-allow-http', 'true'],
      ...['--push-private-addresses', 'true', '--push-cooldown-ms', '1000'],
      ...['--sqs-request-queue-url', sqs.requests, '--sqs-poison-queue-url', sqs.poison],
      ...['--sqs-reply-queues', sqs.replies, '--sqs-keys-file', join(folder, 'sqs.json')],
      ...['--sqs-endpoint', sqs.stand.url, '--sqs-region', 'us-east-1'],
    ]);
  }

  /** The build before this one takes one host. */
  get #storeUrl(): string {
    return this.build === PRESENT_BUILD ? this.#parts.storeUrl : this.pair.primaryUrl;
  }

  async startWorker(owner: string): Promise<void> {
    const args: WorkerArgs = {
      build: this.build,
      ...{ via: this.#transports.get(owner) ?? assert.fail(), owner, secret: SECRET },
      ledgerUrl: this.ledgerUrl,
      ttlMs: this.plant === 'slow-takeover' ? 10 * TTL_MS : TTL_MS,
      ignoresFences: this.plant === 'stale-effect',
    };
    await this.#start(owner, [join(import.meta.dirname, 'worker.ts'), JSON.stringify(args)]);
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.#children.get(name)?.kill(signal);
  }

  /** Sets the wall clock of a process this far ahead, or back to the right time. */
  async shiftClock(name: string, seconds: number): Promise<void> {
    await (this.#clocks.get(name) ?? assert.fail(name)).shift(seconds);
  }

  async end(name: string, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#children.get(name) ?? assert.fail(name);
    this.#children.delete(name);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    if (how === 'SIGTERM') this.stopsMs.push(Date.now());
    child.kill(how);
    child.kill('SIGCONT');
    await ended;
  }

  /** Asks one coordinator after the other until one responds. A refusal is a response. */
  async ask<Found>(call: (client: HoldfastClient) => Promise<Found>): Promise<Found> {
    for (let nth = Math.floor(Math.random() * COORDINATORS); ; nth += 1) {
      const { proxy } = this.coordinators[nth % COORDINATORS] ?? assert.fail();
      try {
        return await call(
          new HoldfastClient({ url: `http://127.0.0.1:${proxy.port}`, timeoutMs: TTL_MS }),
        );
      } catch (error) {
        const isReply = error instanceof CallRefused && error.status < 500 && error.status !== 429;
        if (isReply || this.#isOver) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  #killAll(): void {
    for (const child of this.#children.values()) child.kill('SIGKILL');
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#children.keys()].map((name) => this.end(name, 'SIGKILL')));
    const { ledger, database, servers, sqs, folder } = this.#parts;
    await ledger.end();
    for (const { proxy } of this.coordinators) await proxy.close();
    await Promise.all([database.stop(), servers.stop(), sqs.stand.close()]);
    await rm(folder, { recursive: true, force: true });
  }

  /** As a supervisor does: a process that could not start, as the store was slow, starts again. */
  async #start(name: string, words: readonly string[]): Promise<void> {
    for (let left = STARTS_MAX - 1; ; left -= 1) {
      const failed = await this.#startOnce(name, words);
      if (failed === undefined) return;
      assert.ok(left > 0, `${name} did not start: ${failed}`);
    }
  }

  /** Returns what the process printed if it did not start. */
  async #startOnce(name: string, words: readonly string[]): Promise<string | undefined> {
    const clock = await shiftedClock(join(this.#parts.folder, `${name}.clock`));
    this.#clocks.set(name, clock);
    const aws = { AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' };
    const env = { ...ownEnvironment(), ...aws, ...clock.env };
    const child = spawn(process.execPath, [...words], { stdio: ['ignore', 'pipe', 'pipe'], env });
    this.#children.set(name, child);
    let [printed, hasStarted] = ['', false];
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-4_000);
    });
    child.once('exit', (code, signal) => {
      // Ended by itself, not by `end`.
      if (!hasStarted || this.#children.get(name) !== child) return;
      this.problems.push(`${name} ended by itself (${signal ?? code}): ${printed}`);
    });
    await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
    child.stdout.resume();
    hasStarted = (child.exitCode ?? child.signalCode) === null;
    return hasStarted ? undefined : printed;
  }
}

interface Parts {
  readonly folder: string;
  readonly hasDisk: boolean;
  readonly servers: Servers;
  readonly storeUrl: string;
  /** The user's own database. */
  readonly database: PrivatePostgres;
  readonly ledger: pg.Pool;
  readonly coordinators: readonly Coordinator[];
  readonly transports: ReadonlyMap<string, TransportArgs>;
  readonly pushPort: number;
  readonly sqs: {
    readonly stand: SqsStand;
    readonly requests: string;
    readonly replies: string;
    readonly poison: string;
  };
}

async function openParts({ plant, patroni }: StageOptions): Promise<Parts> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-chaos-'));
  await writeFile(join(folder, 'push.json'), JSON.stringify({ keys: { k: SECRET }, current: 'k' }));
  await writeFile(join(folder, 'sqs.json'), JSON.stringify({ k: { secret: SECRET } }));
  const hasDisk = patroni === undefined && (await canMount());
  const servers =
    patroni === undefined
      ? await PostgresPair.start({
          commits: plant === 'lost-commit' ? 'asynchronous' : 'synchronous',
          ...(hasDisk && { diskMb: DISK_MB }),
        })
      : await PatroniCluster.start(patroni);
  const hosts = servers.ports.map((port) => `127.0.0.1:${port}`).join(',');
  const database = await startPostgres({ settings: { fsync: 'off' } });
  const ledger = new pg.Pool({ connectionString: database.url, max: 4 });
  ledger.on('error', () => undefined);
  await ledger.query(LEDGER_SQL);
  const coordinators: Coordinator[] = [];
  for (let nth = 0; nth < COORDINATORS; nth += 1) {
    const port = await freePort();
    coordinators.push({ port, grpcPort: await freePort(), proxy: await startProxy(port) });
  }
  const stand = await SqsStand.open();
  const replies = stand.queue('reply');
  const sqs = { stand, replies, requests: stand.queue('request'), poison: stand.queue('poison') };
  const pushPort = await freePort();
  const urls = coordinators.map(({ proxy }) => `http://127.0.0.1:${proxy.port}`);
  const [first, second] = coordinators.map(({ grpcPort }) => `127.0.0.1:${grpcPort}`);
  const transports = new Map<string, TransportArgs>([
    ['http-1', { kind: 'http', urls }],
    ['http-2', { kind: 'http', urls: urls.toReversed() }],
    ['stream-1', { kind: 'stream', urls }],
    ['grpc-1', { kind: 'grpc', address: first ?? '' }],
    ['grpc-2', { kind: 'grpc', address: second ?? '' }],
    ['push-1', { kind: 'push', port: pushPort }],
    ['sqs-1', { kind: 'sqs', endpoint: stand.url, requests: sqs.requests, replies }],
  ]);
  const storeUrl = `postgres://postgres@${hosts}/postgres`;
  return {
    folder,
    hasDisk,
    servers,
    storeUrl,
    database,
    ledger,
    coordinators,
    transports,
    pushPort,
    sqs,
  };
}
