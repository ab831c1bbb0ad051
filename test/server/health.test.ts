import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { TestCoordinator } from './coordinator.ts';

test('it says that it lives, and that it is ready while its store answers', async () => {
  const store = openMemoryStore();
  let isAway = false;
  const away = {
    ...store,
    access: {
      ...store.access,
      project: (name: Parameters<typeof store.access.project>[0]) =>
        isAway ? Promise.reject(new Error('away')) : store.access.project(name),
    },
  };
  await using coordinator = await TestCoordinator.open({ store: away });
  const status = async (path: string): Promise<number> =>
    (await fetch(`${coordinator.url}${path}`)).status;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 200]);
  isAway = true;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
});

test('a store that does not answer within a second is one that is not ready', async () => {
  const store = openMemoryStore();
  let isHanging = false;
  const hanging = {
    ...store,
    access: {
      ...store.access,
      project: (name: Parameters<typeof store.access.project>[0]) =>
        isHanging ? new Promise<never>(() => undefined) : store.access.project(name),
    },
  };
  await using coordinator = await TestCoordinator.open({ store: hanging });
  isHanging = true;
  assert.equal((await fetch(`${coordinator.url}/readyz`)).status, 503);
});

test('metrics are for operators, or for everybody when that was said', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const url = `${coordinator.url}/metrics`;
  assert.equal((await fetch(url)).status, 401);
  const authorization = `Bearer ${await coordinator.key(['operate'], 'default')}`;
  await fetch(`${coordinator.url}/v1/executions`, { headers: { authorization } });
  const response = await fetch(url, { headers: { authorization } });
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=/);
  const text = await response.text();
  assert.match(text, /holdfast_http_requests_total\{route="listExecutions",status="200"\} 1/);
  assert.match(text, /holdfast_http_held 0/);
  await using open = await TestCoordinator.onMemory({ publicMetrics: true });
  assert.equal((await fetch(`${open.url}/metrics`)).status, 200);
});

test('without prom-client nothing is counted, and it is said what to install', async () => {
  const route = ROUTES.find(({ name }) => name === 'readMetrics');
  const answer = route?.handle({ metrics: undefined } as never, {} as never);
  await assert.rejects(Promise.resolve(answer), /npm install prom-client/);
});

test('where projects and keys are managed can be somewhere else, or nowhere', async () => {
  await using off = await TestCoordinator.onMemory({ admin: 'off' });
  await using apart = await TestCoordinator.onMemory({ admin: { port: 0 } });
  const authorization = `Bearer ${await apart.key(['admin', 'submit'])}`;
  const status = async (url = ''): Promise<number> =>
    (await fetch(url, { headers: { authorization } })).status;
  assert.equal(await status(`${off.url}/v1/projects`), 404);
  assert.equal(await status(`${apart.url}/v1/projects`), 404);
  assert.equal(await status(`${apart.server.adminUrl}/v1/projects`), 200);
  assert.equal(await status(`${apart.server.adminUrl}/v1/executions`), 404);
  assert.equal(await status(`${apart.server.adminUrl}/healthz`), 200);
});
