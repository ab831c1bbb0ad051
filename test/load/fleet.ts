// Worker processes that come and go while executions are submitted, and the facts that must hold
// afterwards.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { ExecutionRecord } from '../../src/execution/execution.ts';
import type { ExecutionId } from '../../src/execution/names.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openAddressed, type PlaceIn, type StorePlace } from './place.ts';
import type { WorkerArgs } from './worker.ts';

const STEPS = 3;

export class Fleet {
  readonly store: CoordinatorStore;
  readonly holdfast: Holdfast;
  readonly #place: StorePlace;
  readonly #folder: string;
  readonly #ttlMs: number;
  readonly #workers: Map<string, ChildProcess> = new Map();
  readonly #results: Promise<unknown>[] = [];

  private constructor(
    opened: { readonly store: CoordinatorStore; readonly place: StorePlace },
    folder: string,
    ttlMs: number,
  ) {
    this.store = opened.store;
    this.#place = opened.place;
    this.holdfast = new Holdfast({ store: opened.store });
    this.#folder = folder;
    this.#ttlMs = ttlMs;
  }

  static async open(placeIn: PlaceIn, options: { readonly ttlMs: number }): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), 'hf-load-'));
    await writeFile(join(folder, 'effects.jsonl'), '');
    const place = await placeIn(folder);
    return new Fleet({ store: await openAddressed(place), place }, folder, options.ttlMs);
  }

  /** Under a name that a predecessor may have had. */
  async start(owner: string, options: { readonly stepMs?: number } = {}): Promise<void> {
    const args: WorkerArgs = {
      store: this.#place,
      effects: join(this.#folder, 'effects.jsonl'),
      owner,
      ttlMs: this.#ttlMs,
      ...options,
    };
    const file = join(import.meta.dirname, 'worker.ts');
    const child = spawn(process.execPath, [file, JSON.stringify(args)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#workers.set(owner, child);
    assert.ok(child.stdout !== null);
    await once(child.stdout, 'data');
  }

  signal(owner: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#workers.get(owner)?.kill(signal);
  }

  async end(owner: string, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#workers.get(owner);
    assert.ok(child !== undefined);
    this.#workers.delete(owner);
    const { exitCode, signalCode } = child;
    assert.ok(exitCode === null && signalCode === null, `${owner} ended by itself: ${exitCode}`);
    const ended = once(child, 'exit');
    child.kill(how);
    const [code] = (await ended) as [number | null];
    if (how === 'SIGTERM') assert.equal(code, 0, `${owner} stopped cleanly`);
  }

  async submit(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const handle = await this.holdfast.submit('load', this.#results.length);
      this.#results.push(handle.result());
    }
  }

  async submitWithoutWaiting(count: number): Promise<readonly ExecutionId[]> {
    const ids: ExecutionId[] = [];
    for (let n = 0; n < count; n += 1) ids.push((await this.holdfast.submit('load', n)).id);
    return ids;
  }

  async untilAll(
    ids: readonly ExecutionId[],
    isReached: (execution: ExecutionRecord) => boolean,
  ): Promise<void> {
    for (const id of ids) {
      for (let found = await this.holdfast.read(id); ; found = await this.holdfast.read(id)) {
        if (found !== undefined && isReached(found)) break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** Every execution ended once, and the repetitions of every effect have rising fences. */
  async settle(): Promise<{ readonly executions: number; readonly repeated: number }> {
    const outputs = await Promise.all(this.#results);
    assert.deepEqual(
      outputs,
      outputs.map((_, index) => index),
    );
    const effects = (await readFile(join(this.#folder, 'effects.jsonl'), 'utf8'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { key: string; fence: number });
    const newest = new Map<string, number>();
    for (const { key, fence } of effects) {
      assert.ok(
        fence > (newest.get(key) ?? 0),
        `P1: ${key} was repeated under a higher fence only`,
      );
      newest.set(key, fence);
    }
    assert.equal(
      newest.size,
      outputs.length * STEPS,
      'every step of every execution had its effect',
    );
    return { executions: outputs.length, repeated: effects.length - newest.size };
  }

  async close(): Promise<void> {
    for (const owner of [...this.#workers.keys()]) await this.end(owner, 'SIGKILL');
    await this.holdfast.close();
    await this.store.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
