// Every route, with values from its schemas that are then spoilt: bad types, sizes, encodings, huge
// numbers, unknown fields. No response is a 500, the coordinator continues, and a refused request
// changes nothing.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { openFolderArchive } from '../../src/archive/folder.ts';
import type { Route } from '../../src/protocol/rest/route.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { isFullRun, noteLeftOut, runSeed } from '../services/tier.ts';
import { arbitraryOf, type Known } from './arbitrary-of.ts';
import { plant } from './fixture.ts';
import { snapshot } from './snapshot.ts';

const RUNS_IN_FULL = 300;
const RUNS = isFullRun() ? RUNS_IN_FULL : 8;
const ALL = ROUTES.length * RUNS_IN_FULL;
if (!isFullRun()) noteLeftOut('spoilt requests', ALL - ROUTES.length * RUNS, ALL);
/** Streams never end, so the test opens them and drops them. */
const RELEASE_MS = 2_000;

let store: CoordinatorStore;
let server: Server;
let known: Known = [];
let folder = '';
const faults: unknown[] = [];

before(async () => {
  store = openMemoryStore();
  folder = await mkdtemp(join(tmpdir(), 'hf-fuzz-'));
  const archive = openFolderArchive({ folder });
  known = (await plant(store, archive)).known;
  const log = { info: () => undefined, fault: (_: string, error: unknown) => faults.push(error) };
  const limits = { relayAnswersMs: 1 };
  const given = { admin: 'main', maintenance: false, log, limits, retention: { archive } } as const;
  server = await openServer({ store, port: 0, ...given });
});

after(async () => {
  await server.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

interface Sent {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

for (const route of ROUTES) {
  test(`${route.method} ${route.path} answers random requests, and a refused one changes nothing`, async () => {
    const sent = fc.record({
      params: arbitraryOf(route.params, known),
      query: arbitraryOf(route.query, known),
      body: arbitraryOf(route.body, known),
    });
    await fc.assert(
      fc.asyncProperty(sent, (each) => tryOut(route, each)),
      { numRuns: RUNS, seed: runSeed() % 2 ** 31 },
    );
    const alive = await fetch(`${server.url}/v1/executions?limit=1`, { headers: headers() });
    assert.equal(alive.status, 200);
    await alive.body?.cancel();
  });
}

async function tryOut(route: Route, sent: Sent): Promise<void> {
  const before = await snapshot(store);
  const response = await send(route, sent);
  const text = route.isLong === true && response.ok ? '' : await response.text();
  await response.body?.cancel().catch(() => undefined);
  if (response.status < 400) return;
  const { code, detail } = JSON.parse(text) as { code?: unknown; detail?: unknown };
  // No worker can validate an answer: its relay execution stays, cancelled.
  if (code === 'no-worker') return;
  // An expected refusal: no worker could take it, and nothing was submitted.
  const isReply = response.status < 500 || code === 'no-worker-for';
  assert.ok(isReply, `${response.status} ${text} ${String(faults.at(-1))}`);
  assert.ok(typeof code === 'string' && typeof detail === 'string', text);
  assert.equal(await snapshot(store), before, `${response.status} has changed something`);
}

function headers(): Record<string, string> {
  return { authorization: `Bearer ${server.firstKey}` };
}

async function send(route: Route, { params, query, body }: Sent): Promise<Response> {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) =>
    encoded(typeof params === 'object' && params !== null ? Reflect.get(params, name) : params),
  );
  const search = typeof query === 'object' && query !== null ? queryText(query) : '';
  const hasBody = body !== undefined && route.method !== 'GET';
  return fetch(`${server.url}${path}${search}`, {
    method: route.method,
    headers: { ...headers(), ...(hasBody && { 'content-type': 'application/json' }) },
    signal: AbortSignal.timeout(RELEASE_MS * 10),
    ...(hasBody && { body: JSON.stringify(body) }),
  });
}

/** No long polls, which would only wait. */
function queryText(query: object): string {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [
    name.toWellFormed(),
    name === 'waitMs' ? '1' : textOf(value),
  ]);
  return `?${new URLSearchParams(pairs)}`;
}

function encoded(value: unknown): string {
  return encodeURIComponent(textOf(value)) || '%20';
}

function textOf(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');
  return text.toWellFormed();
}
