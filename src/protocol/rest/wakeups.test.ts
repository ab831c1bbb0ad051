import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../contract/testing/manual-clock.ts';
import { parseProject } from '../../execution/names.ts';
import type { WokenProjects } from '../../execution/wakeups.ts';
import { Listeners } from '../../support/listeners.ts';
import { FairWakeups, NEXT_MS, WaitingHints, WOKEN_AT_ONCE } from './wakeups.ts';

const HOSTILE = parseProject('hostile');
const HEALTHY = parseProject('healthy');

function stand(): {
  readonly clock: ManualClock;
  readonly wakeups: FairWakeups;
  readonly notify: (projects?: WokenProjects) => void;
} {
  const clock = new ManualClock();
  const listeners = new Listeners<[WokenProjects]>();
  const onWakeup = (listener: (projects: WokenProjects) => void) => listeners.listen(listener);
  const notify = (projects?: WokenProjects): void => listeners.call(projects);
  return { clock, notify, wakeups: new FairWakeups({ onWakeup }, clock.timers) };
}

test('a wakeup reaches a few requests of a project that has thousands open, and all of them in turn', async () => {
  const { clock, wakeups, notify } = stand();
  const woken = new Map<number, number>();
  for (let nth = 0; nth < 2_000; nth += 1) {
    wakeups.listen(HOSTILE, () => woken.set(nth, (woken.get(nth) ?? 0) + 1));
  }
  let healthy = 0;
  wakeups.listen(HEALTHY, () => (healthy += 1));
  for (let sent = 1; sent <= 100; sent += 1) {
    notify();
    assert.deepEqual([healthy, woken.size], [sent, WOKEN_AT_ONCE]);
  }
  await clock.advance(NEXT_MS * (Math.ceil(2_000 / WOKEN_AT_ONCE) + 1));
  assert.equal(woken.size, 2_000);
  // The first few wake by the first wakeup, and again by a later one.
  assert.equal(Math.max(...woken.values()), 2);
  assert.equal([...woken.values()].filter((times) => times === 2).length, WOKEN_AT_ONCE);
  assert.equal(clock.waiting, 0);
});

test('a wakeup of one project reaches no request of another', () => {
  const { wakeups, notify } = stand();
  const woken: string[] = [];
  wakeups.listen(HOSTILE, () => woken.push('hostile'));
  wakeups.listen(HEALTHY, () => woken.push('healthy'));
  notify(new Set([HEALTHY]));
  assert.deepEqual(woken, ['healthy']);
  notify();
  assert.deepEqual(woken, ['healthy', 'hostile', 'healthy']);
});

test('a listener that leaves during a wakeup is not woken, and the others are', async () => {
  const { clock, wakeups, notify } = stand();
  const woken: number[] = [];
  const leave = Array.from({ length: 40 }, (_, nth) =>
    wakeups.listen(HOSTILE, () => {
      woken.push(nth);
      leave[nth]?.();
    }),
  );
  notify();
  leave[39]?.();
  assert.equal(woken.length, WOKEN_AT_ONCE);
  await clock.advance(1_000);
  assert.deepEqual(
    woken,
    Array.from({ length: 39 }, (_, nth) => nth),
  );
  wakeups.close();
  notify();
  assert.equal(clock.waiting, 0);
});

test('a returning client learns whether anything changed, not how much, which may be of other projects', () => {
  const listeners: (() => void)[] = [];
  const onWakeup = (listener: () => void): (() => void) => {
    listeners.push(listener);
    return () => undefined;
  };
  const hints = new WaitingHints({ onWakeup }, 'life');
  const other = new WaitingHints({ onWakeup }, 'life');
  const notify = (): void => {
    for (const each of listeners) each();
  };
  const ids = Array.from({ length: 12 }, () => {
    notify();
    assert.equal(hints.isBehind(hints.id), false);
    return hints.id;
  });
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.slice(0, -1).every((id) => hints.isBehind(id) === true));
  assert.equal(hints.isBehind('of another life.7'), undefined);
  // No id contains the count, and guessing cannot find it: the same count has another id each time.
  for (const id of ids) assert.match(id, /^life\.[0-9a-f]{16}$/);
  assert.notEqual(other.id, hints.id);
});
