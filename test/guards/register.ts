// Registers the one test of all guards for one of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFullRun, noteLeftOut, runSeed } from '../services/tier.ts';
import { type Mode, type Resource, runSchedules } from './schedules.ts';

export interface GuardUnderTest {
  readonly name: string;
  /** How many schedules run side by side. Default 1. */
  readonly lanes?: number;
  /** In `npm test`. Default 120; 160 times as many in full. */
  readonly schedules?: number;
  open(): Promise<OpenResource> | OpenResource;
}

export interface OpenResource {
  resource(lane: number): Promise<Resource> | Resource;
  close(): Promise<void> | void;
}

const SCHEDULES = 120;
const CONTROLS: readonly Mode[] = ['unguarded', 'read-first'];
/** The controls only show that the schedules find stale effects, which takes a part of them. */
const CONTROL_SHARE = 1 / 8;
const CONTROL_MIN = 50;
const TIMES_IN_FULL = 160;

export function testGuard(guard: GuardUnderTest): void {
  const { schedules: sampled = SCHEDULES } = guard;
  const all = isFullRun() ? sampled * TIMES_IN_FULL : sampled;
  if (!isFullRun()) {
    const inFull = sampled * TIMES_IN_FULL;
    noteLeftOut(`schedules, ${guard.name}`, inFull - sampled, inFull);
  }
  const some = Math.max(CONTROL_MIN, all * CONTROL_SHARE);
  const count = async (mode: Mode, schedules: number) => {
    const opened = await guard.open();
    try {
      const resource = (lane: number) => opened.resource(lane);
      const lanes = guard.lanes ?? 1;
      return await runSchedules({ resource, mode, schedules, lanes, firstSeed: runSeed() });
    } finally {
      await opened.close();
    }
  };

  test(`T-7: ${guard.name}: no stale effect in ${all} schedules`, async (t) => {
    const tally = await count('guarded', all);
    t.diagnostic(JSON.stringify(tally));
    assert.equal(tally.schedules, all);
    assert.equal(tally.stale, 0);
    assert.ok(tally.effects > all, 'holders that are current must get through');
    // Every second schedule on a quiet machine. On a busy one requests take longer, and fewer do.
    assert.ok(
      tally.refused > (isFullRun() ? all / 20 : 0),
      'the schedules must show the guard stale fences',
    );
  });

  for (const mode of CONTROLS) {
    test(`${guard.name}: ${some} of these, ${mode}, have stale effects`, async (t) => {
      const tally = await count(mode, some);
      t.diagnostic(JSON.stringify(tally));
      assert.equal(tally.schedules, some);
      assert.ok(tally.stale > 0, 'without the guard the test must find stale effects');
    });
  }
}
