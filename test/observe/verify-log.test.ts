// A log of a real takeover is clean. The verifier finds each planted violation at its place.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { LocatedEntry } from '../../src/observe/lease-log/entry.ts';
import type { ViolatedRule } from '../../src/observe/verify-log/facts.ts';
import { verifyEntries, verifyLeaseLogs } from '../../src/observe/verify-log/verify-log.ts';
import { readEntries, recordTakeover } from './recorded-takeover.ts';

let folder = '';
let logs: readonly string[] = [];
let entries: readonly LocatedEntry[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-verify-'));
  logs = await recordTakeover(folder);
  entries = await readEntries(logs);
});

after(() => rm(folder, { recursive: true, force: true }));

test('the log of a real takeover between two processes is clean', async () => {
  const verified = await verifyLeaseLogs(logs);
  assert.ok(verified.kind === 'clean', JSON.stringify(verified, undefined, 2));
  const { keys, terms, takeovers, checkpoints, notes } = verified.checked;
  assert.deepEqual(
    { keys, terms, takeovers, checkpoints },
    {
      keys: 1,
      terms: 3,
      takeovers: 1,
      checkpoints: 6,
    },
  );
  assert.deepEqual(notes, []);
});

// Planting works on plain data: it copies entries and changes them as a broken store would.
type Plain = Record<string, unknown> & { place: { log: string; line: number } };
type Plant = (log: Plain[]) => Plain;

function inner(entry: Plain): Record<string, unknown> {
  return (entry['event'] ?? entry['report'] ?? {}) as Record<string, unknown>;
}

function find(log: readonly Plain[], fits: (inner: Record<string, unknown>) => boolean): Plain {
  const found = log.find((entry) => fits(inner(entry)));
  assert.ok(found, 'the recorded log must have the entry to change');
  return found;
}

const isEvent = (kind: string, index: number) => {
  let seen = -1;
  return (each: Record<string, unknown>): boolean => {
    if (each['kind'] !== kind || each['seq'] === undefined) return false;
    seen += 1;
    return seen === index;
  };
};

const isOperation = (operation: string, index: number) => {
  let seen = -1;
  return (each: Record<string, unknown>): boolean => {
    if (each['operation'] !== operation || each['outcome'] !== 'ok') return false;
    seen += 1;
    return seen === index;
  };
};

/** A changed copy of an entry, under its own line number. */
function copy(log: Plain[], original: Plain, change: Record<string, unknown>): Plain {
  const planted = structuredClone(original);
  Object.assign(inner(planted), change);
  planted.place = { log: 'planted', line: log.length + 1 };
  log.push(planted);
  return planted;
}

const seqAfterAll = (log: readonly Plain[]): number =>
  Math.max(...log.map((entry) => Number(inner(entry)['seq'] ?? 0))) + 1;

const PLANTS: Readonly<Record<ViolatedRule, Plant>> = {
  'overlapping-tenure': (log) => {
    const ended = find(log, isEvent('ended', 0));
    log.splice(log.indexOf(ended), 1);
    return find(log, isEvent('acquired', 1));
  },
  'authority-overlap': (log) => {
    const killed = inner(find(log, isEvent('acquired', 0)))['session'];
    const beat = find(
      log,
      (each) => each['session'] === killed && Number(each['remainingAtReplyMs']) > 0,
    );
    inner(beat)['remainingAtReplyMs'] = 60_000;
    return beat;
  },
  'fence-order': (log) => {
    const second = find(log, isEvent('acquired', 1));
    const third = find(log, isEvent('acquired', 2));
    const lower = Number(inner(second)['fence']) - 100;
    const end = find(
      log,
      (each) => each['kind'] === 'ended' && each['fence'] === inner(third)['fence'],
    );
    inner(third)['fence'] = lower;
    inner(end)['fence'] = lower;
    return third;
  },
  'fence-reissued': (log) => {
    const fence = inner(find(log, isEvent('acquired', 0)))['fence'];
    const seq = seqAfterAll(log);
    return copy(log, find(log, isEvent('acquired', 2)), { seq, fence, key: 'another-key' });
  },
  'ended-twice': (log) => {
    const seq = seqAfterAll(log);
    return copy(log, find(log, isEvent('ended', 1)), { seq, exit: 'failed' });
  },
  'end-without-grant': (log) => {
    const original = find(log, isEvent('ended', 1));
    const fence = Number(inner(original)['fence']) + 1_000;
    return copy(log, original, { seq: seqAfterAll(log), fence });
  },
  'predecessor-chain': (log) => {
    const grant = find(log, (each) => each['operation'] === 'acquire' && hasExit(each, 'expired'));
    const granted = inner(grant)['granted'] as { predecessor: { exit: string } };
    granted.predecessor.exit = 'finished';
    return grant;
  },
  'checkpoint-order': (log) => {
    const first = find(log, isOperation('checkpoint', 0));
    const second = find(log, isOperation('checkpoint', 1));
    assert.equal(inner(first)['fence'], inner(second)['fence']);
    (inner(second)['saved'] as { seq: number }).seq = 1;
    return second;
  },
  'checkpoint-lineage': (log) => {
    const grant = find(log, (each) => each['operation'] === 'acquire' && hasExit(each, 'expired'));
    const granted = inner(grant)['granted'] as { restored: { digest: string } };
    granted.restored.digest = 'of other bytes';
    return grant;
  },
  'stale-write-accepted': (log) => {
    const killed = inner(find(log, isEvent('acquired', 0)));
    const successor = inner(find(log, isEvent('acquired', 1)));
    const save = find(
      log,
      (each) => each['operation'] === 'checkpoint' && each['fence'] === killed['fence'],
    );
    const at = Number(successor['at']) + 5_000;
    return copy(log, save, {
      at,
      operation: 'settle-intent',
      saved: undefined,
      remainingAtReplyMs: 0,
    });
  },
  'renewed-after-end': (log) => {
    const end = inner(find(log, isEvent('session-ended', 0)));
    const known = find(
      log,
      (each) => each['kind'] === 'operation' && each['session'] === end['session'],
    );
    const at = Number(end['at']) + 5_000;
    const beat = { operation: 'heartbeat', outcome: 'ok', remainingAtReplyMs: 0 };
    return copy(log, known, { at, ...beat, fence: undefined, granted: undefined });
  },
  'foreign-write-accepted': (log) => {
    const save = find(log, isOperation('checkpoint', 0));
    inner(save)['session'] = '00000000-0000-4000-8000-00000000000f';
    return save;
  },
  'grant-not-recorded': (log) => {
    const grant = find(log, isOperation('acquire', 0));
    const fence = Number(inner(grant)['fence']) - 7;
    const at = Number(inner(grant)['at']) - 10_000;
    return copy(log, grant, { at, fence, granted: { predecessor: { exit: 'none' } } });
  },
  'granted-after-end': (log) => {
    const end = inner(find(log, isEvent('session-ended', 0)));
    const last = find(log, isEvent('acquired', 2));
    const fence = Number(inner(last)['fence']) + 50;
    const { session, owner } = end;
    const later = { seq: seqAfterAll(log), at: Number(end['at']) + 5_000, key: 'another-key' };
    return copy(log, last, { session, owner, fence, ...later });
  },
  'opened-twice': (log) =>
    copy(log, find(log, isEvent('session-opened', 0)), { seq: seqAfterAll(log) }),
  'conflicting-event': (log) => copy(log, find(log, isEvent('acquired', 0)), { owner: 'another' }),
};

function hasExit(each: Record<string, unknown>, exit: string): boolean {
  const granted = each['granted'] as { predecessor?: { exit?: string } } | undefined;
  return granted?.predecessor?.exit === exit;
}

for (const [rule, plant] of Object.entries(PLANTS)) {
  test(`a planted violation of "${rule}" is found at its place`, () => {
    const log = structuredClone(entries) as unknown as Plain[];
    const planted = plant(log);
    const verified = verifyEntries(log as unknown as LocatedEntry[]);
    assert.ok(verified.kind === 'violated', `${rule} was not found`);
    const found = verified.violations.filter((violation) => violation.rule === rule);
    assert.deepEqual(
      found.map(({ place }) => place),
      [planted.place],
    );
    const others = verified.violations.filter((violation) => violation.rule !== rule);
    const allowed: readonly string[] = CONSEQUENCES[rule] ?? [];
    assert.deepEqual(
      others.filter((other) => !allowed.includes(other.rule)),
      [],
    );
  });
}

/** A violation that cannot be planted without breaking another rule as well. */
const CONSEQUENCES: Readonly<Record<string, readonly ViolatedRule[]>> = {
  'overlapping-tenure': ['predecessor-chain'],
  'fence-reissued': ['overlapping-tenure'],
};

test('a file that is not a lease log is unreadable, with its line', async () => {
  const file = join(folder, 'other.jsonl');
  await writeFile(file, '{"kind":"header","version":1,"at":1}\n{"level":30}\n');
  const verified = await verifyLeaseLogs([...logs, file]);
  assert.ok(verified.kind === 'unreadable');
  assert.deepEqual(
    verified.lines.map(({ place }) => place),
    [{ log: file, line: 2 }],
  );
});

test('the report lists the parts that could not be checked', () => {
  const reportsOnly = verifyEntries(entries.filter((entry) => entry.kind === 'report'));
  assert.match(reportsOnly.checked.notes.join(' '), /No events of the store/);
  const eventsOnly = verifyEntries(entries.filter((entry) => entry.kind === 'event'));
  assert.match(eventsOnly.checked.notes.join(' '), /No reports of holders/);
  const late = entries.filter((entry) => entry.kind === 'event' && entry.event.seq > 2);
  assert.match(verifyEntries(late).checked.notes.join(' '), /starts after the first event/);
});
