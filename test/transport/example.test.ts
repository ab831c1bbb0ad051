import { join } from 'node:path';
import { test } from 'node:test';
import { playExample } from '../services/play-example.ts';

test('M-12: the restaurant, self-hosted: workers over REST, gRPC and SQS serve one order', async () => {
  const file = join(import.meta.dirname, '../../examples/self-hosted/restaurant.ts');
  await playExample(file, [
    /listens for HTTP and gRPC, and reads a queue/,
    /waiter +is ready/,
    /till +is ready/,
    /courier +is ready/,
    /approves the soup; the order ends with: dispatch soup/,
    /rejects the fish; the order ends with: failed: declined/,
    /effects: charge ann, dispatch soup, charge bob, refund bob\n/,
  ]);
});
