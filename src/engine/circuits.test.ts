import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../execution/failure.ts';
import type { ExecutionReport } from '../execution/report.ts';
import { type CircuitPolicy, Circuits, resolveCircuit } from './circuits.ts';

const DOWN: Failure = { category: 'retryable', code: 'ECONNREFUSED', message: 'down' };

function stand(options: Partial<CircuitPolicy> = {}) {
  let ms = 1_000;
  const reports: ExecutionReport[] = [];
  const clock = { monotonicMs: () => ms, wallMs: () => ms };
  const circuits = new Circuits({ clock, report: (report) => void reports.push(report) });
  const policy = resolveCircuit({ name: 'bank', failuresMax: 3, ...options });
  return {
    reports,
    advance: (by: number) => {
      ms += by;
    },
    /** Begins an attempt. Returns how it may end, or the time to wait. */
    begin(project = 'ours') {
      const attempt = {};
      const refused = circuits.refuse({ project, policy }, attempt);
      if (refused !== undefined) return refused.retryAfterMs;
      return (outcome: Failure | 'succeeded' | 'dropped') =>
        circuits.ended({ project, policy }, attempt, outcome);
    },
    fail(count: number, failure = DOWN) {
      for (let nth = 0; nth < count; nth += 1) this.begun()(failure);
    },
    begun(project?: string) {
      const begun = this.begin(project);
      assert.ok(typeof begun === 'function', 'the attempt begins');
      return begun;
    },
  };
}

test('X-115: a circuit opens after failures in a row, lets one attempt probe, and closes when it succeeds', () => {
  const at = stand();
  at.fail(2);
  at.begun()('succeeded');
  at.fail(2);
  assert.deepEqual(at.reports, []);
  const running = at.begun();
  at.fail(1);
  assert.equal(at.begin(), 30_000);
  assert.match(JSON.stringify(at.reports), /"circuit-open".*Circuit \\"bank\\" opened after 3/);
  // It began before the circuit opened, so it proves nothing.
  running('succeeded');
  at.advance(29_999);
  assert.equal(at.begin(), 1);
  at.advance(1);
  const probe = at.begun();
  assert.equal(at.begin(), 1_000);
  probe(DOWN);
  assert.equal(at.begin(), 30_000);
  assert.equal(at.reports.length, 1);
  at.advance(30_000);
  at.begun()('succeeded');
  at.fail(2);
  at.begun();
});

test('X-115: permanent failures close a circuit, and old failures do not open it', () => {
  const at = stand({ windowMs: 1_000 });
  at.fail(2);
  at.begun()({ ...DOWN, category: 'permanent' });
  at.fail(2);
  at.advance(1_001);
  at.fail(1);
  at.begun();
  at.fail(2, { ...DOWN, category: 'denied' });
  assert.equal(typeof at.begin(), 'number');
});

test('X-115: a probe that was stopped or never ends leaves its place to another', () => {
  const at = stand({ openMs: 500 });
  at.fail(3);
  at.advance(500);
  at.begun()('dropped');
  at.begun();
  assert.equal(at.begin(), 500);
  at.advance(500);
  at.begun();
});

test('X-115: projects do not share a circuit', () => {
  const at = stand();
  at.fail(3);
  assert.equal(typeof at.begin(), 'number');
  at.begun('theirs');
});
