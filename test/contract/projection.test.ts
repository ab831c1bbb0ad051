import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectHistory } from '../../contract/execution/projection.ts';
import type { HistoryEvent, NewEvent } from '../../src/execution/history.ts';
import type { Payload } from '../../src/execution/names.ts';
import { toFence } from '../../src/lease/fence.ts';
import { toInstant } from '../../src/support/clock.ts';

const fence = toFence(2 ** 40 + 1);

function claimed(previous: string): NewEvent {
  const body = JSON.stringify({ session: 's', owner: 'ann', previous }) as Payload;
  return { kind: 'claimed', body };
}

function historyOf(...events: readonly (NewEvent & { readonly by?: 'outsider' })[]) {
  return events.map(({ by, ...event }, index): HistoryEvent => {
    const own = by === 'outsider' || index === 0 ? {} : { fence };
    return { ...event, seq: index + 1, at: toInstant(index), ...own };
  });
}

test('X-4: no events give an empty projection', () => {
  const { status, seq, holds, previous } = projectHistory([]);
  assert.deepEqual([status, seq, holds, previous], ['queued', 0, [], 'none']);
});

test('X-4: each event of a whole execution changes the projection', () => {
  const events = historyOf(
    { kind: 'submitted' },
    claimed('none'),
    { kind: 'step-completed' },
    { kind: 'parked' },
    { kind: 'paused', by: 'outsider' },
    { kind: 'resumed', by: 'outsider' },
    claimed('parked'),
    { kind: 'blocked' },
    { kind: 'paused', by: 'outsider' },
    { kind: 'resumed', by: 'outsider' },
    claimed('given-back'),
    { kind: 'completed' },
  );
  const states = events.map((_, index) => {
    const { status, holds, session } = projectHistory(events.slice(0, index + 1));
    return [status, holds.join('+'), session ?? ''].join(' ').trim();
  });
  assert.deepEqual(states, [
    'queued',
    'running  s',
    'running  s',
    'waiting',
    'waiting paused',
    'waiting',
    'running  s',
    'queued blocked',
    'queued paused+blocked',
    'queued',
    'running  s',
    'completed',
  ]);
});

test('X-7: the projection counts claims without progress as the claims do', () => {
  const counts = (...events: readonly NewEvent[]) =>
    projectHistory(historyOf({ kind: 'submitted' }, ...events)).claimsWithoutProgress;
  const step: NewEvent = { kind: 'step-completed' };
  assert.equal(counts(claimed('none')), 0);
  assert.equal(counts(claimed('none'), claimed('lost'), claimed('lost')), 2);
  assert.equal(counts(claimed('none'), claimed('lost'), step, claimed('lost')), 1);
  assert.equal(counts(claimed('none'), claimed('lost'), { kind: 'parked' }, claimed('parked')), 0);
});

test('Y-2: an owner that starts compensation lets go, and the execution is compensating from then on', () => {
  const events = historyOf(
    { kind: 'submitted' },
    claimed('none'),
    { kind: 'compensating' },
    { kind: 'paused', by: 'outsider' },
    { kind: 'resumed', by: 'outsider' },
    claimed('given-back'),
    { kind: 'parked' },
    claimed('parked'),
    { kind: 'compensated' },
  );
  const states = events.map((_, index) => {
    const { status, holds, compensating } = projectHistory(events.slice(0, index + 1));
    return [status, ...holds, ...(compensating ? ['compensating'] : [])].join(' ');
  });
  assert.deepEqual(states, [
    'queued',
    'running',
    'queued compensating',
    'queued paused compensating',
    'queued compensating',
    'running compensating',
    'waiting compensating',
    'running compensating',
    'compensated compensating',
  ]);
  assert.equal(projectHistory(events.slice(0, 3)).session, undefined);
});

test('Y-3: an outsider starts the compensation of an unowned execution, and its holds stay', () => {
  const events = historyOf(
    { kind: 'submitted' },
    claimed('none'),
    { kind: 'parked' },
    { kind: 'paused', by: 'outsider' },
    { kind: 'compensating', by: 'outsider' },
  );
  const { status, holds, compensating, seq, previous } = projectHistory(events);
  assert.deepEqual([status, holds, compensating, seq], ['queued', ['paused'], true, 5]);
  assert.equal(previous, 'parked', 'how its last claim ended stays known');
});

test('Y-22: a re-drive that compensates is compensating from its start', () => {
  const events = historyOf(
    { kind: 'submitted' },
    { kind: 'step-completed', by: 'outsider' },
    { kind: 'compensating', by: 'outsider' },
  );
  const { status, compensating, previous } = projectHistory(events, 'given-back');
  assert.deepEqual([status, compensating, previous], ['queued', true, 'given-back']);
});
