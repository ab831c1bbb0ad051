// Row locks are not guards: without one, no sequence of calls ends otherwise, only calls at the same
// time can. So no mutant is made of them here; that they are needed shows in test/model (at-once).

import { type MutatedStore, storeFiles } from './mutants.ts';

const LOCK = /\bfor (?:no key update|key share|update|share)\b(?: of \w+)?(?: skip locked)?/;

/** Every lock clause, with the reason why it is left as it is. */
export function listLocks(store: MutatedStore): readonly string[] {
  return storeFiles(store).flatMap(({ file, source }) =>
    source.split('\n').flatMap((line, index) => {
      const isComment = /^\s*(\/\/|\*|\/\*)/.test(line);
      const lock = isComment ? undefined : LOCK.exec(line)?.[0];
      if (lock === undefined) return [];
      return [`${file}:${index + 1} "${lock}": a lock; only calls at once can miss it`];
    }),
  );
}
