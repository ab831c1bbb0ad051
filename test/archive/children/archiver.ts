// A process that archives due executions, or erases some, and kills itself at a given point: around a
// document, within one, or around a commit.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openFolderArchive } from '../../../src/archive/folder.ts';
import type { Archive } from '../../../src/archive/port.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';

export interface ArchiverArgs {
  readonly file: string;
  readonly folder: string;
  /** Erases these instead of archiving. */
  readonly erases?: readonly string[];
  readonly dieAt?: { readonly what: 'put' | 'commit'; readonly phase: string; readonly n: number };
}

const { file, folder, erases, dieAt } = JSON.parse(process.argv[2] ?? '{}') as ArchiverArgs;
const counts = { put: 0, commit: 0 };

function passing(what: 'put' | 'commit', phase: string, n: number): void {
  counts[what] = n;
  if (dieAt?.what !== what || dieAt.phase !== phase || dieAt.n !== n) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal is on its way. Nothing may happen before it arrives.
  for (;;);
}

const whole = openFolderArchive({ folder });
let puts = 0;
const archive: Archive = {
  ...whole,
  async put(document) {
    puts += 1;
    const n = puts;
    passing('put', 'before', n);
    if (dieAt?.what === 'put' && dieAt.phase === 'within' && dieAt.n === n) {
      // A partial document beside its final place, as far as the process got.
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, `half-${n}.part`), document.bytes.subarray(0, 7));
      passing('put', 'within', n);
    }
    await whole.put(document);
    passing('put', 'after', n);
  },
};

const store = await openSqliteStore({
  file,
  onBoundary: (phase, n) => passing('commit', phase, n),
});
const holdfast = new Holdfast({ store, retention: { archive, keepMs: { completed: 0 } } });
let erased = 0;
for (const id of erases ?? []) {
  const { kind } = await holdfast.erase(id, { actor: 'olga', reason: 'asked for' });
  if (kind === 'erased') erased += 1;
}
const run = erases === undefined ? await holdfast.archive.run() : { removed: 0 };
await holdfast.close();
await store.close();
console.log(JSON.stringify({ run, erased, counts }));
