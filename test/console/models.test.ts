// The console's models, without a browser.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fieldsOf, readAnswer } from '../../console/src/model/answer-fields.ts';
import { pulseOf } from '../../console/src/model/pulse.ts';
import { reportBlocks } from '../../console/src/model/report.ts';
import { readSearch, writeSearch } from '../../console/src/model/search-text.ts';
import {
  LANES_MAX,
  scaleOf,
  shownFence,
  type TimelineEvent,
  timelineOf,
} from '../../console/src/model/timeline.ts';
import { tradeOffOf } from '../../console/src/model/trade-off.ts';
import { actionText, callText, durationText } from '../../console/src/model/words.ts';

const FENCE = 2 ** 40;

function at(ms: number): string {
  return new Date(1_700_000_000_000 + ms).toISOString();
}

function happened(...kinds: readonly (readonly [number, string, object?])[]): TimelineEvent[] {
  return kinds.map(([ms, kind, more = {}], index) => ({
    ...{ seq: index + 1, at: at(ms), kind },
    ...more,
  }));
}

describe('the timeline', () => {
  test('shows each owner, and a takeover if the owner before was lost', () => {
    const events = happened(
      [0, 'submitted'],
      [10, 'claimed', { fence: FENCE + 1, body: { owner: 'one', previous: 'none' } }],
      [500, 'claimed', { fence: FENCE + 2, body: { owner: 'two', previous: 'lost' } }],
      [600, 'completed', { fence: FENCE + 2 }],
    );
    const { lanes, takeovers, toMs, fromMs, isOver } = timelineOf(events);
    const [owner] = lanes;
    assert.deepEqual(
      owner?.spans.map(({ spent, label }) => [spent, label]),
      [
        ['lost', 'one · fence 1.1'],
        ['owned', 'two · fence 1.2'],
      ],
    );
    assert.deepEqual(
      takeovers.map(({ fence }) => fence),
      [FENCE + 2],
    );
    assert.deepEqual([toMs - fromMs, isOver], [600, true]);
  });

  test('puts attempts of a step in one lane, and its compensation in another', () => {
    const events = happened(
      [0, 'claimed', { fence: FENCE + 1, body: { owner: 'one', previous: 'none' } }],
      [
        10,
        'step-failed',
        { name: 'pay', body: { key: 'step:pay#1', attempt: 1, failure: { message: 'busy' } } },
      ],
      [30, 'step-completed', { name: 'pay', body: { key: 'step:pay#1', attempt: 2 } }],
      [40, 'compensating'],
      [50, 'claimed', { fence: FENCE + 2, body: { owner: 'one', previous: 'given-back' } }],
      [60, 'step-completed', { name: 'pay', body: { key: 'undo:step:pay#1' } }],
      [70, 'compensated'],
    );
    const { lanes } = timelineOf(events);
    assert.deepEqual(
      lanes.map(({ kind, spans }) => [kind, ...spans.map(({ spent }) => spent)]),
      [
        ['owner', 'owned', 'owned'],
        ['step', 'failed', 'done'],
        ['undo', 'done'],
      ],
    );
    assert.match(lanes[1]?.spans[0]?.label ?? '', /attempt 1 failed: busy/);
  });

  test('shows a wait as open until it is settled, then with its length', () => {
    const opened = happened(
      [0, 'submitted'],
      [10, 'await-opened', { name: 'approval', body: { key: 'await:approval#1' } }],
    );
    assert.deepEqual(timelineOf(opened).lanes[1]?.spans[0]?.toMs, undefined);
    const settled = [
      ...opened,
      ...happened([900, 'await-settled', { name: 'approval', body: { key: 'await:approval#1' } }]),
    ];
    const [span] = timelineOf(settled).lanes[1]?.spans ?? [];
    assert.deepEqual([span?.spent, (span?.toMs ?? 0) - (span?.fromMs ?? 0)], ['waiting', 890]);
  });

  test('a scale keeps the order, begins at 0 and ends at 1; milliseconds stay visible beside days', () => {
    const events = happened(
      [0, 'claimed', { fence: FENCE + 1, body: { owner: 'one', previous: 'none' } }],
      [5, 'step-completed', { name: 'pay', body: { key: 'step:pay#1' } }],
      [6, 'timer-set', { name: 'sleep', body: { key: 'sleep:1' } }],
      [9 * 86_400_000, 'timer-fired', { name: 'sleep', body: { key: 'sleep:1' } }],
      [9 * 86_400_000 + 5, 'completed'],
    );
    const timeline = timelineOf(events);
    for (const isCompressed of [true, false]) {
      const places = events.map((event) => scaleOf(timeline, isCompressed)(Date.parse(event.at)));
      assert.deepEqual(
        places,
        places.toSorted((one, other) => one - other),
      );
      assert.deepEqual([places.at(0), places.at(-1)], [0, 1]);
    }
    const scale = scaleOf(timeline, true);
    assert.ok(scale(Date.parse(at(5))) > 0.02, 'the step of 5 ms has a width');
  });

  test('draws the newest of very many calls, and counts the others', () => {
    const steps = Array.from({ length: 50_000 }, (_, index) =>
      happened([index, 'step-completed', { name: 's', body: { key: `step:s#${index}` } }]),
    ).flat();
    const { lanes, leftOut } = timelineOf(steps);
    assert.deepEqual([lanes.length, leftOut], [LANES_MAX + 1, 50_000 - LANES_MAX]);
  });

  test('a fence is an epoch and a number', () => {
    assert.equal(shownFence(3 * FENCE + 42), '3.42');
  });
});

describe('the form of an answer', () => {
  const schema = {
    type: 'object',
    properties: {
      accepted: { type: 'boolean', title: 'Accept' },
      minutes: { type: 'integer' },
      note: { type: 'string' },
      size: { enum: ['small', 'large'] },
    },
    required: ['accepted', 'minutes'],
  };

  test('has a field for each property, and returns values of their types', () => {
    const fields = fieldsOf(schema) ?? [];
    assert.deepEqual(
      fields.map(({ name, kind, isRequired }) => [name, kind, isRequired]),
      [
        ['accepted', 'boolean', true],
        ['minutes', 'integer', true],
        ['note', 'string', false],
        ['size', 'string', false],
      ],
    );
    const answer = readAnswer(fields, { accepted: 'false', minutes: '15', size: 'small' });
    assert.deepEqual(answer, { accepted: false, minutes: 15, size: 'small' });
  });

  test('names fields that are open or wrong', () => {
    const fields = fieldsOf(schema) ?? [];
    assert.throws(() => readAnswer(fields, { minutes: '1' }), /"Accept" is required/);
    assert.throws(
      () => readAnswer(fields, { accepted: 'true', minutes: '1.5' }),
      /"minutes" must be a whole number/,
    );
  });

  test('is JSON if fields cannot express the schema', () => {
    for (const other of [undefined, {}, { type: 'string' }, { type: 'object' }]) {
      assert.equal(fieldsOf(other), undefined);
    }
    assert.equal(fieldsOf({ type: 'object', properties: { a: { type: 'array' } } }), undefined);
  });
});

test('a report is read back as it was written, and user text in it stays text', () => {
  const report = [
    '# order: completed',
    ...['', '|  |  |', '| --- | --- |', '| key | a \\| b &lt;b> \\_c\\_ \\\\ |'],
    ...['', '## Input', '', '````json', '"```"', '# not a heading', '````', '', 'None.', ''],
  ].join('\n');
  assert.deepEqual(reportBlocks(report), [
    { kind: 'heading', level: 1, text: 'order: completed' },
    { kind: 'table', head: ['', ''], rows: [['key', 'a | b <b> _c_ \\']] },
    { kind: 'heading', level: 2, text: 'Input' },
    { kind: 'code', text: '"```"\n# not a heading' },
    { kind: 'line', text: 'None.' },
  ]);
});

test('the trade-off is one curve within the limits, one outside, and two points', () => {
  const point = (takeoverP50Ms: number, falseLosses: number, keeps: boolean) => ({
    ...{ ttlMs: takeoverP50Ms, takeoverP50Ms, falseLosses, keeps },
  });
  const place = (takeoverP50Ms: number, falseLosses: number) => ({
    ...{ takeoverP50Ms, takeoverP99Ms: 0, falseLosses, storeWritesPerSecond: 1 },
  });
  const found = tradeOffOf({
    ...{ kind: 'recommendation', verdict: 'change', reasons: [] },
    ...{ ttlMs: 2, heartbeatMs: 1, graceMs: 1 },
    points: [point(30, 0, true), point(10, 50, false), point(20, 5, true)],
    current: place(15, 9),
    predicted: place(30, 0),
  });
  assert.deepEqual(found, {
    across: [10, 15, 20, 30],
    kept: [null, null, 5, 0.01],
    broken: [50, null, null, null],
    now: [null, 9, null, null],
    advised: [null, null, null, 0.01],
  });
});

test('the pulse counts submitted and ended executions, and their durations', () => {
  const now = Date.parse(at(60_000));
  const seen = [
    { status: 'completed', lane: 'batch', submittedAt: at(1_000), endedAt: at(2_500) },
    { status: 'waiting', lane: 'batch', submittedAt: at(59_000) },
  ];
  const { times, submitted, ended, p50 } = pulseOf(seen, now);
  const sum = (counts: readonly number[]): number => counts.reduce((all, each) => all + each, 0);
  assert.deepEqual([sum(submitted), sum(ended)], [2, 1]);
  assert.deepEqual(
    p50.filter((each) => each !== null),
    [1_500],
  );
  assert.equal(times.length, submitted.length);
});

test('a duration never shows sixty seconds, minutes or hours of a unit', () => {
  const durations: readonly (readonly [number, string])[] = [
    [0, '0 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [9_940, '9.9 s'],
    [9_970, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 min'],
    [119_700, '2 min'],
    [3_599_600, '1 h'],
    [86_390_000, '1 d'],
    [129_600_000, '1 d 12 h'],
    [86_340_000, '23 h 59 min'],
    [-119_700, '-2 min'],
  ];
  for (const [ms, text] of durations) assert.equal(durationText(ms), text);
});

test('keys of calls and actions of jobs are shown as words', () => {
  const calls = ['step:charge#1', 'step:charge#2', 'undo:step:charge#1', 'await:approval#1', 'odd'];
  assert.deepEqual(calls.map(callText), [
    ...['step charge', 'step charge #2', 'compensation of charge', 'await approval', 'odd'],
  ]);
  assert.deepEqual(['redrive', 'bulk-redrive', 'cancel'].map(actionText), [
    ...['Re-drive', 'Bulk re-drive', 'Cancel'],
  ]);
});

describe('a search', () => {
  test('is written back as it was read, with spaces, quotes and colons in names', () => {
    const texts = [
      'pipeline:order tag:vip hold:paused total=17',
      'tag:"two words" total="17"',
      'pipeline:"a \\"quoted\\" name" tag:a:b',
    ];
    for (const text of texts) {
      const read = readSearch(text);
      assert.ok(typeof read !== 'string', text);
      assert.equal(
        writeSearch((name) => read[name] ?? null),
        text,
      );
    }
    assert.deepEqual(
      [readSearch('order'), readSearch('"my order"')].map((each) =>
        typeof each === 'string' ? each : each.pipeline,
      ),
      ['order', 'my order'],
    );
  });

  test('reports an unknown filter, and reads any text without an error', () => {
    assert.match(String(readSearch('colour:red')), /Unknown filter/);
    for (const odd of ['"', 'tag:"', '"a', '=', 'tag:', '   ']) readSearch(odd);
  });
});
