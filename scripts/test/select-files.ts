import { globSync, readFileSync } from 'node:fs';
import { join, matchesGlob, relative, resolve } from 'node:path';
import { BACKENDS } from '../../test/services/excluded.ts';
import type { Plan } from './command-line.ts';

const ROOT = join(import.meta.dirname, '../..');
const EVERYTHING = ['test/tidy/**/*.test.ts', 'src/**/*.test.ts', 'test/**/*.test.ts'];
const QUICK = ['test/tidy/**/*.test.ts', 'src/**/*.test.ts', 'test/contract/**/*.test.ts'];
/** Run a second time elsewhere on earth, where a local date hidden in a store would show. */
const TIME_ZONE_SENSITIVE = 'test/contract/**/*.test.ts';

export interface SelectedFiles {
  readonly all: readonly string[];
  readonly forOtherTimeZone: readonly string[];
  /** Servers that the runner starts once for all files. */
  readonly using: ReadonlySet<string>;
}

/** They have a time zone of their own, and are started by the runner. */
const SERVERS: readonly string[] = ['postgres', 'etcd'];

export function selectFiles(plan: Plan): SelectedFiles {
  const found = unique(globSync(plan.quick ? QUICK : EVERYTHING, { cwd: ROOT }));
  const filters = plan.filters.map((filter) => relative(ROOT, resolve(filter)));
  const wanted = found.filter((path) => filters.length === 0 || matchesSome(path, filters));
  const all = wanted.filter((path) => !plan.without.some((name) => isAbout(path, name)));
  announceLeftOut(
    plan,
    wanted.filter((path) => !all.includes(path)),
  );
  return {
    all,
    forOtherTimeZone: plan.quick
      ? []
      : all.filter((path) => matchesGlob(path, TIME_ZONE_SENSITIVE) && !needsService(path)),
    // A whole run always asks for them, so that a machine without one cannot look green.
    using: new Set(SERVERS.filter((name) => filters.length === 0 || all.some(mentions(name)))),
  };
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.map((path) => path.replaceAll('\\', '/')))].sort();
}

function matchesSome(path: string, filters: readonly string[]): boolean {
  return filters.some(
    (filter) => path === filter || path.startsWith(`${filter}/`) || matchesGlob(path, filter),
  );
}

/** Tests under test/ named after a backend need it; unit tests in src/ need no service. */
function isAbout(path: string, backend: string): boolean {
  return path.startsWith('test/') && path.split(/[/.-]/).includes(backend);
}

function needsService(path: string): boolean {
  return BACKENDS.some((backend) => isAbout(path, backend));
}

function mentions(server: string): (path: string) => boolean {
  return (path) => readFileSync(join(ROOT, path), 'utf8').includes(`services/${server}.ts`);
}

function announceLeftOut(plan: Plan, leftOut: readonly string[]): void {
  for (const backend of plan.without) {
    console.log(
      `!!! WITHOUT ${backend.toUpperCase()}: nothing that needs it is tested in this run`,
    );
  }
  for (const path of leftOut) {
    console.log(`!!!   left out: ${path}`);
  }
}
