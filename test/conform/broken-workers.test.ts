// The conformance runner finds each flaw of a small worker, and finds none without a flaw.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CaseReport } from '../../contract/conform/run-cases.ts';
import { sample } from '../services/tier.ts';
import { conformance, TTL_MS } from './bench.ts';
import { type Flaw, SmallWorker } from './small-worker.ts';

/** The case that finds each flaw, and a part of its finding. */
const FINDS: Readonly<Record<Flaw, readonly [string, RegExp]>> = {
  'runs-recorded-steps-again': ['replay', /"one":2,.* instead of .*"one":100/],
  'ignores-retry-after': ['retry-after', /sent the next write after \d+ ms/],
  'forgets-heartbeats': [
    'heartbeat',
    // On a busy machine, it also loses its session.
    /heartbeats in 4500 ms|between two heartbeats was \d+ ms|claimed, claimed|claimed \d+ times/,
  ],
  'acts-on-a-stale-fence': ['replaced', /refused as \S+, the worker sent \d+ more/],
  'gives-up-when-cut-off': ['authority', /the execution did not end|the worker did not claim/],
  'sends-unknown-fields': ['messages', /announcements was refused with 400 .*host/],
  'waits-in-claims': ['start', /waitMs, but the reply to greet has claimsWait: false/],
  'ignores-drain': ['drain', /did not announce the state draining|without giving its claim back/],
};

function run(names: readonly string[], flaw?: Flaw): Promise<ReadonlyMap<string, CaseReport>> {
  const open = async (at: { readonly url: string; readonly key: string }) =>
    new SmallWorker({ ...at, ttlMs: TTL_MS }, flaw);
  return conformance(open, names);
}

describe('the conformance runner', { concurrency: true }, () => {
  test('a small worker that keeps the rules passes the cases that find its flaws', async () => {
    const cases = Object.values(FINDS).map(([name]) => name);
    const names = new Set(['start', 'echo', 'steps', 'session-ended', ...cases]);
    const reports = await run([...names]);
    const failed = [...reports.values()].filter(({ ok }) => !ok);
    assert.deepEqual(
      failed.map(({ name, found }) => `${name}: ${found}`),
      [],
    );
    assert.deepEqual(new Set(reports.keys()), names);
  });

  for (const [flaw, [name, finding]] of sample('broken workers', Object.entries(FINDS), 3)) {
    test(`a worker that ${flaw.replaceAll('-', ' ')} fails the case "${name}"`, async () => {
      const report = (await run([name], flaw as Flaw)).get(name);
      assert.equal(report?.ok, false);
      assert.match(report?.found ?? '', finding);
      assert.match(report?.see ?? '', /^docs\/reference\/worker-protocol\.md#/);
    });
  }

  test('a worker that does not host a pipeline fails its case with the name', async () => {
    const report = (await run(['sleep'])).get('sleep');
    assert.match(report?.found ?? '', /does not claim conform-sleep/);
  });
});
