// Row locks are not guards: without one, no sequence of calls ends differently, only concurrent
// calls can. So they have no mutants here, and test/model (at-once) shows that they are needed.

import { type MutatedStore, storeFiles } from './mutants.ts';

const LOCK = /\bfor (?:no key update|key share|update|share)\b(?: of \w+)?(?: skip locked)?/;

/** Every lock clause, with the reason why it has no mutant. */
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
