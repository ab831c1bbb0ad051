import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProjectName } from '../../execution/names.ts';
import { systemClock } from '../../support/clock.ts';
import { systemRandom } from '../../support/random.ts';
import { systemTimers } from '../../support/timer.ts';
import { Deliveries, type DeliveryParts } from './delivery-duty.ts';
import type { Channel, DeliveryRecord } from './model.ts';

const project = 'shop' as ProjectName;
const channel = { project, id: 'orders', uid: 'u', failures: 0 } as Channel;
const message = (id: string): DeliveryRecord =>
  ({ id, event: 'test', attempts: 1, failed: 0, log: [] }) as unknown as DeliveryRecord;

const parts = (changed: Partial<DeliveryParts>, store: Partial<DeliveryParts['store']>) =>
  ({
    ...{ clock: systemClock, timers: systemTimers, random: systemRandom },
    ...{ timeoutMs: 1_000, keepDays: 1, send: async () => ({ status: 204 }) },
    shares: { begin: async () => undefined, charge: () => undefined },
    ...changed,
    store: {
      dueChannels: async () => ({ due: [channel], hasAny: true }),
      claimDeliveries: async () => undefined,
      recordDeliveries: async () => [],
      removeDeliveries: async () => ({ more: false }),
      ...store,
    },
  }) satisfies DeliveryParts;

test('P-18, CH-11: messages wait for the share of their project before they are claimed, and add to what it has begun', async () => {
  const seen: string[] = [];
  const left = [['a'], ['b', 'c'], []];
  const mayBegin = Promise.withResolvers<void>();
  const isDone = Promise.withResolvers<void>();
  const deliveries = new Deliveries(
    parts(
      {
        shares: {
          async begin(name) {
            seen.push(`begin ${name}`);
            await mayBegin.promise;
          },
          charge: (name, weight) => void seen.push(`charge ${name} ${weight}`),
        },
      },
      {
        async claimDeliveries() {
          const claimed = left.shift()?.map(message) ?? [];
          seen.push(`claim ${claimed.length}`);
          if (claimed.length === 0) isDone.resolve();
          return { channel, deliveries: claimed };
        },
      },
    ),
  );
  deliveries.start();
  while (seen.length === 0) await systemTimers.pause(1);
  assert.deepEqual(seen, ['begin shop']);
  mayBegin.resolve();
  await isDone.promise;
  await deliveries.stop();
  assert.deepEqual(seen.slice(0, 8), [
    ...['begin shop', 'claim 1', 'charge shop 3'],
    ...['begin shop', 'claim 2', 'charge shop 6'],
    ...['begin shop', 'claim 0'],
  ]);
});

test('CH-6: while old messages are deleted, new ones are delivered, and each page waits for a while', async () => {
  let nowMs = 0;
  let claims = 0;
  const pauses: number[] = [];
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const timers = {
    ...systemTimers,
    async pause(ms: number) {
      pauses.push(ms);
    },
  };
  const page = Promise.withResolvers<{ more: boolean }>();
  const pages = [{ more: true }, page.promise];
  const deliveries = new Deliveries(
    parts(
      { clock, timers },
      {
        async claimDeliveries() {
          claims += 1;
          return undefined;
        },
        removeDeliveries: async () => (await pages.shift()) ?? { more: false },
      },
    ),
  );
  nowMs = 3_600_000;
  deliveries.start();
  while (pages.length > 0) await systemTimers.pause(1);
  const before = claims;
  while (claims === before) {
    nowMs += 1_000;
    deliveries.check();
    await systemTimers.pause(1);
  }
  page.resolve({ more: false });
  await deliveries.stop();
  assert.deepEqual(pauses, [50]);
});
