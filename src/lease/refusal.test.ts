import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toInstant } from '../support/clock.ts';
import { COUNTERS_PER_EPOCH, toFence } from './fence.ts';
import { parseEffectId, parseLeaseKey, parseOwner, parseSessionId } from './names.ts';
import { describeRefusal, type Holder, type Refusal } from './refusal.ts';

const key = parseLeaseKey('orders/17');
const owner = parseOwner('billing@h-3');
const session = parseSessionId('0198c5a0-7e5b-7c3a-9d52-0f6f0d9f4f11');
const fence = toFence(2 * COUNTERS_PER_EPOCH + 41);
const newest = toFence(2 * COUNTERS_PER_EPOCH + 42);
const effect = parseEffectId('charge:17');
const since = toInstant(Date.UTC(2030, 0, 1));
const holder: Holder = { owner, session, fence, since, state: 'held', freeInMs: 7_000 };

/** One sample per refusal. The type requires a sample for each new refusal. */
const samples: { readonly [Why in Refusal['why']]: Extract<Refusal, { readonly why: Why }> } = {
  'session-duplicate': { why: 'session-duplicate', session },
  'session-unknown': { why: 'session-unknown', session },
  'session-not-yours': { why: 'session-not-yours', session, owner },
  'session-lapsed': { why: 'session-lapsed', session },
  'session-expired': { why: 'session-expired', session },
  'session-ended': { why: 'session-ended', session, exit: 'yielded' },
  'session-too-deep': { why: 'session-too-deep', depthMax: 8 },
  'would-shorten': { why: 'would-shorten', session, remainingMs: 9_000 },
  held: { why: 'held', key, holder },
  retired: { why: 'retired', key, fence },
  reserved: { why: 'reserved', key, for: owner, freeInMs: 4_000 },
  'attempt-used': { why: 'attempt-used', key, fence },
  damped: { why: 'damped', key, freeInMs: 58_000 },
  'behind-others': { why: 'behind-others', key, ahead: 3 },
  'reclaim-paused': { why: 'reclaim-paused', key, holder },
  halted: { why: 'halted', presented: newest },
  'key-unknown': { why: 'key-unknown', key },
  superseded: { why: 'superseded', key, fence, newest, holder: owner },
  'fence-ahead': { why: 'fence-ahead', key, fence },
  'not-yours': { why: 'not-yours', key, owner },
  lapsed: { why: 'lapsed', key, fence },
  expired: { why: 'expired', key, fence },
  ended: { why: 'ended', key, fence, exit: 'failed', cause: 'disk full' },
  'seq-superseded': { why: 'seq-superseded', key, storedSeq: 5 },
  'seq-conflict': { why: 'seq-conflict', key, seq: 5 },
  'checkpoint-too-large': { why: 'checkpoint-too-large', bytes: 1_001, bytesMax: 1_000 },
  'intent-open': { why: 'intent-open', effect, fence },
  'intents-full': { why: 'intents-full', key, intentsMax: 64 },
  'already-draining': { why: 'already-draining', key, deadlineInMs: 15_000 },
};

/** Every text must contain advice. `was dropped` counts, because there is nothing to do then. */
const ADVICE =
  /\b(?:Open|Use|Send|Stop|Wait|Acquire|Try|Look|Check|Find out|Rejoin|Settle|Store|Continue|Rejoin|raise the epoch)\b/;

for (const refusal of Object.values(samples)) {
  test(`the refusal "${refusal.why}" has its cause and the next step`, () => {
    const text = describeRefusal(refusal);
    assert.match(text, /^["A-Z0-9].*\.$/s);
    assert.match(text, ADVICE);
    assert.doesNotMatch(text, /undefined|NaN|\[object/);
  });
}

test('a refusal names its subject: key, holder, fences, times, numbers', () => {
  const held = describeRefusal(samples.held);
  for (const part of ['orders/17', 'billing@h-3', '2.41', '2030-01-01T00:00:00.000Z', '7000 ms']) {
    assert.ok(held.includes(part), `${part} is missing in: ${held}`);
  }
  assert.match(describeRefusal(samples.superseded), /2\.41.*billing@h-3.*2\.42/);
  assert.match(describeRefusal(samples.ended), /failed: disk full/);
  assert.match(describeRefusal(samples['checkpoint-too-large']), /1001.*1000/);
});
