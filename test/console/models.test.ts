// The console's models, without a browser.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fieldsOf, readAnswer, textsOf } from '../../console/src/model/answer-fields.ts';
import { concernsOf } from '../../console/src/model/attention.ts';
import { logAxis, valueAxis } from '../../console/src/model/axes.ts';
import { causesOf } from '../../console/src/model/causes.ts';
import { changeText } from '../../console/src/model/changes.ts';
import type { Event } from '../../console/src/model/events.ts';
import { reportBlocks } from '../../console/src/model/report.ts';
import {
  compressedScale,
  idleOf,
  isMostlyIdle,
  linearScale,
} from '../../console/src/model/scale.ts';
import { readSearch, searchQuery, writeSearch } from '../../console/src/model/search-text.ts';
import { summaryOf } from '../../console/src/model/summary.ts';
import { tradeOffOf } from '../../console/src/model/trade-off.ts';
import { type Row, rangeOf, waterfallOf } from '../../console/src/model/waterfall.ts';
import {
  actionText,
  callText,
  childIn,
  durationText,
  shownFence,
} from '../../console/src/model/words.ts';
import type { OverviewMessage } from '../../src/features/overview/messages.ts';

const FENCE = 2 ** 40;

function at(ms: number): string {
  return new Date(1_700_000_000_000 + ms).toISOString();
}

function happened(...kinds: readonly (readonly [number, string, object?])[]): Event[] {
  return kinds.map(([ms, kind, more = {}], index) => ({
    ...{ seq: index + 1, at: at(ms), kind },
    ...more,
  }));
}

describe('the waterfall', () => {
  test('shows each owner, and a takeover if the owner before was lost', () => {
    const events = happened(
      [0, 'submitted'],
      [10, 'claimed', { fence: FENCE + 1, body: { owner: 'one', previous: 'none' } }],
      [500, 'claimed', { fence: FENCE + 2, body: { owner: 'two', previous: 'lost' } }],
      [600, 'completed', { fence: FENCE + 2 }],
    );
    const { owner, takeovers, toMs, fromMs, isOver, workers } = waterfallOf(events);
    assert.deepEqual(
      owner.spans.map(({ spent, label }) => [spent, label]),
      [
        ['queued', 'Queued'],
        ['lost', 'one · 1.1'],
        ['owned', 'two · 1.2'],
      ],
    );
    assert.deepEqual(
      takeovers.map(({ fence }) => fence),
      [FENCE + 2],
    );
    assert.deepEqual([toMs - fromMs, isOver, workers], [600, true, 2]);
  });

  test('attempts and backoff are one row; the compensation is a group of its own', () => {
    const failed = { key: 'step:pay#1', attempt: 1, retryInMs: 15, failure: { message: 'busy' } };
    const events = happened(
      [0, 'claimed', { fence: FENCE + 1, body: { owner: 'one', previous: 'none' } }],
      [10, 'step-failed', { name: 'pay', body: failed }],
      [30, 'step-completed', { name: 'pay', body: { key: 'step:pay#1', attempt: 2, saga: true } }],
      [35, 'step-completed', { name: 'book', body: { key: 'step:book#1', saga: true } }],
      [40, 'compensating'],
      [50, 'claimed', { fence: FENCE + 2, body: { owner: 'one', previous: 'given-back' } }],
      [60, 'step-failed', { name: 'book', body: { key: 'undo:step:book#1', attempt: 1 } }],
      [70, 'quarantined'],
    );
    const { rows, compensation } = waterfallOf(events);
    const spent = ({ name, spans }: Row) => [name, ...spans.map((span) => span.spent)];
    assert.deepEqual(rows.map(spent), [
      ['pay', 'failed', 'backoff', 'ok'],
      ['book', 'ok'],
    ]);
    assert.deepEqual(compensation.map(spent), [
      ['book', 'failed'],
      ['pay', 'skipped'],
    ]);
    const [, backoff, second] = rows[0]?.spans ?? [];
    assert.deepEqual([backoff?.toMs, second?.fromMs], [Date.parse(at(25)), Date.parse(at(25))]);
    assert.match(rows[0]?.spans[0]?.label ?? '', /attempt 1 failed: busy/);
  });

  test('parallel steps start together, also in a history without start times', () => {
    const keys = ['a', 'b', 'c'].map((name) => `step:${name}#1`);
    const began = { startedAt: Date.parse(at(930)), tookMs: 20 };
    const events = happened(
      [0, 'submitted'],
      [5, 'claimed', { fence: FENCE + 1, body: { owner: 'one', previous: 'none' } }],
      [100, 'step-completed', { name: 'a', body: { key: keys[0], with: keys.slice(1) } }],
      [400, 'step-completed', { name: 'b', body: { key: keys[1] } }],
      [900, 'step-completed', { name: 'c', body: { key: keys[2] } }],
      [950, 'step-completed', { name: 'd', body: { key: 'step:d#1', ...began } }],
      [960, 'completed'],
    );
    const { rows } = waterfallOf(events);
    assert.deepEqual(
      rows.map((row) => [row.name, rangeOf(row).fromMs - Date.parse(at(0)), row.isParallel]),
      [
        ['a', 5, true],
        ['b', 5, true],
        ['c', 5, true],
        ['d', 930, false],
      ],
    );
    assert.deepEqual(
      rows.map(({ isExact }) => isExact),
      [false, false, false, true],
      'only a recorded duration is exact',
    );
  });

  test('a fan-out is one row with its failures first', () => {
    const group = 'children:resize#1';
    const ended = (nth: number, status: string) => ({
      ...{ name: `${group}[${nth}]` },
      body: { key: `${group}[${nth}]`, id: `c${nth}`, status },
    });
    const events = happened(
      [0, 'submitted'],
      [10, 'child-spawned', { name: 'resize', body: { key: group, ids: ['c0', 'c1', 'c2'] } }],
      [20, 'child-ended', ended(0, 'completed')],
      [30, 'child-ended', ended(1, 'completed')],
      [40, 'child-ended', ended(2, 'failed')],
      [50, 'completed'],
    );
    const [row, ...others] = waterfallOf(events).rows;
    assert.deepEqual([row?.counts, others], [{ all: 3, ok: 2, bad: 1 }, []]);
    assert.deepEqual(
      row?.children?.map(({ execution }) => execution),
      ['c2', 'c0', 'c1'],
    );
    assert.equal(row?.spans[0]?.toMs, Date.parse(at(40)));
  });

  test('a wait is open until it is settled; a sleep reaches to its end', () => {
    const opened = happened(
      [0, 'submitted'],
      [10, 'await-opened', { name: 'approval', body: { key: 'await:approval#1' } }],
    );
    assert.equal(waterfallOf(opened).rows[0]?.spans[0]?.toMs, undefined);
    const settled = [
      ...opened,
      ...happened([900, 'await-settled', { name: 'approval', body: { key: 'await:approval#1' } }]),
    ];
    const [span] = waterfallOf(settled).rows[0]?.spans ?? [];
    assert.deepEqual([span?.spent, (span?.toMs ?? 0) - (span?.fromMs ?? 0)], ['waiting', 890]);
    const sleeps = happened(
      [0, 'submitted'],
      [10, 'timer-set', { name: 'nap', body: { key: 'sleep:nap#1', ms: 86_400_000 } }],
    );
    assert.equal(waterfallOf(sleeps).toMs, Date.parse(at(86_400_010)));
  });

  test('fifty thousand steps are read in good time', () => {
    const steps = Array.from({ length: 50_000 }, (_, index) =>
      happened([index, 'step-completed', { name: 's', body: { key: `step:s#${index}` } }]),
    ).flat();
    assert.equal(waterfallOf(steps).rows.length, 50_000);
  });

  test('a fence is an epoch and a number', () => {
    assert.equal(shownFence(3 * FENCE + 42), '3.42');
  });
});

describe('the axis of the waterfall', () => {
  const events = happened(
    [0, 'claimed', { fence: FENCE + 1, body: { owner: 'one', previous: 'none' } }],
    [5, 'step-completed', { name: 'pay', body: { key: 'step:pay#1' } }],
    [6, 'timer-set', { name: 'sleep', body: { key: 'sleep:1', ms: 9 * 86_400_000 } }],
    [7, 'parked'],
    [9 * 86_400_000, 'claimed', { fence: FENCE + 2, body: { owner: 'one', previous: 'parked' } }],
    [9 * 86_400_000 + 5, 'completed'],
  );
  const known = waterfallOf(events);
  const idle = idleOf(known, known);

  test('keeps the order, begins at 0 and ends at 1, and can be inverted', () => {
    const scales = [linearScale(known, known.fromMs), compressedScale(idle, known, known.fromMs)];
    for (const scale of scales) {
      const places = events.map((event) => scale.at(Date.parse(event.at)));
      assert.deepEqual(
        places,
        places.toSorted((one, other) => one - other),
      );
      assert.deepEqual([places.at(0), places.at(-1)], [0, 1]);
      const middle = known.fromMs + 3;
      assert.ok(Math.abs(scale.msAt(scale.at(middle)) - middle) < 1);
    }
  });

  test('is linear with round labels; idle time is cut short only where it hides the work', () => {
    const { at: place, ticks } = linearScale({ fromMs: 1_000, toMs: 3_700 }, 1_000);
    assert.equal(place(2_350), 0.5);
    assert.deepEqual(
      ticks.map(({ label }) => label),
      ['0', '500 ms', '1.0 s', '1.5 s', '2.0 s', '2.5 s'],
    );
    assert.ok(isMostlyIdle(idle, known));
    assert.ok(!isMostlyIdle([], { fromMs: 0, toMs: 60_000 }));
    const scale = compressedScale(idle, known, known.fromMs);
    assert.ok(scale.at(Date.parse(at(5))) > 0.3, 'the step of 5 ms has a width');
    assert.deepEqual(
      scale.breaks.map(({ label }) => label),
      ['9 d'],
    );
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

  test('fields start from a value that they can express, and from no other', () => {
    const fields = fieldsOf(schema) ?? [];
    assert.deepEqual(textsOf(fields, { accepted: false, minutes: 15, size: 'small' }), {
      ...{ accepted: 'false', minutes: '15', size: 'small' },
    });
    assert.deepEqual(textsOf(fields, undefined), {});
    for (const other of [17, null, { more: 1 }, { minutes: '15' }, { size: 'none' }]) {
      assert.equal(textsOf(fields, other), undefined, JSON.stringify(other));
    }
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

test('dead letters of one loop are one cause; other steps stay apart', () => {
  const group = (code: string, step: string | undefined, count: number) => ({
    ...{ pipeline: 'etl', code, count, at: at(count) },
    ...(step === undefined ? {} : { step }),
  });
  const causes = causesOf([
    group('TypeError', 'step:row-5#1', 1),
    group('TypeError', 'step:row-6#1', 2),
    group('TypeError', 'step:row-17#1', 4),
    group('timeout', 'step:load#1', 3),
    group('timeout', 'undo:step:load#1', 1),
  ]);
  assert.deepEqual(
    causes.map(({ code, step, steps, count, isUndo }) => [code, step, steps, count, isUndo]),
    [
      ['TypeError', undefined, 3, 7, false],
      ['timeout', 'step:load#1', 1, 3, false],
      ['timeout', 'undo:step:load#1', 1, 1, true],
    ],
  );
});

test('attention lists pipelines without workers, failing releases, dead letters, workers and requests', () => {
  const none = { count: 0, capped: false };
  const ready = { count: 3, capped: false };
  const figures = { statuses: {}, ready, oldestReadyAt: at(0) };
  const ends = { completed: 1, cancelled: 0, quarantined: 0, compensated: 0 };
  const trends = {
    from: at(0),
    pipelines: [
      { pipeline: 'order', release: 'v2', ended: { ...ends, failed: 3 } },
      { pipeline: 'mail', ended: { ...ends, failed: 2 } },
      { pipeline: 'report', ended: { ...ends, completed: 90, failed: 9 } },
    ],
  };
  const overview = {
    at: at(30_000),
    pipelines: [
      { pipeline: 'served', workers: 2, ...figures },
      {
        ...{ pipeline: 'alone', workers: 0, ...figures },
        lastWorker: { owner: 'resizer@host-7', lastSeenAt: at(10_000) },
      },
      { pipeline: 'quiet', workers: 0, statuses: {}, ready: none },
      {
        ...{ pipeline: 'left', workers: 0, statuses: { running: ready }, ready: none },
        lastWorker: { owner: 'resizer@host-7', lastSeenAt: at(10_000) },
      },
      { pipeline: 'embedded', workers: 0, statuses: { running: ready }, ready: none },
      {
        ...{ pipeline: 'invoice', release: 'v2', workers: 1, ready: none },
        ...{ statuses: { queued: ready }, blocked: ready },
      },
    ],
    deadLetters: {
      ...{ count: 10_000, capped: true, causes: [] },
      ...{ quarantined: { count: 2, capped: true }, lastHour: { count: 7, capped: false } },
    },
    questions: { open: { count: 4, capped: false }, overdue: { count: 1, capped: false } },
    workers: {
      ...{ ready: 1, draining: 0, stuck: 1, refused: 0 },
      ...{ lapsed: 1, left: 2, running: 0, room: 1 },
    },
  };
  const concerns = concernsOf(overview, trends);
  assert.equal(concerns.find(({ key }) => key === 'failing/order/v2')?.verb, 'Roll back');
  assert.equal(
    concerns[0]?.detail,
    '3 executions ready for 30 s · last served by resizer@host-7, seen 20 s ago',
  );
  assert.equal(
    concerns[1]?.detail,
    '3 executions left running · last served by resizer@host-7, seen 20 s ago',
  );
  assert.equal(
    concerns.find(({ key }) => key === 'blocked/invoice (release v2)')?.to,
    '/executions?hold=blocked&pipeline=invoice',
  );
  const mail = { pipeline: 'mail', ended: { ...ends, failed: 3 } };
  assert.equal(
    concernsOf(overview, { from: '12:00', pipelines: [mail] }).find(
      ({ key }) => key === 'failing/mail',
    )?.to,
    '/executions?pipeline=mail&status=failed&status=quarantined&endedFrom=12%3A00',
  );
  const afterwards = concernsOf(overview, trends, {
    rollouts: [{ pipeline: 'order', version: 3, active: 'v1' }],
  });
  const { title, detail, verb, to } =
    afterwards.find(({ key }) => key === 'failing/order/v2') ?? {};
  assert.deepEqual(
    [title, detail, verb, to],
    [
      'order failed in release v2',
      '3 of 4 executions failed in the chosen range · new executions go to v1',
      ...['Re-drive', '/dead-letters?pipeline=order'],
    ],
    'after a rollback',
  );
  const repair = concerns.find(({ key }) => key === 'quarantined');
  assert.deepEqual([repair?.title, repair?.to], ['2+ executions quarantined', '/quarantine']);
  assert.match(concerns.find(({ key }) => key === 'letters')?.detail ?? '', /^7 in the last hour/);
  const failing = (
    letters: Pick<OverviewMessage['deadLetters'], 'count' | 'capped' | 'causes'>,
  ): readonly string[] =>
    concernsOf(
      { ...overview, deadLetters: { ...letters, quarantined: none, lastHour: none } },
      trends,
    )
      .map(({ key }) => key)
      .filter((key) => key.startsWith('failing/'));
  const letter = { pipeline: 'order', code: 'TypeError', message: '', count: 1, lastHour: 0 };
  const cause = { ...letter, firstAt: at(0), lastAt: at(0), newest: 'order-1' };
  assert.deepEqual(failing({ count: 1, capped: false, causes: [cause] }), ['failing/order/v2']);
  assert.deepEqual(failing({ count: 0, capped: false, causes: [] }), [], 'all were re-driven');
  const calm = { ...overview.questions, overdue: none };
  assert.equal(
    concernsOf({ ...overview, questions: calm }).at(-1)?.title,
    '4 requests without an answer',
  );
  assert.deepEqual(
    concerns.map(({ severity, title }) => [severity, title]),
    [
      ['bad', 'No worker serves alone'],
      ['bad', 'No worker serves left'],
      ['bad', '3 invoice (release v2) executions are blocked'],
      ['bad', 'order is failing in release v2'],
      ['bad', '10,000+ dead letters, 0 causes'],
      ['quarantine', '2+ executions quarantined'],
      ['bad', '1 worker stuck'],
      ['bad', '1 worker lapsed'],
      ['warn', '1 request overdue'],
    ],
  );
});

test('an explanation names the child that it waits for', () => {
  const id = '01890a5d-ac96-774b-bcce-b302099a8057';
  assert.equal(childIn(`Waiting for child ${id} of pipeline "resize" to end.`), id);
  assert.equal(
    childIn(`Waiting for 3 children to end; the first is ${id} of pipeline "resize".`),
    id,
  );
  assert.equal(childIn('Waiting for children to end.'), undefined);
});

test('every line of an axis of counts has a whole number', () => {
  const { marks } = valueAxis(1, String, 1);
  assert.deepEqual(
    marks.map(({ label }) => label),
    ['0', '1'],
  );
});

test('the axis of values ends at a round number above the largest', () => {
  const { marks, place } = valueAxis(283, String);
  assert.deepEqual(
    marks.map(({ label }) => label),
    ['0', '100', '200', '300'],
  );
  assert.equal(place(150), 0.5);
  assert.equal(logAxis([0.01, 1_000], String).place(0.01), 0);
});

test('a request is summed up by its plain fields', () => {
  const request = { amount: 120, who: 'ann', items: [1, 2], more: { deep: true }, none: null };
  assert.deepEqual(summaryOf(request), [
    ['Amount', '120'],
    ['Who', 'ann'],
    ['Items', '2 items'],
  ]);
  assert.deepEqual(summaryOf('yes?'), [['Request', 'yes?']]);
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

test('a change names the fields that differ, and shows times as such', () => {
  const before = { paused: false, nextAt: 0, note: 'same' };
  assert.equal(
    changeText(before, { paused: true, nextAt: 1_000, note: 'same' }),
    'paused: false → true, nextAt: 1970-01-01T00:00:00.000Z → 1970-01-01T00:00:01.000Z',
  );
  assert.equal(changeText(undefined, { tags: ['a'] }), 'tags: – → ["a"]');
  assert.equal(changeText('one', undefined), 'one → –');
  assert.equal(changeText(undefined, undefined), '');
});

describe('a search', () => {
  test('is written back as it was read, with spaces, quotes and colons in names', () => {
    const texts = [
      'pipeline:order tag:vip hold:paused total=17',
      'tag:"two words" total="17"',
      'pipeline:"a \\"quoted\\" name" tag:a:b',
      'release:v2 worker:packer@host-1 total>=17 total<=20 region=eu',
    ];
    for (const text of texts) {
      const read = readSearch(text);
      assert.ok(typeof read !== 'string', text);
      assert.equal(writeSearch(searchQuery(read)), text);
    }
    assert.deepEqual(
      [readSearch('order'), readSearch('"my order"')].map((each) =>
        typeof each === 'string' ? each : each.pipeline,
      ),
      ['order', 'my order'],
    );
  });

  test('uses every word of the text, or reports one that it cannot use', () => {
    const isPipeline = (word: string): boolean => word === 'order';
    const read = readSearch('order ORD-17 status:failed status:queued', isPipeline);
    assert.ok(typeof read !== 'string');
    const { pipeline, q, status } = read;
    assert.deepEqual([pipeline, q, status], ['order', 'ORD-17', ['failed', 'queued']]);
    const reported = [
      ['ORD-17 ORD-18', /"ORD-17" and "ORD-18" are two keys or IDs/],
      ['tag:vip tag:late', /"vip" and "late" are two values of tag:/],
      ['order pipeline:parcel', /"order" and "parcel" are two values of pipeline:/],
      ['status:faild', /Unknown status "faild"/],
      ['parent:0189', /"0189" is not an ID/],
    ] as const;
    for (const [text, message] of reported)
      assert.match(String(readSearch(text, isPipeline)), message);
  });

  test('reports an unknown filter, and reads any text without an error', () => {
    assert.match(String(readSearch('colour:red')), /Unknown filter/);
    for (const odd of ['"', 'tag:"', '"a', '=', 'tag:', '   ']) readSearch(odd);
  });
});
