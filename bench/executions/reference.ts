// What the engine is compared with, run as it is in a process of its own: the spikes, which are not part
// of the project, or, where they are not, the floors beside this file.

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { demand } from '../floor.ts';
import type { Round } from '../measure.ts';
import { runChild } from './child.ts';
import type { Place } from './place.ts';

export interface Reference {
  readonly name: 'spike' | 'floor';
  /** What was run, and why a floor if it is one. */
  readonly about: string;
  run(place: Place, load: Load): Promise<Round>;
}

export interface Load {
  readonly executions: number;
  readonly inFlight: number;
  readonly steps: number;
}

const PROJECT = join(import.meta.dirname, '../..');

const LIMIT_MS = 300_000;

/** Undefined for the memory store, which has nothing beside it. */
export function referenceFor(
  kind: Place['kind'],
  spikes: string | undefined,
): Reference | undefined {
  if (kind === 'memory') return undefined;
  const folder = spikesFolder(spikes);
  const script = join(folder, `group-commit-${kind}.mjs`);
  if (existsSync(script)) {
    return { name: 'spike', about: `group-commit-${kind}.mjs`, run: runSpike(script) };
  }
  // What was asked for by name must be there; only the usual folder may be missing.
  if (spikes !== undefined) throw new Error(`Not measured: there is no ${script}.`);
  const floor = join(import.meta.dirname, `floor-${kind}.ts`);
  const about = `floor-${kind}.ts, since there are no spikes in ${folder} (--spikes=<folder>)`;
  return { name: 'floor', about, run: runFloor(floor) };
}

function spikesFolder(asked: string | undefined): string {
  return resolve(asked ?? join(PROJECT, '../shared/spikes'));
}

interface SpikeOutput {
  readonly SYNC?: string;
  readonly exec_s: number;
  readonly p50: number;
  readonly p99: number;
}

function runSpike(script: string): Reference['run'] {
  return async (place, load) => {
    const found = (await runChild(script, argsOf(place, load), childOf(place))) as SpikeOutput;
    if (place.kind === 'sqlite')
      demand({ synchronous: String(found.SYNC) }, { synchronous: 'FULL' });
    return { perSecond: found.exec_s, p50Ms: found.p50, p99Ms: found.p99 };
  };
}

function runFloor(script: string): Reference['run'] {
  return async (place, load) =>
    (await runChild(script, argsOf(place, load), childOf(place))) as Round;
}

function argsOf(place: Place, { executions, inFlight, steps }: Load): readonly string[] {
  const numbers = [executions, inFlight, steps].map(String);
  return place.kind === 'sqlite' ? [...numbers, 'FULL', place.file] : numbers;
}

/** They take the driver from the folder they are run in. */
function childOf(place: Place): Parameters<typeof runChild>[2] {
  if (place.kind === 'postgres') {
    return { cwd: PROJECT, env: { PGURL: place.url }, limitMs: LIMIT_MS };
  }
  return { cwd: place.kind === 'sqlite' ? dirname(place.file) : PROJECT, limitMs: LIMIT_MS };
}
