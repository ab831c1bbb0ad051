// An export of a build that recorded no projects for values: a project finds the values that its
// rows refer to.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openForExport } from '../../src/embedded/export-store.ts';
import { openStore } from '../../src/embedded/open-store.ts';
import { parseProject } from '../../src/execution/names.ts';
import type { ExportedRows } from '../../src/features/export/port.ts';
import { Holdfast } from '../../src/index.ts';
import { digestOf } from '../../src/support/digest.ts';
import { postgresForTests } from '../services/postgres.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import type { Place } from './exported.ts';

const BYTES = new TextEncoder().encode('"large"');
const DIGEST = digestOf(BYTES);

async function* rowsOfBefore(): AsyncGenerator<ExportedRows> {
  const rows = [[DIGEST, 1_700_000_000_000, BYTES]];
  yield { table: 'blob', columns: ['digest', 'at', 'bytes'], rows };
}

async function importsIt({ store, postgres }: Place): Promise<void> {
  const port = await openForExport(store, postgres);
  const counters = { fence: 0, halted: null, clockAt: 0, eventSeq: 0, eventsDeleted: 0 };
  const loaded = await port.load({
    ...{ actor: 'olga', reason: 'imported', counters, rows: rowsOfBefore() },
  });
  assert.equal(loaded.kind, 'loaded');
  await port.close();
  const opened = await openStore(store, postgres);
  const holdfast = new Holdfast({ store: opened });
  const ours = { project: parseProject('ours'), digest: DIGEST };
  assert.equal(await opened.executions.getBlob(ours), undefined);
  assert.equal(await holdfast.decode({ ref: DIGEST }, { project: 'ours' }), 'large');
  assert.deepEqual(await opened.executions.getBlob(ours), BYTES);
  await holdfast.close();
  await opened.close();
}

test('EX-9, X-29: an export without projects of values is imported, and its values count as older ones', async () => {
  const { file, remove } = await freshSqliteFile();
  try {
    await importsIt({ store: file });
  } finally {
    await remove();
  }
});

test('EX-9, X-29: PostgreSQL imports an export without projects of values too', async () => {
  const { url, release } = await postgresForTests();
  try {
    await importsIt({ store: url, postgres: { schema: 'older_values' } });
  } finally {
    await release();
  }
});
