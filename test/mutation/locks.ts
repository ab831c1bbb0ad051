// Row locks are not guards: without one, no sequence of calls ends otherwise, only calls at the same
// time can. So no mutant is made of them here; that they are needed shows in test/model (at-once).

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MutatedStore, STORES_FOLDER } from './mutants.ts';

const LOCK = /\bfor (?:no key update|key share|update|share)\b(?: of \w+)?(?: skip locked)?/;

/** Every lock clause, with the reason why it is left as it is. */
export function listLocks(store: MutatedStore): readonly string[] {
  return readdirSync(join(STORES_FOLDER, store))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .flatMap((name) => {
      const lines = readFileSync(join(STORES_FOLDER, store, name), 'utf8').split('\n');
      return lines.flatMap((line, index) => {
        const isComment = /^\s*(\/\/|\*|\/\*)/.test(line);
        const lock = isComment ? undefined : LOCK.exec(line)?.[0];
        if (lock === undefined) return [];
        return [`${store}/${name}:${index + 1} "${lock}": a lock; only calls at once can miss it`];
      });
    });
}
