// A log of a real takeover: a process holds a key, saves, and is killed; this process takes over,
// saves, hands on and ends. It has the store's events and both processes' reports.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { openSession } from '../../src/index.ts';
import type { LocatedEntry } from '../../src/observe/lease-log/entry.ts';
import { readLeaseLog } from '../../src/observe/lease-log/read-log.ts';
import { recordLeases } from '../../src/observe/lease-log/recorder.ts';
import { Child } from '../processes/stage/child.ts';
import type { HolderApi } from './children/holder-api.ts';
import { openTrialStore } from './children/open-store.ts';

const KEY = 'the-ledger';
const TTL_MS = 2_000;

/** The files of the log. */
export async function recordTakeover(folder: string): Promise<readonly string[]> {
  const storeFile = join(folder, 'store.db');
  const logs = [join(folder, 'heir.jsonl'), join(folder, 'holder.jsonl')] as const;
  await using store = disposable(await openTrialStore(storeFile));
  const recorder = recordLeases({ file: logs[0] });
  recorder.recordEvents(store.opened, { pollMs: 50 });
  const holder = new Child<HolderApi>('../observe/children/holder.ts');
  try {
    await holder.call('hold', { storeFile, log: logs[1], ttlMs: TTL_MS, keys: [KEY] });
    assert.equal(await holder.call('checkpoint', { text: 'row 41' }), 1);
    assert.equal(await holder.call('checkpoint', { text: 'row 42' }), 1);
    await holder.call('flush', null);
  } finally {
    await holder.kill();
  }
  const session = await openSession({
    store: store.opened,
    owner: 'heir',
    ttlMs: TTL_MS,
    observer: recorder,
  });
  try {
    for (const text of ['row 43', 'row 44']) {
      const got = await session.acquire(KEY, { wait: true });
      assert.ok(got.kind === 'acquired', got.kind);
      assert.equal((await got.lease.checkpoint(text)).kind, 'saved');
      assert.equal((await got.lease.checkpoint(`${text} again`)).kind, 'saved');
      assert.equal((await got.lease.release('finished')).kind, 'released');
    }
  } finally {
    await session.close();
    await recorder.close();
  }
  return logs;
}

function disposable<Opened extends { close(): Promise<void> }>(opened: Opened) {
  return { opened, [Symbol.asyncDispose]: () => opened.close() };
}

export async function readEntries(logs: readonly string[]): Promise<readonly LocatedEntry[]> {
  const entries: LocatedEntry[] = [];
  for (const log of logs) {
    for await (const line of readLeaseLog(log)) {
      assert.ok(line.kind !== 'malformed', 'problem' in line ? line.problem : '');
      entries.push(line);
    }
  }
  return entries;
}
