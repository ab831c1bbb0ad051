// Registers the one test of all guards for one of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLongRun } from '../services/excluded.ts';
import { type Mode, type Resource, runSchedules } from './schedules.ts';

export interface GuardUnderTest {
  readonly name: string;
  readonly skip?: string | false;
  /** How many schedules run side by side. Default 1. */
  readonly lanes?: number;
  /** Per mode in a normal run. Default 2,000; ten times as many in a long one. */
  readonly schedules?: number;
  open(): Promise<OpenResource> | OpenResource;
}

export interface OpenResource {
  resource(lane: number): Promise<Resource> | Resource;
  close(): Promise<void> | void;
}

const SCHEDULES = 2_000;
const CONTROLS: readonly Mode[] = ['unguarded', 'read-first'];
/** The controls only have to show that the schedules bite, which takes a part of them. */
const CONTROL_SHARE = 1 / 8;
const CONTROL_MIN = 100;

export function testGuard(guard: GuardUnderTest): void {
  const all = (guard.schedules ?? SCHEDULES) * (isLongRun() ? 10 : 1);
  const some = Math.max(CONTROL_MIN, all * CONTROL_SHARE);
  const options = { skip: guard.skip ?? false };
  const count = async (mode: Mode, schedules: number) => {
    const opened = await guard.open();
    try {
      const resource = (lane: number) => opened.resource(lane);
      return await runSchedules({ resource, mode, schedules, lanes: guard.lanes ?? 1 });
    } finally {
      await opened.close();
    }
  };

  test(`T-7: ${guard.name}: no stale effect in ${all} schedules`, options, async (t) => {
    const tally = await count('guarded', all);
    t.diagnostic(JSON.stringify(tally));
    assert.equal(tally.schedules, all);
    assert.equal(tally.stale, 0);
    assert.ok(tally.effects > all, 'holders that are current must get through');
    assert.ok(tally.refused > all / 10, 'the schedules must show the guard stale fences');
  });

  for (const mode of CONTROLS) {
    test(`${guard.name}: ${some} of these, ${mode}, have stale effects`, options, async (t) => {
      const tally = await count(mode, some);
      t.diagnostic(JSON.stringify(tally));
      assert.equal(tally.schedules, some);
      assert.ok(tally.stale > 0, 'without the guard the test must find stale effects');
    });
  }
}
