// Real processes call a store while the test kills and freezes them, loses replies and restarts the
// server. Then some order of the calls must explain every reply.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  checkLinearizability,
  drawViolation,
  type LeaseCallEvent,
  type LeaseModelOptions,
  leaseHistory,
  leaseModel,
} from '../../contract/testing/linearizability/index.ts';
import { seededRandom } from '../../src/support/random.ts';
import { Child } from '../processes/stage/child.ts';
import type { StoreAddress } from '../processes/stage/store-address.ts';
import { isFullRun, noteLeftOut, runSeed } from '../services/tier.ts';
import type { HistoryClientApi } from './client.ts';
import { POLICY, TTL_MS } from './scene.ts';

export interface RecordedServer {
  readonly address: StoreAddress;
  /** Faults of this store, beside kills and freezes of its clients. Each ends by itself. */
  readonly faults: readonly (() => Promise<void>)[];
  stop(): Promise<void>;
}

const CLIENTS = 4;
const ROUNDS_IN_FULL = 8;
/** Turns of all clients together, after each fault. */
const TURNS = 150;
const FREEZE_MS = 2 * TTL_MS;
/** The test ends its clients long before. */
const PLAY_MS_MAX = 3_600_000;

export function registerRecorded(
  store: string,
  start: () => Promise<RecordedServer>,
  /** How exactly the store notices an expiry. */
  times: Pick<LeaseModelOptions, 'lateMs' | 'skewMs'>,
): void {
  test(`P2, T-6, K-1: an order explains every reply of ${store} under faults`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-history-'));
    const server = await start();
    const stage = new HistoryStage(server, folder);
    try {
      const rounds = isFullRun() ? ROUNDS_IN_FULL : 1;
      if (rounds < ROUNDS_IN_FULL) {
        noteLeftOut(`rounds of faults, ${store}`, ROUNDS_IN_FULL - rounds, ROUNDS_IN_FULL);
      }
      await stage.play(rounds);
    } finally {
      await stage.end();
      await server.stop();
    }
    check(t, folder, times);
    rmSync(folder, { recursive: true });
  });
}

class HistoryStage {
  readonly #server: RecordedServer;
  readonly #folder: string;
  readonly #random = seededRandom(runSeed());
  readonly #clients: Child<HistoryClientApi>[] = [];
  #started = 0;
  #turns = 0;
  #takeovers = 0;
  #onTurn: () => void = () => undefined;
  /** Rejects if a client ends that the test did not kill. */
  readonly #lost: PromiseWithResolvers<never> = Promise.withResolvers();

  constructor(server: RecordedServer, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  async play(rounds: number): Promise<void> {
    for (let nth = 0; nth < CLIENTS; nth += 1) this.#start();
    const faults = [() => this.#kill(), () => this.#freeze(), ...this.#server.faults];
    await this.#after(TURNS);
    // A client that dies without a lease leaves nothing to take over.
    for (let round = 1; round <= rounds || this.#takeovers === 0; round += 1) {
      for (const fault of faults) {
        await fault();
        await this.#after(TURNS);
      }
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.kill()));
  }

  #start(): void {
    this.#started += 1;
    const name = `client ${this.#started}`;
    const child = new Child<HistoryClientApi>('../linearizability/client.ts');
    child.on('turn', () => {
      this.#turns += 1;
      this.#onTurn();
    });
    child.on('takeover', () => {
      this.#takeovers += 1;
    });
    const { address } = this.#server;
    const seed = runSeed() + this.#started;
    const file = join(this.#folder, `${name}.jsonl`);
    const play = child.call('play', { store: address, name, seed, file }, PLAY_MS_MAX);
    this.#clients.push(child);
    play.catch((reason: Error) => {
      if (!this.#clients.includes(child)) return;
      this.#lost.reject(new Error(`${name} ended: ${reason.message}`));
    });
  }

  async #kill(): Promise<void> {
    const [victim] = this.#clients.splice(this.#chosen(), 1);
    await victim?.kill();
    this.#start();
  }

  /** Until its session has expired. A process that stops in a SQLite write stops all others. */
  async #freeze(): Promise<void> {
    const victim = this.#clients[this.#chosen()];
    victim?.freeze();
    await pause(FREEZE_MS);
    victim?.thaw();
  }

  #chosen(): number {
    return Math.floor(this.#random.next() * this.#clients.length);
  }

  #after(count: number): Promise<void> {
    const goal = this.#turns + count;
    const played = new Promise<void>((resolve) => {
      this.#onTurn = () => {
        if (this.#turns >= goal) resolve();
      };
    });
    return Promise.race([played, this.#lost.promise]);
  }
}

function check(
  t: TestContext,
  folder: string,
  times: Pick<LeaseModelOptions, 'lateMs' | 'skewMs'>,
): void {
  const events = globSync('*.jsonl', { cwd: folder }).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8').split('\n').flatMap(parsed),
  );
  const operations = leaseHistory(events);
  const startedAt = performance.now();
  const result = checkLinearizability(leaseModel({ policy: POLICY, ...times }), operations);
  const ms = Math.round(performance.now() - startedAt);
  const lost = operations.filter(({ reply }) => reply === undefined).length;
  const takeovers = operations.filter(({ reply }) => {
    const { predecessor } = (reply?.output ?? {}) as { predecessor?: { exit: string } };
    return predecessor?.exit === 'expired';
  }).length;
  t.diagnostic(
    `${operations.length} calls, ${lost} lost, ${takeovers} takeovers, checked in ${ms} ms`,
  );
  if (result.kind === 'linearizable') return;
  if (result.kind === 'violation') {
    writeFileSync(join(folder, 'violation.svg'), drawViolation(result));
  }
  assert.fail(`${result.message}\nThe history and its drawing are in ${folder}.`);
}

/** A killed process may leave half a line behind: then its call was not sent, or has no reply. */
function parsed(line: string): readonly LeaseCallEvent[] {
  try {
    return [JSON.parse(line) as LeaseCallEvent];
  } catch {
    return [];
  }
}
