import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Circuit } from './standing.ts';

test('M-16, M-29: failures in a row open the circuit, one call passes after a while, and its success closes it', () => {
  const circuit = new Circuit({ failuresMax: 2, cooldownMs: 100 });
  circuit.failed(0);
  circuit.succeeded();
  circuit.failed(0);
  assert.equal(circuit.room(0, 5), 5);
  circuit.failed(0);
  assert.deepEqual([circuit.room(99, 5), circuit.opensInMs(40)], [0, 60]);
  assert.equal(circuit.room(100, 5), 1);
  circuit.enter();
  assert.equal(circuit.room(100, 5), 0);
  circuit.failed(100);
  assert.equal(circuit.room(150, 5), 0);
  circuit.enter();
  circuit.succeeded();
  assert.deepEqual([circuit.room(150, 5), circuit.opensInMs(150)], [5, 0]);
});

test('M-16, M-29: a probe that passes lets one call through and closes nothing', () => {
  const circuit = new Circuit({ failuresMax: 1, cooldownMs: 100 });
  circuit.failed(0);
  for (const at of [100, 200, 300]) {
    circuit.enter();
    assert.equal(circuit.room(at, 5), 0);
    circuit.returned();
    assert.equal(circuit.room(at, 5), 1);
    circuit.enter();
    circuit.failed(at);
    assert.equal(circuit.opensInMs(at), 100);
  }
  circuit.enter();
  circuit.returned();
  circuit.enter();
  circuit.succeeded();
  assert.equal(circuit.room(400, 5), 5);
});
