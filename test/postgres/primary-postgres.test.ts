// A URL with several hosts: the store follows the primary through a failover.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Holdfast, pipeline } from '../../src/index.ts';
import { inspectPostgresStore } from '../../src/store/postgres/inspect-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { until } from '../server/coordinator.ts';
import { PostgresPair } from '../services/postgres-pair.ts';

const pair = await PostgresPair.start({ commits: 'synchronous' });
after(() => pair.stop());
/** The standby first, so that the first host is the wrong one. */
const hosts = pair.ports.toReversed().map((port) => `127.0.0.1:${port}`);
const url = `postgres://postgres@${hosts.join(',')}/postgres`;

test('a store with a URL of several hosts opens on the primary, and doctor inspects it there', async () => {
  const store = await openPostgresStore({ url });
  const report = await inspectPostgresStore({ url });
  assert.equal(report.exists, true);
  await store.close();
});

test('a URL whose hosts are all standbys or away is refused, with the reason of each', async () => {
  const standby = `postgres://postgres@${hosts[0]},127.0.0.1:1/postgres`;
  await assert.rejects(openPostgresStore({ url: standby }), (error: Error & { code?: string }) => {
    assert.match(
      error.message,
      /^No PostgreSQL host of the URL is a primary \(127\.0\.0\.1:\d+ is a standby; 127\.0\.0\.1:1: .*ECONNREFUSED.*\)\. Nothing was changed\./,
    );
    return error.code === 'store-unavailable';
  });
});

test('P3: after a failover to a synchronous standby, the same store goes on, and nothing acknowledged is lost', async () => {
  const store = await openPostgresStore({ url });
  const holdfast = new Holdfast({ store });
  const add = pipeline({ name: 'add', run: (ctx, n: number) => ctx.step('one', () => n + 1) });
  const worker = await holdfast.worker({ pipelines: [add], ttlMs: 2_000 });
  const before = await holdfast.submit(add, 1, { key: 'before' });
  assert.equal(await before.result(), 2);
  await pair.failOver();
  const again = await until(() =>
    holdfast.submit(add, 1, { key: 'before' }).catch(() => undefined),
  );
  assert.deepEqual([again.id, again.existing], [before.id, true]);
  const later = await until(() => holdfast.submit(add, 2, { key: 'later' }).catch(() => undefined));
  assert.equal(await later.result(), 3);
  await worker.stop();
  await holdfast.close();
  await store.close();
});
