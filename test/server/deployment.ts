// Coordinators and workers as separate processes on one store. They come and go while callers
// submit through any coordinator that responds. Afterwards the test checks the results.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CallRefused, HoldfastClient } from '../../src/client/client.ts';
import type { ExecutionMessage, HistoryMessage } from '../../src/protocol/messages/execution.ts';
import type { PlaceIn, StorePlace } from '../load/place.ts';
import { freePort } from '../services/free-port.ts';
import { type Build, PRESENT_BUILD } from './build.ts';
import type { RestWorkerArgs } from './children/worker.ts';

const STEPS = 3;
const PAUSE_MS = 50;

export class Deployment {
  readonly #folder: string;
  readonly #place: StorePlace;
  readonly #ports: readonly number[];
  readonly #pace: Pick<Shape, 'ttlMs' | 'stepMs'>;
  readonly #children: Map<string, ChildProcess> = new Map();
  readonly #ids: Promise<string>[] = [];
  #faults = 0;
  #isClosed = false;

  private constructor(folder: string, place: StorePlace, shape: Shape & { ports: number[] }) {
    this.#folder = folder;
    this.#place = place;
    this.#ports = shape.ports;
    const { ttlMs, stepMs } = shape;
    this.#pace = { ttlMs, ...(stepMs === undefined ? {} : { stepMs }) };
  }

  static async open(placeIn: PlaceIn, shape: Shape): Promise<Deployment> {
    const folder = await mkdtemp(join(tmpdir(), 'hf-nodes-'));
    await writeFile(join(folder, 'effects.jsonl'), '');
    const ports: number[] = [];
    for (let nth = 0; nth < shape.coordinators; nth += 1) ports.push(await freePort());
    return new Deployment(folder, await placeIn(folder), { ...shape, ports });
  }

  get urls(): readonly string[] {
    return this.#ports.map((port) => `http://127.0.0.1:${port}`);
  }

  /** A folder beside the store's own, removed at the end. */
  file(name: string): string {
    return join(this.#folder, name);
  }

  /** Started as people start it. */
  async startCoordinator(nth: number, build: Build = PRESENT_BUILD): Promise<void> {
    const words = servingOn(this.#place, this.#ports[nth] ?? 0, build);
    await this.#start(`coordinator-${nth}`, words);
  }

  async startWorker(owner: string, build: Build = PRESENT_BUILD): Promise<void> {
    const effects = join(this.#folder, 'effects.jsonl');
    const args: RestWorkerArgs = { build, urls: this.urls, effects, owner, ...this.#pace };
    const file = join(import.meta.dirname, 'children/worker.ts');
    await this.#start(owner, [file, JSON.stringify(args)]);
  }

  /** It stands still, and does not know it. */
  freeze(name: string): void {
    this.#children.get(name)?.kill('SIGSTOP');
  }

  thaw(name: string): void {
    this.#children.get(name)?.kill('SIGCONT');
  }

  /** Responses that report a fault of the coordinator. */
  get faults(): number {
    return this.#faults;
  }

  async end(name: string, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#children.get(name);
    assert.ok(child !== undefined);
    this.#children.delete(name);
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill(how);
      child.kill('SIGCONT');
      await ended;
    }
    if (how === 'SIGTERM') assert.equal(child.exitCode, 0, `${name} stopped cleanly`);
  }

  /** Each under its own key, and repeated until a coordinator accepts it. */
  submit(count: number): Promise<readonly string[]> {
    const made = Array.from({ length: count }, () => {
      const n = this.#ids.length;
      const id = this.#any(({ executions }) =>
        executions.submit({ pipeline: 'load', input: n, key: `load/${n}` }).then((got) => got.id),
      );
      // A caller that awaits it gets the error. Without one, the rejection must not end the
      // process.
      id.catch(() => undefined);
      this.#ids.push(id);
      return id;
    });
    return Promise.all(made);
  }

  /**
   * Every execution ended once, under one id for its key, and no effect happened twice under one
   * fence.
   */
  async settle(): Promise<Settled> {
    const ids = await Promise.all(this.#ids);
    assert.equal(new Set(ids).size, ids.length, 'one execution for each key');
    const ended = await Promise.all(
      ids.map(async (id, n) => {
        const { status, output } = await this.#any(({ executions }) => executions.result(id));
        assert.deepEqual({ status, output }, { status: 'completed', output: n });
        await this.#requireOneHistory(id);
        return this.#any(({ executions }) => executions.read(id));
      }),
    );
    const effects = await this.#checkEffects(ids.length);
    return { executions: ids.length, ...effects, perSecond: perSecond(ended) };
  }

  /** All executions, in the order of their submission. */
  async histories(): Promise<readonly (readonly HistoryMessage[])[]> {
    const ids = await Promise.all(this.#ids);
    return Promise.all(ids.map((id) => this.#historyOf(id)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const name of [...this.#children.keys()]) await this.end(name, 'SIGKILL');
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #start(name: string, words: readonly string[]): Promise<void> {
    const child = spawn(process.execPath, [...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: ownEnvironment(),
    });
    this.#children.set(name, child);
    let problems = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      problems += text;
    });
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    child.stdout.resume();
    assert.equal(child.exitCode, null, `${name} did not start: ${problems}`);
  }

  /** Tries one coordinator after the other until one responds; a refusal is a response. */
  async #any<Found>(ask: (client: HoldfastClient) => Promise<Found>): Promise<Found> {
    for (let nth = Math.floor(Math.random() * this.#ports.length); ; nth += 1) {
      const url = this.urls[nth % this.#ports.length] ?? '';
      try {
        return await ask(new HoldfastClient({ url }));
      } catch (error) {
        const isReply = error instanceof CallRefused && error.status < 500;
        if (isReply || this.#isClosed) throw error;
        if (error instanceof CallRefused) this.#faults += 1;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }

  async #requireOneHistory(id: string): Promise<void> {
    const events = await this.#historyOf(id);
    const count = (kind: string): number => events.filter((each) => each.kind === kind).length;
    assert.deepEqual([count('step-completed'), count('completed')], [STEPS, 1], id);
  }

  #historyOf(id: string): Promise<readonly HistoryMessage[]> {
    return this.#any(({ executions }) => executions.history(id, { limit: 1_000 }));
  }

  async #checkEffects(executions: number): Promise<{ repeated: number; stale: number }> {
    const lines = (await readFile(join(this.#folder, 'effects.jsonl'), 'utf8')).split('\n');
    const effects = lines
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { readonly key: string; readonly fence: number });
    const newest = new Map<string, number>();
    let stale = 0;
    for (const { key, fence } of effects) {
      const last = newest.get(key) ?? 0;
      assert.notEqual(fence, last, `${key} had its effect twice under one fence`);
      if (fence < last) stale += 1;
      else newest.set(key, fence);
    }
    assert.equal(newest.size, executions * STEPS, 'every step had its effect');
    return { repeated: effects.length - newest.size - stale, stale };
  }
}

/** The arguments that start a coordinator. */
export function servingOn(
  place: StorePlace,
  port: number,
  build: Build = PRESENT_BUILD,
): readonly string[] {
  return [build.cli, 'serve', '--auth', 'off', '--port', String(port), ...flagsOf(place)];
}

function flagsOf(place: StorePlace): readonly string[] {
  if (place.kind === 'sqlite') return ['--store', place.file];
  const { url, schema } = place;
  const few = ['--postgres-connections-max', '4'];
  return ['--store', url, '--postgres-schema', schema, ...few];
}

/** Settings of the person who runs the tests must not reach the tested processes. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('HOLDFAST_') && name !== 'NODE_TEST_CONTEXT',
  );
  return Object.fromEntries(kept);
}

interface Shape {
  readonly coordinators: number;
  readonly ttlMs: number;
  /** The duration of each step. */
  readonly stepMs?: number;
}

interface Settled {
  readonly executions: number;
  readonly repeated: number;
  /** P1: under a lower fence than the one before; a resource that checks fences refuses them. */
  readonly stale: number;
  /** How many ended in each second of the run; `-` if there was nothing to do. */
  readonly perSecond: readonly (number | '-')[];
}

function perSecond(ended: readonly ExecutionMessage[]): readonly (number | '-')[] {
  const second = (at = ''): number => Math.floor(Date.parse(at) / 1_000);
  const spans = ended.map(({ submittedAt, endedAt }) => [second(submittedAt), second(endedAt)]);
  const first = Math.min(...spans.map(([, to = 0]) => to));
  const last = Math.max(...spans.map(([, to = 0]) => to));
  return Array.from({ length: last - first + 1 }, (_, nth) => {
    const open = spans.filter(([from = 0, to = 0]) => from <= first + nth && first + nth <= to);
    return open.length === 0 ? '-' : open.filter(([, to]) => to === first + nth).length;
  });
}
