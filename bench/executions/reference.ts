// The program that the engine is compared with, in its own process. It is a spike, which is not part of
// this project, or, without spikes, a floor beside this file.

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { demand } from '../floor.ts';
import type { Round } from '../measure.ts';
import { runChild } from './child.ts';
import type { StoreLocation } from './store-location.ts';

export interface Reference {
  readonly name: 'spike' | 'floor';
  /** The script, and why a floor replaced a spike. */
  readonly about: string;
  run(location: StoreLocation, load: Load): Promise<Round>;
}

export interface Load {
  readonly executions: number;
  readonly inFlight: number;
  readonly steps: number;
}

const PROJECT = join(import.meta.dirname, '../..');

const LIMIT_MS = 300_000;

/** Undefined for the memory store, which has no reference. */
export function referenceFor(
  kind: StoreLocation['kind'],
  spikes: string | undefined,
): Reference | undefined {
  if (kind === 'memory') return undefined;
  const folder = spikesFolder(spikes);
  const script = join(folder, `group-commit-${kind}.mjs`);
  if (existsSync(script)) {
    return { name: 'spike', about: `group-commit-${kind}.mjs`, run: runSpike(script) };
  }
  // Only the default folder may be missing.
  if (spikes !== undefined)
    throw new Error(`Not measured: ${script} does not exist. Check --spikes.`);
  const floor = join(import.meta.dirname, `floor-${kind}.ts`);
  const about = `floor-${kind}.ts, because ${folder} has no spikes (--spikes=<folder>)`;
  return { name: 'floor', about, run: runFloor(floor) };
}

function spikesFolder(named: string | undefined): string {
  return resolve(named ?? join(PROJECT, '../shared/spikes'));
}

interface SpikeOutput {
  readonly SYNC?: string;
  readonly exec_s: number;
  readonly p50: number;
  readonly p99: number;
}

function runSpike(script: string): Reference['run'] {
  return async (location, load) => {
    const found = (await runChild(
      script,
      argsOf(location, load),
      childOf(location),
    )) as SpikeOutput;
    if (location.kind === 'sqlite')
      demand({ synchronous: String(found.SYNC) }, { synchronous: 'FULL' });
    return { perSecond: found.exec_s, p50Ms: found.p50, p99Ms: found.p99 };
  };
}

function runFloor(script: string): Reference['run'] {
  return async (location, load) =>
    (await runChild(script, argsOf(location, load), childOf(location))) as Round;
}

function argsOf(location: StoreLocation, { executions, inFlight, steps }: Load): readonly string[] {
  const numbers = [executions, inFlight, steps].map(String);
  return location.kind === 'sqlite' ? [...numbers, 'FULL', location.file] : numbers;
}

/** The scripts resolve the driver from their working directory. */
function childOf(location: StoreLocation): Parameters<typeof runChild>[2] {
  if (location.kind === 'postgres') {
    return { cwd: PROJECT, env: { PGURL: location.url }, limitMs: LIMIT_MS };
  }
  return { cwd: location.kind === 'sqlite' ? dirname(location.file) : PROJECT, limitMs: LIMIT_MS };
}
