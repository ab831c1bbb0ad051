// Signing in: the rights of the cookie, and its limits against pages of other sites.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readKey } from '../../src/features/access/model.ts';
import { TestCoordinator } from '../server/coordinator.ts';

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

async function ask(
  { url }: TestCoordinator,
  path: string,
  { method = 'GET', headers = {}, body }: Sent = {},
): Promise<{ readonly status: number; readonly code?: string; readonly cookie: string }> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { code } = (await response.json().catch(() => ({}))) as { code?: string };
  const cookie = response.headers.get('set-cookie') ?? '';
  return { status: response.status, cookie, ...(code === undefined ? {} : { code }) };
}

async function signedIn(coordinator: TestCoordinator, key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const { status, cookie } = await ask(coordinator, '/v1/sign-in', { method: 'POST', headers });
  assert.equal(status, 204);
  assert.match(cookie, /; Path=\/; HttpOnly; SameSite=Strict$/);
  return cookie.split(';')[0] ?? '';
}

const CONSOLE = { 'holdfast-console': '1' };
const SUBMIT = { method: 'POST', body: { pipeline: 'order' } } as const;

describe('a key in a cookie', () => {
  test('allows the operations of its key: reads, and writes from the console', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const cookie = await signedIn(coordinator, await coordinator.key(['submit'], 'shop'));
    assert.equal((await ask(coordinator, '/v1/executions', { headers: { cookie } })).status, 200);
    const headers = { ...CONSOLE, cookie };
    assert.equal((await ask(coordinator, '/v1/executions', { ...SUBMIT, headers })).status, 202);
    const audit = await ask(coordinator, '/v1/audit', { headers });
    assert.deepEqual([audit.status, audit.code], [403, 'role-missing']);
  });

  test('is refused on requests from another site', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const cookie = await signedIn(coordinator, await coordinator.key(['submit'], 'shop'));
    // A form of another page can send the cookie at best, never the header.
    const form = await ask(coordinator, '/v1/executions', { ...SUBMIT, headers: { cookie } });
    assert.deepEqual([form.status, form.code], [403, 'foreign-page']);
    for (const site of ['cross-site', 'same-site']) {
      const headers = { ...CONSOLE, cookie, 'sec-fetch-site': site };
      for (const sent of [{}, SUBMIT]) {
        const answer = await ask(coordinator, '/v1/executions', { ...sent, headers });
        assert.deepEqual([answer.status, answer.code], [403, 'foreign-page'], site);
      }
    }
    const out = await ask(coordinator, '/v1/sign-out', { method: 'POST', headers: { cookie } });
    assert.deepEqual([out.status, out.cookie], [403, '']);
    // No page gets permission to send the header either.
    const asked = await fetch(`${coordinator.url}/v1/executions`, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
    });
    assert.equal(asked.headers.get('access-control-allow-origin'), null);
  });

  test('stops working when the key ends, and signing out deletes it', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const key = await coordinator.key(['operate'], 'shop');
    const cookie = await signedIn(coordinator, key);
    const headers = { ...CONSOLE, cookie };
    const out = await ask(coordinator, '/v1/sign-out', { method: 'POST', headers });
    assert.match(out.cookie, /^holdfast-key=; Max-Age=0;/);
    await coordinator.store.access.revokeKey({ id: readKey(key)?.id ?? '', inMs: 0 });
    await using later = await TestCoordinator.open({
      store: coordinator.store,
      maintenance: false,
    });
    assert.equal((await ask(later, '/v1/caller', { headers })).code, 'key-required');
  });

  test('is not set for an invalid key', async () => {
    await using coordinator = await TestCoordinator.onMemory();
    const wrong = (await coordinator.key(['submit'])).slice(0, -3).concat('AAA');
    for (const authorization of [`Bearer ${wrong}`, 'Bearer x', '']) {
      const sent = { method: 'POST', headers: { authorization } };
      const { status, cookie } = await ask(coordinator, '/v1/sign-in', sent);
      assert.deepEqual([status, cookie], [401, '']);
    }
    for (const cookie of ['holdfast-key=', `holdfast-key=${wrong}`, 'other=1']) {
      const { status } = await ask(coordinator, '/v1/caller', { headers: { cookie } });
      assert.equal(status, 401, cookie);
    }
  });

  test('is marked for TLS only if it was set over TLS', async () => {
    await using coordinator = await TestCoordinator.onMemory({ trustProxy: true });
    const key = await coordinator.key(['submit'], 'shop');
    const headers = { authorization: `Bearer ${key}`, 'x-forwarded-proto': 'https' };
    const { cookie } = await ask(coordinator, '/v1/sign-in', { method: 'POST', headers });
    assert.match(cookie, /; Secure$/);
  });
});

test('the caller route reports missing admin and archive routes, so that the console hides them', async () => {
  for (const isHere of [true, false]) {
    await using coordinator = await TestCoordinator.onMemory({ admin: isHere ? 'main' : 'off' });
    const key = await coordinator.key(['admin'], 'shop');
    const response = await fetch(`${coordinator.url}/v1/caller`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { hasAdmin, hasArchive } = (await response.json()) as Record<string, unknown>;
    assert.deepEqual([hasAdmin, hasArchive], [isHere, false]);
    const listed = await ask(coordinator, '/v1/keys', {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(listed.status, isHere ? 200 : 404);
  }
});
