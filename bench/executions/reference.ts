// The program that the engine is compared with, in its own process. It is a spike, which is not part of
// this project, or, without spikes, a floor beside this file.

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { demand } from '../floor.ts';
import type { Round } from '../measure.ts';
import { type ChildOptions, runChild } from './child.ts';
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

/** The scripts resolve the driver from here. */
export const PROJECT = join(import.meta.dirname, '../..');

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

export function spikesFolder(named: string | undefined): string {
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
    const { round, SYNC } = await runSpikeScript(script, argsOf(location, load), childOf(location));
    if (location.kind === 'sqlite') demand({ synchronous: String(SYNC) }, { synchronous: 'FULL' });
    return round;
  };
}

export async function runSpikeScript(
  script: string,
  args: readonly string[],
  options: Omit<ChildOptions, 'limitMs'>,
): Promise<Pick<SpikeOutput, 'SYNC'> & { readonly round: Round }> {
  const { exec_s, p50, p99, ...rest } = (await runChild(script, args, {
    ...{ ...options, limitMs: LIMIT_MS },
  })) as SpikeOutput;
  return { ...rest, round: { perSecond: exec_s, p50Ms: p50, p99Ms: p99 } };
}

function runFloor(script: string): Reference['run'] {
  return async (location, load) =>
    (await runChild(script, argsOf(location, load), {
      ...childOf(location),
      limitMs: LIMIT_MS,
    })) as Round;
}

function argsOf(location: StoreLocation, { executions, inFlight, steps }: Load): readonly string[] {
  const numbers = [executions, inFlight, steps].map(String);
  return location.kind === 'sqlite' ? [...numbers, 'FULL', location.file] : numbers;
}

function childOf(location: StoreLocation): Omit<ChildOptions, 'limitMs'> {
  if (location.kind === 'postgres') return { cwd: PROJECT, env: { PGURL: location.url } };
  return { cwd: location.kind === 'sqlite' ? dirname(location.file) : PROJECT };
}
