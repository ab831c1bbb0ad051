import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, matchesGlob, relative, resolve } from 'node:path';
import { FAMILIES, type Family } from '../../test/families.ts';
import { choose } from '../../test/services/tier.ts';
import type { Plan, Tier } from './command-line.ts';
import type { LeftOut } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
const EVERYTHING = ['src/**/*.test.ts', 'test/**/*.test.ts'];
const CHECK = ['src/**/*.test.ts', 'test/tidy/**/*.test.ts', 'test/contract/*memory.test.ts'];

/** Files of a sampled run that share a process: to load the sources for each would cost more than the tests. */
const GROUPS: Readonly<Record<string, string>> = {
  unit: 'src/**/*.test.ts',
  tidy: 'test/tidy/*.test.ts',
  observe: 'test/observe/*.test.ts',
  engine: 'test/engine/*.test.ts',
  server: 'test/server/!(hostile*).test.ts',
  hostile: 'test/server/hostile*.test.ts',
  push: 'test/transport/push*.test.ts',
  transport: 'test/transport/{example,grpc-limits,proto,python}.test.ts',
  cli: 'test/cli/*.test.ts',
  guards: 'test/guards/*.test.ts',
  services: 'test/{archive,console,docs,services}/*.test.ts',
  stores: 'test/{etcd,postgres,redis}/*.test.ts',
};

/** They keep a process of their own: they are long, wait at their top level, or change the whole process. */
const ALONE: readonly string[] = [
  'test/archive/{kill,s3}.test.ts',
  'test/cli/{executions,serve,store-commands}.test.ts',
  'test/console/{browser,five-minutes}-*.test.ts',
  'test/engine/{clock-jumps,full-disk,memory,postgres,sqlite,suspects-postgres,suspend*,warnings}.test.ts',
  'test/etcd/mutation-etcd.test.ts',
  'test/postgres/plans-postgres.test.ts',
  'test/server/{behaviours,many-nodes,nodes,recovery-in-time,rolling-deploy,routes}-*.test.ts',
  'test/server/{cost,deep,fuzz,idle}.test.ts',
];

/** Files that are long as a whole: full runs have them, `npm test` does not. */
const FULL_ONLY = '**/*.full.test.ts';

/** Servers that the runner starts once for all files. */
const SERVERS: readonly string[] = ['postgres', 'etcd'];

export interface SelectedFiles {
  readonly files: readonly string[];
  /** The families of a guard run. */
  readonly families: readonly Family[];
  readonly servers: ReadonlySet<string>;
  /** Files of families of which the run takes some. */
  readonly leftOut: readonly LeftOut[];
}

export function selectFiles(plan: Plan): SelectedFiles {
  const families = plan.tier === 'guard' ? thirdOf(FAMILIES, plan.seed) : [];
  const globs = { check: CHECK, test: EVERYTHING, all: EVERYTHING, guard: globsOf(families) };
  const found = globSync([...globs[plan.tier]], { cwd: ROOT })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => isFull(plan.tier) || !matchesGlob(path, FULL_ONLY));
  const filters = plan.filters.map((filter) => relative(ROOT, resolve(filter)));
  const possible = [...new Set(found)]
    .filter((path) => filters.length === 0 || filters.some((filter) => isBelow(path, filter)))
    .filter((path) => !plan.without.some((name) => isAbout(path, name)));
  // A path on the command line asks for all of its files.
  const leftOut = isFull(plan.tier) || filters.length > 0 ? [] : leftOutOf(possible, plan.seed);
  const files = possible
    .filter((path) => !leftOut.some(({ paths }) => paths.includes(path)))
    .sort()
    .filter((_, index) => index % plan.part.of === plan.part.nth - 1);
  // A whole run always starts them, so that a machine without one cannot look green.
  const servers = SERVERS.filter(
    (name) => filters.length === 0 || files.some((path) => mentions(path, name)),
  );
  return {
    families,
    leftOut: leftOut.map(({ family, paths, of }) => ({ family, left: paths.length, of })),
    files: filters.length > 0 || isFull(plan.tier) ? files : grouped(files),
    servers: new Set(servers.filter((name) => !plan.without.includes(name))),
  };
}

/** Whether a tier takes every member of its families. */
export function isFull(tier: Tier): boolean {
  return tier === 'all' || tier === 'guard';
}

function thirdOf(families: readonly Family[], seed: number): readonly Family[] {
  return families.filter((_, index) => index % 3 === seed % 3);
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

/** Replaces the files of each group by one file that loads them, each in a suite of its own. */
function grouped(files: readonly string[]): readonly string[] {
  const folder = '.cache/test-groups';
  mkdirSync(join(ROOT, folder), { recursive: true });
  return Object.entries(GROUPS).reduce<readonly string[]>((rest, [name, glob]) => {
    const members = rest.filter(
      (path) => matchesGlob(path, glob) && !ALONE.some((alone) => matchesGlob(path, alone)),
    );
    if (members.length === 0) return rest;
    const group = `${folder}/${name}.test.ts`;
    writeFileSync(join(ROOT, group), [GROUP_HEAD, ...members.map(suiteOf)].join('\n'));
    return [group, ...rest.filter((path) => !members.includes(path))];
  }, files);
}

const GROUP_HEAD = `import { createRequire } from 'node:module';
import { describe } from 'node:test';
const load = createRequire(import.meta.url);`;

/** Hooks at the top level of a file become hooks of its suite, because it is loaded inside. */
function suiteOf(path: string): string {
  return `describe('${path}', () => load('../../${path}'));`;
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
