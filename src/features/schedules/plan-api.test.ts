import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatInstant, type Instant, toInstant } from '../../support/clock.ts';
import { timesOf, type When } from './plan-api.ts';

function at(text: string): Instant {
  return toInstant(Date.parse(text));
}

async function following(when: When, from: string, count: number): Promise<readonly string[]> {
  const times = await timesOf(when);
  const found: string[] = [];
  for (let next = times.after(at(from)); next !== undefined; next = times.after(next)) {
    found.push(formatInstant(next).slice(0, 16));
    if (found.length === count) break;
  }
  return found;
}

const BERLIN = { timeZone: 'Europe/Berlin' };

test('X-35: weekdays at nine are local to the time zone, in winter and in summer', async () => {
  const cron = '0 9 * * 1-5';
  assert.deepEqual(await following({ cron, timeZone: 'UTC' }, '2026-01-02T09:00:00Z', 2), [
    '2026-01-05T09:00',
    '2026-01-06T09:00',
  ]);
  assert.deepEqual(await following({ cron, ...BERLIN }, '2026-03-27T00:00:00Z', 2), [
    '2026-03-27T08:00',
    '2026-03-30T07:00',
  ]);
});

test('X-35, X-84: a time that the clock change skips comes right after the change', async () => {
  const when = { cron: '30 2 * * *', ...BERLIN };
  assert.deepEqual(await following(when, '2026-03-28T00:00:00Z', 3), [
    '2026-03-28T01:30',
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ]);
});

test('X-35, X-84: a time that the clock change repeats comes once, and an interval goes on', async () => {
  const daily = { cron: '30 2 * * *', ...BERLIN };
  assert.deepEqual(await following(daily, '2026-10-24T12:00:00Z', 2), [
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ]);
  const hourly = { cron: '0 * * * *', ...BERLIN };
  assert.deepEqual(await following(hourly, '2026-10-24T23:30:00Z', 3), [
    '2026-10-25T00:00',
    '2026-10-25T01:00',
    '2026-10-25T02:00',
  ]);
});

test('X-35: due times are the last of those from the first until now, both included', async () => {
  const plans: readonly (readonly [When, string])[] = [
    [{ cron: '*/20 * * * *', ...BERLIN }, '2026-10-24T22:00:00Z'],
    [{ cron: '*/20 * * * *', ...BERLIN }, '2026-03-28T22:00:00Z'],
    [{ cron: '15 2 * * *', timeZone: 'America/New_York' }, '2026-03-06T07:15:00Z'],
    [{ cron: '0 */3 * * *', timeZone: 'Australia/Lord_Howe' }, '2026-04-03T01:00:00Z'],
    [{ every: 90_000 }, '2026-01-01T00:00:00Z'],
  ];
  for (const [when, from] of plans) {
    const times = await timesOf(when);
    const first = 'every' in when ? at(from) : (times.after(toInstant(at(from) - 1)) ?? at(from));
    const all = [first];
    for (let n = 0; n < 40; n += 1) all.push(times.after(all.at(-1) ?? first) ?? first);
    for (const [nth, now] of all.entries()) {
      assert.deepEqual(times.due(first, now, 50), all.slice(0, nth + 1), JSON.stringify(when));
      const late = toInstant(now + 59_999);
      assert.deepEqual(times.due(first, late, 3), all.slice(Math.max(0, nth - 2), nth + 1));
    }
  }
});

test('X-35: years of downtime cost no more than days', async () => {
  const times = await timesOf({ cron: '* * * * *', ...BERLIN });
  const due = times.due(at('2020-01-01T00:00:00Z'), at('2026-01-01T00:00:30Z'), 1);
  assert.deepEqual(due, [at('2026-01-01T00:00:00Z')]);
  const every = await timesOf({ every: 100 });
  assert.equal(every.due(at('2020-01-01'), at('2026-01-01'), 1_000).length, 1_000);
});

test('an invalid cron expression or time zone is refused by name', async () => {
  for (const cron of ['every day', '61 * * * *', '* * * * * *', '']) {
    await assert.rejects(timesOf({ cron, timeZone: 'UTC' }), { name: 'InvalidInput' });
  }
  await assert.rejects(timesOf({ cron: '* * * * *', timeZone: 'Mars/Base' }), /Mars/);
});
