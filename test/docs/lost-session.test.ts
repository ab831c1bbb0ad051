// The loop of the guide continues in a new session after an operator ended the first one.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { outputOf } from './run-example.ts';

const PAGE = join(import.meta.dirname, '../../docs/guides/with-lease.md');
const SECTION = /^## Open a lost session again$.*?^```ts\n(.*?)^```$/ms;

/** Ends the session while the function of the first one runs. */
const WORK = `
        runs.push(session?.id ?? '');
        if (runs.length === 1) {
          const by = { kind: 'operator', actor: 'olga', reason: 'drill' } as const;
          if (session) await store.sessions.end({ id: session.id, by });
          await new Promise((resolve) => session?.signal.addEventListener('abort', resolve));
        }
`;

const DRIVER = `
import { openSqliteStore } from 'holdfast/store/sqlite';

const runs: string[] = [];
const store = await openSqliteStore({ file: 'leases.db' });
await closeMonths(store, AbortSignal.timeout(30_000));
console.log(new Set(runs).size);
await store.close();
`;

test('the loop of the guide opens a lost session again', async () => {
  const code = SECTION.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? '';
  assert.match(code, /^ *\/\/ …$/m);
  const output = await outputOf(`${code.replace(/^ *\/\/ …$/m, WORK)}${DRIVER}`);
  assert.equal(output.trim(), '2');
});
