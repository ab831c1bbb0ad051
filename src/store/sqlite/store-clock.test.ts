import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreClock } from './store-clock.ts';

function hostClock(wallMs: number): {
  wall: number;
  tick: number;
  wallMs(): number;
  monotonicMs(): number;
} {
  return {
    wall: wallMs,
    tick: 0,
    wallMs() {
      return this.wall;
    },
    monotonicMs() {
      return this.tick;
    },
  };
}

test('C-2: store time is the wall clock while nothing is ahead of it', () => {
  const host = hostClock(1_000);
  const clock = new StoreClock(host);
  assert.equal(clock.read(0), 1_000);
  host.wall += 250;
  host.tick += 250;
  assert.equal(clock.read(0), 1_250);
});

test('C-2: store time stands still while both clocks stand still', () => {
  const clock = new StoreClock(hostClock(1_000));
  assert.deepEqual([clock.read(0), clock.read(0), clock.read(1_000)], [1_000, 1_000, 1_000]);
});

test('C-2: a wall clock that is set back neither takes time back nor stops it', () => {
  const host = hostClock(1_000_000);
  const clock = new StoreClock(host);
  clock.read(0);
  host.wall -= 900_000;
  assert.equal(clock.read(0), 1_000_000);
  host.tick += 40;
  host.wall += 40;
  assert.equal(clock.read(0), 1_000_040);
});

test('C-2: a wall clock that goes ahead is followed, also after a suspend', () => {
  const host = hostClock(1_000);
  const clock = new StoreClock(host);
  clock.read(0);
  host.wall += 60_000;
  assert.equal(clock.read(0), 61_000);
});

test('C-2: the high-water mark of another process or an earlier start is the minimum', () => {
  const host = hostClock(1_000);
  const clock = new StoreClock(host);
  assert.equal(clock.read(5_000), 5_000);
  host.tick += 10;
  host.wall += 10;
  assert.equal(clock.read(5_000), 5_010);
  assert.equal(clock.read(9_000), 9_000);
});

/** A host that reports its uptime. `pass` advances all of its clocks. */
function bootedHost(wallMs: number) {
  const host = { ...hostClock(wallMs), bootMs: 0 };
  const sinceBoot = () => ({ boot: 'first', ms: host.bootMs });
  const pass = (ms: number): void => {
    host.wall += ms;
    host.tick += ms;
    host.bootMs += ms;
  };
  return { host: Object.assign(host, { sinceBoot }), pass };
}

const HOUR = 3_600_000;

test('C-9: a wall clock that is ahead for a moment is not followed, by this process or a new one', () => {
  const { host, pass } = bootedHost(1_000_000);
  const clock = new StoreClock(host);
  const mark = clock.read(0);
  pass(500);
  host.wall += 48 * HOUR;
  assert.equal(clock.read(mark, clock.kept), 1_000_500);
  const other = new StoreClock(host);
  assert.equal(other.read(mark, clock.kept), 1_000_500);
  pass(119_000);
  assert.equal(other.read(mark, clock.kept), 1_119_500);
  host.wall -= 48 * HOUR;
  pass(10_000);
  assert.equal(other.read(mark, clock.kept), 1_129_500);
});

test('C-9: a wall clock that stays ahead is followed after two minutes', () => {
  const { host, pass } = bootedHost(1_000_000);
  const clock = new StoreClock(host);
  const mark = clock.read(0);
  host.wall += HOUR;
  assert.equal(clock.read(mark, clock.kept), 1_000_000);
  pass(120_000);
  assert.equal(clock.read(mark, clock.kept), 1_120_000 + HOUR);
});

test('C-9: a suspend, a store that was unused for days, and a new start are followed at once', () => {
  const { host, pass } = bootedHost(1_000_000);
  const clock = new StoreClock(host);
  const mark = clock.read(0);
  host.wall += HOUR;
  host.bootMs += HOUR;
  assert.equal(clock.read(mark, clock.kept), 1_000_000 + HOUR, 'suspended: ticks stood still');
  pass(48 * HOUR);
  assert.equal(new StoreClock(host).read(mark, clock.kept), 1_000_000 + 49 * HOUR);
  const started = { ...host, sinceBoot: () => ({ boot: 'second', ms: 60_000 }) };
  started.wall += 48 * HOUR;
  assert.equal(new StoreClock(started).read(mark, clock.kept), 1_000_000 + 97 * HOUR);
});

test('C-8: a mark that another process has set back is followed', () => {
  const host = hostClock(5_000);
  const clock = new StoreClock(host);
  assert.equal(clock.read(900_000), 900_000);
  host.tick += 10;
  host.wall += 10;
  assert.equal(clock.read(900_000), 900_010);
  assert.equal(clock.read(5_010), 5_010);
});

test('C-2: many small steps add up to the passed time, without rounding away', () => {
  const host = hostClock(1_893_456_000_000);
  const clock = new StoreClock(host);
  clock.read(0);
  host.wall = 0;
  for (let step = 0; step < 100_000; step += 1) {
    host.tick += 0.000_1;
    clock.read(0);
  }
  host.tick = 10;
  assert.equal(clock.read(0), 1_893_456_000_010);
});
