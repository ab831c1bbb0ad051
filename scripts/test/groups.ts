import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, matchesGlob, resolve } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Short files that share a process in sampled runs: loading the sources costs more than the tests. */
const GROUPS: Readonly<Record<string, string>> = {
  unit: 'src/**/*.test.ts',
  tidy: 'test/tidy/*.test.ts',
  observe: 'test/observe/*.test.ts',
  engine: 'test/engine/*.test.ts',
  server: 'test/server/!(hostile*).test.ts',
  hostile: 'test/server/hostile*.test.ts',
  push: 'test/transport/push*.test.ts',
  transport: 'test/transport/{example,grpc-limits,proto,python}.test.ts',
  conform: 'test/conform/*.test.ts',
  cli: 'test/cli/*.test.ts',
  guards: 'test/guards/*.test.ts',
  services: 'test/{archive,console,docs,services}/*.test.ts',
};

/** Not grouped: these files are long, wait at their top level, or change the whole process. */
const ALONE: readonly string[] = [
  'test/archive/{erase,kill,s3}.test.ts',
  'test/cli/{executions,init,lease-run-*,serve,store-commands}.test.ts',
  'test/console/{browser,five-minutes}-*.test.ts',
  'test/engine/{claim-behind-submit*,clock-jumps,full-disk,joining-*,memory,postgres,sqlite,suspects-postgres,suspend*,warnings}.test.ts',
  'test/etcd/mutation-etcd.test.ts',
  'test/postgres/{plans,slow-migration,submit-within}-postgres.test.ts',
  'test/server/{behaviours,many-nodes,nodes,recovery-in-time,rolling-deploy,routes}-*.test.ts',
  'test/server/{claim-cost,cost,deep,fuzz,idle}.test.ts',
];

/** Replaces the files of each group by one file that loads them. */
export function grouped(files: readonly string[]): readonly string[] {
  // Two runs in one checkout must not share these files.
  const folder = `.cache/test-groups/${process.pid}`;
  mkdirSync(join(ROOT, folder), { recursive: true });
  process.once('exit', () => rmSync(join(ROOT, folder), { recursive: true, force: true }));
  return Object.entries(GROUPS).reduce<readonly string[]>((rest, [name, glob]) => {
    const members = rest.filter(
      (path) => matchesGlob(path, glob) && !ALONE.some((alone) => matchesGlob(path, alone)),
    );
    if (members.length === 0) return rest;
    const group = `${folder}/${name}.test.ts`;
    writeGroup(join(ROOT, group), members);
    return [group, ...rest.filter((path) => !members.includes(path))];
  }, files);
}

/** Writes a file that loads each member in its own suite, so that hooks apply to that suite only. */
export function writeGroup(group: string, members: readonly string[]): void {
  const suites = members.map((path) => {
    const [name, file] = [path, resolve(ROOT, path)].map((text) => JSON.stringify(text));
    return `describe(${name}, () => load(${file}));`;
  });
  writeFileSync(group, [GROUP_HEAD, ...suites].join('\n'));
}

const GROUP_HEAD = `import { createRequire } from 'node:module';
import { describe } from 'node:test';
const load = createRequire(import.meta.url);`;
