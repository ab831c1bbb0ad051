import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryEvent } from '../../execution/history.ts';
import { failedCallsIn, givenBack, retryDelayMs } from './call-endpoint.ts';

const by = 'endpoint shop.example';
const reason = 'it responded with status 502';

function historyOf(...events: readonly (string | readonly [string, string])[]): HistoryEvent[] {
  return events.map((event, index) => {
    const [kind, body] = typeof event === 'string' ? [event] : event;
    return { seq: index + 1, at: 0, kind, ...(body === undefined ? {} : { body }) } as HistoryEvent;
  });
}

test('M-16, M-29: each failed call is repeated later than the one before, within a minute', () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 7, 50].map(retryDelayMs);
  assert.deepEqual(
    delays,
    [1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1_000),
  );
});

test('M-16, M-29: failed calls are counted since the last other event', () => {
  const failed = ['given-back', givenBack({ kind: 'failed', by, reason }, 0).body] as const;
  const denied = ['given-back', givenBack({ kind: 'denied', by, reason }, 0).body] as const;
  const begun = ['submitted', 'claimed'];
  assert.equal(failedCallsIn(historyOf(...begun)), 0);
  assert.equal(failedCallsIn(historyOf(...begun, failed, 'claimed', failed, 'claimed')), 2);
  for (const other of ['step-completed', denied, 'given-back', 'resumed']) {
    assert.equal(failedCallsIn(historyOf(...begun, failed, 'claimed', other, 'claimed')), 0);
    assert.equal(failedCallsIn(historyOf(...begun, other, 'claimed', failed, 'claimed')), 1);
  }
});

test('M-15: a given-back call records whether it may have run, and a stopping coordinator is not a failed call', () => {
  const stopping = givenBack({ kind: 'stopping', by, reason }, 3);
  assert.equal(stopping.delayMs, 0);
  assert.equal(failedCallsIn(historyOf(['given-back', stopping.body])), 0);
  for (const kind of ['stopping', 'failed', 'denied'] as const) {
    const { abandoned } = JSON.parse(givenBack({ kind, by, reason }, 0).body);
    assert.equal(abandoned === true, kind !== 'denied');
  }
});
