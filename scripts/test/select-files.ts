import { globSync, readFileSync } from 'node:fs';
import { join, matchesGlob, relative, resolve } from 'node:path';
import { FAMILIES, type Family } from '../../test/families.ts';
import { choose } from '../../test/services/tier.ts';
import type { Plan, Tier } from './command-line.ts';
import { grouped } from './groups.ts';
import type { LeftOut } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
const EVERYTHING = ['src/**/*.test.ts', 'test/**/*.test.ts'];
const CHECK = ['src/**/*.test.ts', 'test/tidy/**/*.test.ts', 'test/contract/*memory.test.ts'];

/** Long files that only full runs include. */
const FULL_ONLY = '**/*.full.test.ts';

/** Services that the runner starts once for all files. */
const SERVERS: readonly string[] = ['postgres', 'etcd'];

export interface SelectedFiles {
  readonly files: readonly string[];
  /** Runs one after the other. A guard run has one for each family; other runs have one. */
  readonly batches: readonly Batch[];
  readonly servers: ReadonlySet<string>;
  /** The number of files of each sampled family that are left out. */
  readonly leftOut: readonly LeftOut[];
}

export interface Batch {
  readonly name: string;
  readonly files: readonly string[];
}

export function selectFiles(plan: Plan): SelectedFiles {
  const families = plan.tier === 'guard' ? startingAt(FAMILIES, plan.seed) : [];
  const globs = { check: CHECK, test: EVERYTHING, all: EVERYTHING, guard: globsOf(families) };
  const found = globSync([...globs[plan.tier]], { cwd: ROOT })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => isFull(plan.tier) || !matchesGlob(path, FULL_ONLY));
  const filters = plan.filters.map((filter) => relative(ROOT, resolve(filter)));
  const wrong = filters.find((filter) => !found.some((path) => isBelow(path, filter)));
  if (wrong !== undefined) {
    throw new Error(`${wrong} matches no test file of this tier, so no test ran. Check the path.`);
  }
  const possible = [...new Set(found)]
    .filter((path) => filters.length === 0 || filters.some((filter) => isBelow(path, filter)))
    .filter((path) => !plan.without.some((name) => isAbout(path, name)));
  // A path on the command line selects all of its files.
  const leftOut = isFull(plan.tier) || filters.length > 0 ? [] : leftOutOf(possible, plan.seed);
  const files = possible
    .filter((path) => !leftOut.some(({ paths }) => paths.includes(path)))
    .sort()
    .filter((_, index) => index % plan.part.of === plan.part.nth - 1);
  // A whole run always starts them, so that it fails on a machine that lacks one.
  const servers = SERVERS.filter(
    (name) => filters.length === 0 || files.some((path) => mentions(path, name)),
  );
  const selected = filters.length > 0 || isFull(plan.tier) ? files : grouped(files);
  const all: Batch = { name: plan.tier, files: selected };
  return {
    batches: plan.tier === 'guard' ? batchesOf(families, files) : [all],
    leftOut: leftOut.map(({ family, paths, of }) => ({ family, left: paths.length, of })),
    files: selected,
    servers: new Set(servers.filter((name) => !plan.without.includes(name))),
  };
}

/** True if the tier runs every member of its families. */
export function isFull(tier: Tier): boolean {
  return tier === 'all' || tier === 'guard';
}

function startingAt(families: readonly Family[], seed: number): readonly Family[] {
  const always = families.filter(({ isAlways }) => isAlways);
  const others = families.filter(({ isAlways }) => !isAlways);
  const first = seed % others.length;
  return [...always, ...others.slice(first), ...others.slice(0, first)];
}

function batchesOf(families: readonly Family[], files: readonly string[]): readonly Batch[] {
  return families
    .map(({ name, files: globs }) => ({
      name,
      files: files.filter((path) => globs.some((glob) => matchesGlob(path, glob))),
    }))
    .filter((batch) => batch.files.length > 0);
}

function leftOutOf(possible: readonly string[], seed: number) {
  return FAMILIES.flatMap(({ name, files, take }) => {
    const members = possible.filter((path) => files.some((glob) => matchesGlob(path, glob)));
    if (take === undefined || members.length <= take) return [];
    const taken = choose(members, take, { seed, family: name });
    const paths = members.filter((path) => !taken.includes(path));
    return [{ family: `files, ${name}`, paths, of: members.length }];
  });
}

function globsOf(families: readonly Family[]): readonly string[] {
  return families.flatMap(({ files }) => files);
}

function isBelow(path: string, filter: string): boolean {
  return path === filter || path.startsWith(`${filter}/`) || matchesGlob(path, filter);
}

/** Tests under test/ named after a backend need it; unit tests in src/ need no service. */
function isAbout(path: string, backend: string): boolean {
  return path.startsWith('test/') && path.split(/[/.-]/).includes(backend);
}

function mentions(path: string, server: string): boolean {
  return readFileSync(join(ROOT, path), 'utf8').includes(`services/${server}.ts`);
}
