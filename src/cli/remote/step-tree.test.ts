import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryMessage } from '../../protocol/messages/execution.ts';
import { progressText, StepTree } from './executions.ts';
import { eventRow } from './show.ts';

function historyOf(
  ...events: readonly (readonly [string, (string | undefined)?, object?])[]
): HistoryMessage[] {
  return events.map(([kind, name, body], nth) => ({
    ...{ seq: nth + 1, at: '2026-01-02T03:04:05.006Z', kind: kind as HistoryMessage['kind'] },
    ...(name === undefined ? {} : { name }),
    ...(body === undefined ? {} : { body }),
  }));
}

function treeOf(events: readonly HistoryMessage[]): StepTree {
  const tree = new StepTree();
  for (const event of events) tree.add(event);
  return tree;
}

test('attempts, children and compensations are shown below their steps', () => {
  const tree = treeOf(
    historyOf(
      ['submitted'],
      ['claimed', undefined, { previous: 'none' }],
      [
        'step-failed',
        'charge',
        { key: 'step:charge#1', failure: { message: 'busy' }, retryInMs: 5 },
      ],
      ['step-completed', 'charge', { key: 'step:charge#1', out: 'paid' }],
      ['child-spawned', 'label', { key: 'spawn:label#1', ids: ['c1', 'c2'] }],
      ['child-ended', 'x', { key: 'child:label#1', id: 'c1', status: 'completed' }],
      ['claimed', undefined, { previous: 'lost' }],
      ['step-failed', 'ship', { key: 'step:ship#1', failure: { message: 'no van\u001b[2J' } }],
      ['compensating'],
      ['step-completed', 'charge', { key: 'undo:step:charge#1', out: null }],
    ),
  );
  assert.equal(tree.status, 'compensating');
  assert.deepEqual(tree.lines(), [
    '├─ ✓ charge (2 attempts)  paid',
    '│  └─ ✓ undo',
    '├─ … label',
    '│  ├─ ✓ c1  completed',
    '│  └─ … c2',
    '├─ ! taken over by another worker',
    '└─ ✗ ship  no van\\u001b[2J',
  ]);
});

test('many finished steps of one name are one line', () => {
  const steps = Array.from(
    { length: 5 },
    (_, nth) => ['step-completed', 'resize', { key: `step:resize#${nth}` }] as const,
  );
  const after = ['timer-set', 'pause', { key: 'sleep:pause#1' }] as const;
  assert.deepEqual(treeOf(historyOf(...steps, after)).lines(), [
    '├─ ✓ resize × 5',
    '└─ … pause  sleeps',
  ]);
});

test('a compensation is shown as undo, also in the list of events', () => {
  const [undo, step] = historyOf(
    ['step-completed', 'charge', { key: 'undo:step:charge#1' }],
    ['step-completed', 'charge', { key: 'step:charge#1' }],
  ).map((event) => eventRow(event)[2]);
  assert.deepEqual([undo, step], ['undo charge', 'charge']);
});

test('progress is drawn as a bar if it can be', () => {
  assert.equal(progressText({ done: 3, of: 12 }), `[${'#'.repeat(6)}${'-'.repeat(18)}]  25 % 3/12`);
  assert.equal(progressText(1), `[${'#'.repeat(24)}] 100 %`);
  assert.equal(progressText({ done: 9, of: 3 }), `[${'#'.repeat(24)}] 100 % 9/3`);
  assert.equal(progressText({ page: 2 }), '{"page":2}');
  assert.equal(progressText('half'), 'half');
  assert.equal(progressText(undefined), '');
});

test('facts about an event are shown in words, and replay data is hidden', () => {
  const notes = historyOf(
    ['step-completed', 'a', { key: 'step:a#1' }],
    ['step-completed', 'b', { key: 'step:b#1', attempt: 2, with: ['step:c#1'] }],
    ['step-completed', 'c', { key: 'step:c#1', out: ['x'] }],
    ['child-spawned', 'd', { key: 'children:d#1', ids: ['1', '2', '3', '4', '5'], last: true }],
    ['paused', undefined, { by: 'olga', reason: '' }],
    ['parked'],
  ).map((event) => eventRow(event).at(-1));
  assert.deepEqual(notes, ['', 'attempt 2', '["x"]', 'ids 1 2 3 and 2 more', 'by olga', '']);
  const tree = treeOf(historyOf(['step-completed', 'a', { key: 'step:a#1', attempt: 2 }]));
  assert.deepEqual(tree.lines(), ['└─ ✓ a']);
});
