import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alertLimitsOf, DEFAULT_ALERTS, type RouteReading, readAlerts } from './alerts-model.ts';

const calm: RouteReading = { route: 'order', deadLetters: 0, waitedMs: 0, isServed: true };
const limits = { deadLetters: 10, queueAgeMs: 1_000, noWorkersMs: 600 };

test('CH-15: a value is over at its threshold, near above half of it, and calm at half', () => {
  const rulesOf = (readings: readonly RouteReading[]) => {
    const { over, near } = readAlerts(limits, readings);
    return [over.map(({ rule }) => rule), near.map(({ rule }) => rule)];
  };
  assert.deepEqual(rulesOf([{ ...calm, deadLetters: 10 }]), [['dead-letter-rate'], []]);
  assert.deepEqual(rulesOf([{ ...calm, deadLetters: 6 }]), [[], ['dead-letter-rate']]);
  assert.deepEqual(rulesOf([{ ...calm, deadLetters: 5 }]), [[], []]);
  assert.deepEqual(rulesOf([{ ...calm, waitedMs: 1_000 }]), [['queue-age'], []]);
  const unserved = { ...calm, waitedMs: 600, isServed: false };
  assert.deepEqual(rulesOf([unserved]), [['no-workers'], ['queue-age']]);
});

test('CH-14: a rule without a limit is off, and a channel without alert events has no limits', () => {
  const broken = { ...calm, deadLetters: 99, waitedMs: 99_999, isServed: false };
  const { over, near } = readAlerts({ noWorkersMs: 600 }, [broken]);
  assert.deepEqual([over.map(({ rule }) => rule), near], [['no-workers'], []]);
  assert.equal(alertLimitsOf({ events: ['lease-lost'], alerts: limits }), undefined);
  assert.deepEqual(alertLimitsOf({ events: ['alert-cleared'] }), DEFAULT_ALERTS);
  const named = alertLimitsOf({ events: ['alert-raised'], alerts: { deadLetters: 1 } });
  assert.deepEqual(named, { deadLetters: 1, windowMs: 900_000 });
});
