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

test('M-26: the restaurant over push: a killed endpoint is replaced, and charges once', async () => {
  const file = join(import.meta.dirname, '../../examples/self-hosted/restaurant-push.ts');
  await playExample(file, [
    /endpoint-1 +charged ann, and asks the restaurant/,
    /SIGKILL: endpoint-1/,
    /approves the soup/,
    /endpoint-2 +continues; the order is completed: dispatch soup/,
    /effects: charge ann, dispatch soup\n/,
  ]);
});
