import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API_VERSION, openapiOf } from '../../src/protocol/rest/openapi.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { TestCoordinator } from './coordinator.ts';

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, object>>;
}

const document = openapiOf(ROUTES, API_VERSION) as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

test('every route is described once, with all parameters of its path', () => {
  const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.values(verbs).map((operation) => ({ path, operation })),
  );
  assert.equal(operations.length, ROUTES.length);
  const names = operations.map(({ operation }) => operation.operationId);
  assert.equal(new Set(names).size, names.length);
  for (const { path, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const described = operation.parameters.filter((each) => each.in === 'path');
    assert.deepEqual(
      described.map(({ name }) => name),
      inPath,
      path,
    );
    assert.ok(Object.keys(operation.responses).some((status) => Number(status) < 300));
  }
});

test('each field of a request has one place', () => {
  for (const { at, method, params, query, body } of ROUTES) {
    const names = [params, query, body].flatMap((schema) =>
      Object.keys((schema as { properties?: object } | undefined)?.properties ?? {}),
    );
    assert.equal(new Set(names).size, names.length, at);
    assert.ok(method === 'GET' ? body === undefined : query === undefined, at);
  }
});

test('every reference in the description resolves', () => {
  const text = JSON.stringify(document);
  for (const [, path = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const found = path
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], document);
    assert.equal(typeof found, 'object', path);
  }
});

test('a coordinator serves its description without a key', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const response = await fetch(`${coordinator.url}/v1/openapi.json`);
  assert.deepEqual(await response.json(), document);
});

test('the description is built once, and is not sent to a client that has it', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const describe = ROUTES.find(({ name }) => name === 'describeApi');
  const call = { header: () => undefined } as never;
  const [one, other] = [
    await describe?.handle({} as never, call),
    await describe?.handle({} as never, call),
  ];
  assert.ok(one?.raw !== undefined && one.raw.bytes === other?.raw?.bytes);
  const url = `${coordinator.url}/v1/openapi.json`;
  const etag = (await fetch(url)).headers.get('etag') ?? '';
  assert.equal((await fetch(url, { headers: { 'if-none-match': etag } })).status, 304);
});
