// etcd behind TLS, with a certificate that only this test trusts. Its key is in the tree and protects nothing.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from 'node:tls';
import { mustAcquire, openedSession } from '../../contract/lease/opened-session.ts';
import { StoreUnavailable } from '../../src/index.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import { etcdForTests } from '../services/etcd.ts';

function pem(name: string): Promise<string> {
  return readFile(join(import.meta.dirname, 'tls', name), 'utf8');
}

test('a store is opened over TLS, with certificates of client and server', async () => {
  const etcd = await etcdForTests();
  const [cert, key] = [await pem('certificate.pem'), await pem('key.pem')];
  const member = new URL(etcd.endpoints[0] ?? '');
  // The proxy turns clients without a certificate away before they reach etcd.
  const front = createServer(
    { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] },
    (socket) => {
      const behind = connect(Number(member.port), member.hostname);
      socket.pipe(behind).pipe(socket);
      for (const each of [socket, behind]) each.on('error', () => undefined);
    },
  );
  front.on('tlsClientError', () => undefined);
  front.listen(0, 'localhost');
  await once(front, 'listening');
  const endpoints = [`https://localhost:${(front.address() as AddressInfo).port}`];
  const { prefix } = etcd;
  const tls = { ca: cert, cert, key };
  const store = await openEtcdStore({ endpoints, prefix, tls });
  const { fence } = await mustAcquire(store, await openedSession(store, 'ann'));
  assert.ok(fence > 0);
  await store.close();
  for (const wrong of [{}, { ca: cert }]) {
    const opening = openEtcdStore({ endpoints, prefix, tls: wrong, callTimeoutMs: 1_000 });
    await assert.rejects(opening, StoreUnavailable);
  }
  front.close();
  await etcd.release();
});
