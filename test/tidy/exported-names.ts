import type { ProjectFile } from './project-files.ts';
import { viewOf } from './source-view.ts';

const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let) (\w+)/gm;
const STORE = /^src\/store\/(?:(sqlite|postgres|redis|etcd|sql)\/|[\w-]+\.ts$)/;

/** Names that two files of `src` define, and why both are right. */
export const SHARED_NAMES: Readonly<Record<string, string>> = {
  ...each(['Page', 'WatchOptions'], 'public in two entries of the package'),
  openSession: 'the public function, and the verb of each store behind it',
  recover: 'a verb of the command line, which is named as it is typed, and of each store',
};

function each(names: readonly string[], why: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, why]));
}

/**
 * Exported names with two meanings: a reader who knows one misreads the other. The stores share the
 * names of their verbs, and each store has a name once.
 */
export function sharedNames(
  files: readonly ProjectFile[],
  allowed: Readonly<Record<string, string>>,
): readonly string[] {
  const found = homesByName(files);
  const unused = Object.keys(allowed).filter((name) => !isShared(found.get(name) ?? []));
  return [
    ...[...found]
      .filter(([name, paths]) => isShared(paths) && !Object.hasOwn(allowed, name))
      .map(([name, paths]) => `${name} is exported by ${paths.join(', ')}: rename all but one`),
    ...unused.map((name) => `${name} has one meaning now: take it off the list`),
  ];
}

function homesByName(files: readonly ProjectFile[]): ReadonlyMap<string, readonly string[]> {
  const homes = new Map<string, string[]>();
  for (const { path, text } of files) {
    const names = new Set(
      [...viewOf(text, 'code').matchAll(DECLARED)].map(([, name = '']) => name),
    );
    for (const name of names) homes.set(name, [...(homes.get(name) ?? []), path]);
  }
  return homes;
}

function isShared(paths: readonly string[]): boolean {
  const stores = paths.flatMap((path) => storeOf(path) ?? []);
  const others = paths.length - stores.length + (stores.length > 0 ? 1 : 0);
  return others > 1 || new Set(stores).size < stores.length;
}

/** Some of the stores share the files beside their folders. */
function storeOf(path: string): string | undefined {
  const [found, store = 'shared'] = STORE.exec(path) ?? [];
  return found === undefined ? undefined : store;
}
