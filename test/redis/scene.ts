// Shared by the tests of the Redis store: a private server, a look past the store, a grant.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { createClient } from 'redis';
import {
  type Fence,
  type HeldLease,
  type KernelStore,
  openSession,
  type Session,
} from '../../src/index.ts';
import { openRedisStore, type RedisStoreOptions } from '../../src/store/redis/open.ts';
import { type PrivateRedis, type RedisSettings, startRedis } from '../services/redis.ts';

export const KEY = 'invoice/1';

export async function serverFor(t: TestContext, settings?: RedisSettings): Promise<PrivateRedis> {
  const redis = await startRedis(settings);
  t.after(() => redis.stop());
  return redis;
}

export async function storeAt(
  t: TestContext,
  url: string,
  options: RedisStoreOptions = {},
): Promise<KernelStore> {
  const store = await openRedisStore({ url, ...options });
  t.after(() => store.close());
  return store;
}

/** Sends one command, past the store. */
export async function send(url: string, ...command: string[]): Promise<unknown> {
  const client = createClient({ url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await client.sendCommand(command);
  } finally {
    client.destroy();
  }
}

export async function take(session: Session, key: string = KEY): Promise<HeldLease> {
  const outcome = await session.acquire(key);
  assert.ok(outcome.kind === 'acquired', JSON.stringify(outcome));
  return outcome.lease;
}

/** A session that opens, takes a key, and closes. */
export async function fenceOf(store: KernelStore, key: string = KEY): Promise<Fence> {
  await using session = await openSession({ store, owner: 'ann' });
  const lease = await take(session, key);
  await lease.release('finished');
  return lease.fence;
}

/** Tries until the store can be reached again. */
export async function whenBack<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (fault) {
      const { name } = fault as Error;
      if (tries === 500 || (name !== 'StoreUnavailable' && name !== 'OutcomeUnknown')) throw fault;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

export async function kindsOf(store: KernelStore): Promise<readonly string[]> {
  const page = await store.leases.events({ after: 0, limit: 1_000 });
  assert.ok(page.kind === 'events');
  return page.events.map(({ kind }) => kind);
}

/** For servers that other Redis servers must reach. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return String(typeof address === 'object' ? address?.port : 0);
}
