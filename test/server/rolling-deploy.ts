// Two coordinators and workers of two builds, as processes, on one store: v1 → v2 with open
// executions.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CallRefused, HoldfastClient } from '../../src/client/client.ts';
import type { AnyPipeline } from '../../src/engine/pipeline.ts';
import { contractOf } from '../../src/features/releases/contract-api.ts';
import type { PlaceIn, StorePlace } from '../load/place.ts';
import { freePort } from '../services/free-port.ts';
import { isFullRun } from '../services/tier.ts';
import { until } from './coordinator.ts';
import { ownEnvironment, servingOn } from './deployment.ts';
import { releasedOrder } from './released-order.ts';

const OPEN = isFullRun() ? 1_000 : 300;
const FRESH = isFullRun() ? 200 : 60;
const AT_ONCE = 50;

class Deploy {
  readonly urls: readonly string[];
  readonly #children: Map<string, ChildProcess> = new Map();
  #calls = 0;

  constructor(urls: readonly string[]) {
    this.urls = urls;
  }

  /** Alternates between the coordinators. */
  get client(): HoldfastClient {
    this.#calls += 1;
    return new HoldfastClient({ url: this.urls[this.#calls % this.urls.length] ?? '' });
  }

  async start(name: string, words: readonly string[]): Promise<void> {
    const env = ownEnvironment();
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'], env });
    this.#children.set(name, child);
    assert.ok(child.stdout !== null);
    await once(child.stdout, 'data');
    child.stdout.resume();
  }

  /** Started as people start it. */
  startCoordinator(port: number, place: StorePlace): Promise<void> {
    return this.start(`coordinator-${port}`, [...servingOn(place, port), '--admin', 'main']);
  }

  startWorker(owner: string, release: string, step: string = 'charge'): Promise<void> {
    const args = { urls: this.urls, release, step, owner };
    const file = join(import.meta.dirname, 'children/released-worker.ts');
    return this.start(owner, [file, JSON.stringify(args)]);
  }

  async end(name: string, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#children.get(name);
    assert.ok(child !== undefined, name);
    this.#children.delete(name);
    assert.equal(child.exitCode ?? child.signalCode, null, `${name} had ended by itself`);
    const ended = once(child, 'exit');
    child.kill(how);
    await ended;
  }

  async register(name: string): Promise<void> {
    const contract = { ...contractOf(releasedOrder(name, 'charge') as unknown as AnyPipeline) };
    const build = { name, artifact: 'image', digest: `sha256:${name}`, contract };
    await this.client.releases.register('order', build);
  }

  async activate(name: string): Promise<void> {
    await this.client.releases.change('order', { action: 'activate', name });
  }

  async submit(count: number): Promise<readonly string[]> {
    const inputs = Array.from({ length: count }, (_, n) => n);
    return inBatches(inputs, async (input) => {
      const { id } = await this.client.executions.submit({ pipeline: 'order', input });
      return id;
    });
  }

  /** How many open executions are pinned there. */
  async pinned(name: string): Promise<number> {
    const { items } = await this.client.releases.list('order');
    return items.find((each) => each.name === name)?.pinned ?? -1;
  }

  async untilParked(count: number): Promise<void> {
    await until(async () => {
      const { executions } = this.client;
      let waiting = 0;
      for (let cursor: string | undefined; ; ) {
        const from = cursor === undefined ? {} : { cursor };
        const page = await executions.list({ status: ['waiting'], limit: 1_000, ...from });
        waiting += page.items.length;
        cursor = page.cursor;
        if (cursor === undefined) return waiting === count ? true : undefined;
      }
    });
  }

  async close(): Promise<void> {
    for (const name of [...this.#children.keys()].reverse()) await this.end(name, 'SIGKILL');
  }
}

async function inBatches<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return results;
}

/** Each ended, on the build that it began with. */
async function checkEnds(deploy: Deploy, ids: readonly string[], build: string): Promise<void> {
  const ends = await inBatches(ids, async (id) => {
    const { status, output } = await deploy.client.executions.result(id);
    return { status, output: output as { began: string; ended: string } };
  });
  for (const { status, output } of ends) {
    assert.deepEqual([status, output.began, output.ended], ['completed', build, build]);
  }
}

async function breakingIsRefused(deploy: Deploy, first: string): Promise<void> {
  await deploy.register('broken');
  await deploy.startWorker('worker-broken', 'broken', 'bill');
  const found = await deploy.client.releases.preflight('order', 'broken', { sample: 40 });
  assert.deepEqual([found.breaking, found.replayed, found.brokenCount], [true, 40, 40]);
  assert.ok(found.open >= OPEN);
  const [broken] = found.broken;
  assert.match(
    broken?.why ?? '',
    /^History has step:charge#1 at event \d+, but the code has step:bill#1/,
  );
  assert.ok(broken !== undefined && broken.execution >= first);
  await assert.rejects(deploy.activate('broken'), (error: unknown) => {
    assert.ok(error instanceof CallRefused);
    assert.match(error.message, new RegExp(`40 of 40 .*${broken.execution}.*step:charge#1`));
    return error.code === 'release-breaks';
  });
  await deploy.end('worker-broken', 'SIGTERM');
}

export function registerRollingDeploy(kind: string, placeIn: PlaceIn): void {
  test(`${kind}: v1 → v2 with ${OPEN} open executions: each ends on its release, none fails, the drain reaches zero`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'hf-deploy-'));
    const ports = [await freePort(), await freePort()];
    const deploy = new Deploy(ports.map((port) => `http://127.0.0.1:${port}`));
    try {
      const store = await placeIn(folder);
      for (const port of ports) await deploy.startCoordinator(port, store);
      await deploy.register('v1');
      await deploy.activate('v1');
      for (const owner of ['old-1', 'old-2']) await deploy.startWorker(owner, 'v1');
      const old = await deploy.submit(OPEN);
      await deploy.untilParked(OPEN);
      await breakingIsRefused(deploy, old[0] ?? '');

      await deploy.register('v2');
      for (const owner of ['new-1', 'new-2']) await deploy.startWorker(owner, 'v2');
      const found = await deploy.client.releases.preflight('order', 'v2');
      const counts = [found.breaking, found.replayed, found.open];
      assert.deepEqual(counts, [false, OPEN, OPEN], JSON.stringify(found.broken.slice(0, 3)));
      await deploy.activate('v2');
      const fresh = await deploy.submit(FRESH);
      await deploy.untilParked(OPEN + FRESH);
      assert.deepEqual([await deploy.pinned('v1'), await deploy.pinned('v2')], [OPEN, FRESH]);

      const going = inBatches([...old, ...fresh], (id) =>
        deploy.client.executions.signal(id, 'go', 1),
      );
      // In the middle of it one of the old workers dies.
      await until(async () => ((await deploy.pinned('v1')) < OPEN - 100 ? true : undefined));
      await deploy.end('old-1', 'SIGKILL');
      await going;
      await checkEnds(deploy, old, 'v1');
      await checkEnds(deploy, fresh, 'v2');
      assert.deepEqual([await deploy.pinned('v1'), await deploy.pinned('v2')], [0, 0]);
      const { items } = await deploy.client.deadLetters.list();
      assert.deepEqual(items, []);
      await deploy.client.releases.change('order', { action: 'retire', name: 'v1' });
      t.diagnostic(`${old.length + fresh.length} executions ended, each on its release`);
    } finally {
      await deploy.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
}
