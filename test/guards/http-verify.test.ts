import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse, request as sendRaw } from 'node:http';
import { Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import express from 'express';
import fastify from 'fastify';
import {
  admitAt,
  expressFence,
  fastifyFence,
  fencedFetch,
  fencedHandler,
  fenceHeaders,
  type HttpGuardOptions,
  type Marks,
  memoryMarks,
  readFenced,
  readStale,
} from '../../src/guards/http.ts';
import { SqliteGuard } from '../../src/guards/sqlite.ts';
import type { Fence } from '../../src/lease/fence.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { listening, serverOf } from './http-resource.ts';

const early = { key: 'a', fence: FIRST };
const late = { key: 'a', fence: SECOND };

/** A guarded handler, reached without a network. */
function guarded(options: Partial<HttpGuardOptions<Request>> = {}): {
  send(headers: Record<string, string>, path?: string): Promise<Response>;
} {
  const handler = fencedHandler(async () => new Response('done'), {
    marks: memoryMarks(),
    ...options,
  });
  return {
    send: (headers, path = '/') => handler(new Request(`http://server${path}`, { headers })),
  };
}

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  assert.equal(response.headers.get('content-type'), 'application/problem+json');
  return (await response.json()) as Record<string, unknown>;
}

test('a stale fence gets 409, with the newest fence and the fix', async () => {
  const { send } = guarded();
  assert.equal((await send(fenceHeaders(late))).status, 200);
  assert.equal((await send(fenceHeaders(late))).status, 200, 'an equal fence passes');
  const response = await send(fenceHeaders(early));
  assert.equal(response.status, 409);
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  assert.deepEqual(await readStale(response), stale);
  const { code, detail, presented, newest } = await problemOf(response);
  assert.deepEqual(
    { code, presented, newest },
    { code: 'stale-fence', presented: FIRST, newest: SECOND },
  );
  assert.match(String(detail), /Stop this work; acquire the lease again/);
  assert.equal(
    (await send(fenceHeaders({ key: 'b', fence: FIRST }))).status,
    200,
    'another resource',
  );
});

test('missing or malformed headers get 400', async () => {
  const { send } = guarded();
  const resource = { 'Holdfast-Resource': 'a' };
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{}, 'fence-missing'],
    [resource, 'fence-malformed'],
    [{ 'Holdfast-Fence': String(FIRST) }, 'fence-malformed'],
    ...['', '-1', '1e15', '0x10', '1', '12.5', `${FIRST}, ${SECOND}`, '9007199254740993'].map(
      (fence) => [{ ...resource, 'Holdfast-Fence': fence }, 'fence-malformed'] as const,
    ),
    // The last epoch is never issued. A mark that high would shut the resource for good.
    [{ ...resource, 'Holdfast-Fence': String(Number.MAX_SAFE_INTEGER) }, 'fence-malformed'],
    [{ 'Holdfast-Resource': '%E0%A4%A', 'Holdfast-Fence': String(FIRST) }, 'fence-malformed'],
    [{ 'Holdfast-Resource': 'x'.repeat(513), 'Holdfast-Fence': String(FIRST) }, 'fence-malformed'],
  ];
  for (const [headers, code] of cases) {
    const response = await send(headers);
    assert.equal(response.status, 400, JSON.stringify(headers));
    assert.equal((await problemOf(response))['code'], code, JSON.stringify(headers));
  }
  assert.equal((await send(fenceHeaders(early))).status, 200, 'none of these raised the mark');
});

test('keys of any script survive the header', () => {
  for (const key of ['счёт/7', 'a,b c%', '請求書', 'é']) {
    const presented = readFenced(new Headers(fenceHeaders({ key, fence: FIRST })));
    assert.deepEqual(presented, { kind: 'presented', fenced: { key, fence: FIRST } });
  }
});

test('a fence sent twice is malformed', () => {
  const headers = { 'holdfast-resource': 'a', 'holdfast-fence': [String(FIRST), String(SECOND)] };
  assert.equal(readFenced(headers).kind, 'malformed');
});

test('a resource sent twice is malformed, not another resource', async (t) => {
  const app = express();
  app.post('/', expressFence({ marks: memoryMarks() }), (_request, response) => {
    response.end('done');
  });
  const origin = await startServer(t, app);
  const statusOf = async (...headers: readonly string[]) => {
    const sent = sendRaw(origin, { method: 'POST', headers: ['Host', 'server', ...headers] }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  const resource = ['Holdfast-Resource', 'a'];
  const fence = ['Holdfast-Fence', String(FIRST)];
  assert.equal(await statusOf(...resource, 'Holdfast-Fence', String(SECOND)), 200);
  assert.equal(await statusOf(...resource, ...fence), 409);
  assert.equal(await statusOf(...resource, ...resource, ...fence), 400);
  assert.equal(await statusOf(...resource, ...fence, ...fence), 400);
  const twice = { 'holdfast-resource': ['a', 'a'], 'holdfast-fence': String(FIRST) };
  assert.equal(readFenced(twice).kind, 'malformed');
});

test('a key is read in any percent-encoding, and only as such', () => {
  const fence = String(FIRST);
  const read = (resource: string) =>
    readFenced({ 'holdfast-resource': resource, 'holdfast-fence': fence });
  for (const resource of ['a(b)', 'a%28b%29', '%61%28b)']) {
    assert.deepEqual(read(resource), {
      kind: 'presented',
      fenced: { key: 'a(b)', fence: FIRST },
    });
  }
  for (const resource of ['a b', 'a,b', 'a/b', 'é', 'a%2', '']) {
    assert.equal(read(resource).kind, 'malformed', resource);
  }
});

test('the server may decide which resource a request is about', async () => {
  const { send } = guarded({ resourceOf: ({ url }) => new URL(url).pathname.slice(1) });
  assert.equal((await send(fenceHeaders(early), '/a')).status, 200);
  const response = await send(fenceHeaders(early), '/b');
  assert.equal((await problemOf(response))['code'], 'wrong-resource');
});

test('a request without the headers passes only if they are optional', async () => {
  const { send } = guarded({ required: false });
  assert.equal((await send({})).status, 200);
  assert.equal((await send({ 'Holdfast-Fence': 'x', 'Holdfast-Resource': 'a' })).status, 400);
});

test('memory marks are raised at once and entered when earlier holders have left', async () => {
  const marks = memoryMarks();
  const first = await marks.enter(early);
  const beside = await marks.enter(early);
  assert.ok(first.kind === 'entered' && beside.kind === 'entered');
  const order: string[] = [];
  const waiting = marks.enter(late).then((answer) => {
    order.push('late entered');
    return answer;
  });
  assert.equal((await marks.enter(early)).kind, 'stale', 'refused while the later one waits');
  await first.leave();
  await first.leave();
  order.push('first left');
  assert.equal((await marks.enter(early)).kind, 'stale');
  await beside.leave();
  assert.equal((await waiting).kind, 'entered');
  assert.deepEqual(order, ['first left', 'late entered']);
});

test('a waiting request is refused when a still later holder comes', async () => {
  const marks = memoryMarks();
  const first = await marks.enter(early);
  assert.ok(first.kind === 'entered');
  const second = marks.enter(late);
  const third = marks.enter({ key: 'a', fence: THIRD });
  await first.leave();
  assert.equal((await second).kind, 'stale');
  assert.equal((await third).kind, 'entered');
});

test('when patience ends the response is 503, and the mark stays raised', async () => {
  const marks = memoryMarks({ waitMs: 0 });
  const inside = await marks.enter(early);
  assert.ok(inside.kind === 'entered');
  const { send } = guarded({ marks });
  const response = await send(fenceHeaders(late));
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal((await send(fenceHeaders(early))).status, 409);
  await inside.leave();
  assert.equal((await send(fenceHeaders(late))).status, 200);
});

test('marks in a store outlive the process', async (t) => {
  const database = new DatabaseSync(':memory:');
  t.after(() => database.close());
  const guard = new SqliteGuard();
  database.exec(guard.createTable);
  const keep = (fenced: { key: string; fence: Fence }) => guard.admit(database, fenced);
  const before = await memoryMarks({ keep }).enter(late);
  assert.equal(before.kind, 'entered');
  const afterRestart = memoryMarks({ keep });
  assert.equal((await afterRestart.enter(early)).kind, 'stale');
});

test('a mark that cannot be stored fails the request and lets others continue', async () => {
  let isDown = true;
  const keep = () => {
    if (isDown) throw new Error('the database is down');
    return { kind: 'current' } as const;
  };
  const marks = memoryMarks({ keep });
  await assert.rejects(marks.enter(early), /the database is down/);
  isDown = false;
  assert.equal((await marks.enter(late)).kind, 'entered', 'no request is left inside');
});

async function startServer(
  t: TestContext,
  handler: Parameters<typeof createServer>[1],
): Promise<string> {
  const server = await listening(createServer(handler));
  t.after(() => server.close());
  return server.origin;
}

test('Express: a request whose client is gone is at work until its handler answers', async (t) => {
  const marks = memoryMarks({ waitMs: 0 });
  const app = express();
  const started = Promise.withResolvers<void>();
  const clientGone = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  app.post('/', expressFence({ marks }), async (_request, response) => {
    response.once('close', () => clientGone.resolve());
    started.resolve();
    await goOn.promise;
    response.end('done');
  });
  const origin = await startServer(t, app);
  const abandoned = sendRaw(origin, { method: 'POST', headers: fenceHeaders(early) });
  abandoned.on('error', () => undefined);
  abandoned.end();
  await started.promise;
  abandoned.destroy();
  await clientGone.promise;
  assert.deepEqual(await admitAt(origin, late), { kind: 'busy', resource: 'a' });
  goOn.resolve();
  // The handler continues in a later turn. The client repeats the admission, as the 503 asks.
  const entered = async () => (await admitAt(origin, late)).kind;
  while ((await entered()) === 'busy');
  assert.equal((await admitAt(origin, early)).kind, 'stale');
});

test('Express: marks that fail are an error of the request, which goes no further', async () => {
  const marks: Marks = { enter: () => Promise.reject(new Error('no marks')) };
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const request = {
    headers: { 'holdfast-resource': 'a', 'holdfast-fence': String(FIRST) },
  };
  const error = await new Promise((next) => expressFence({ marks })(request, response, next));
  assert.ok(error instanceof Error && error.message === 'no marks');
});

test('an address that does not admit is a fault, not an admission', async (t) => {
  const origin = await startServer(t, (_request, response) => {
    response.writeHead(404).end('not here');
  });
  await assert.rejects(admitAt(origin, early), /returned status 404 and did not admit/);
});

test('Fastify: handlers of every style leave when they are done', async (t) => {
  const app = fastify();
  t.after(() => app.close());
  app.addHook('onRoute', fastifyFence({ marks: memoryMarks({ waitMs: 0 }) }));
  app.post('/value', async () => ({ ok: true }));
  app.post('/reply', async (_request, reply) => reply.code(201).send('sent'));
  app.post('/callback', (_request, reply) => {
    setImmediate(() => reply.send('called back'));
  });
  app.post('/throws', async () => {
    throw new Error('broken');
  });
  const styles = ['/value', '/reply', '/callback', '/throws'];
  const statuses: number[] = [];
  for (const [index, url] of styles.entries()) {
    const fence = (FIRST + index) as Fence;
    const { statusCode } = await app.inject({
      method: 'POST',
      url,
      headers: fenceHeaders({ key: 'a', fence }),
    });
    statuses.push(statusCode);
  }
  assert.deepEqual(statuses, [200, 201, 200, 500], 'each style let the next holder in');
  const refused = await app.inject({ method: 'POST', url: '/value', headers: fenceHeaders(early) });
  assert.equal(refused.statusCode, 409);
  assert.match(String(refused.headers['content-type']), /^application\/problem\+json/);
});

test('the client keeps the headers of a Request and its own', async (t) => {
  const server = await listening(
    serverOf(async (request) => new Response(JSON.stringify(Object.fromEntries(request.headers)))),
  );
  t.after(() => server.close());
  const request = new Request(server.origin, { headers: { 'x-own': '1' } });
  const seen = (await (await fencedFetch(early)(request)).json()) as Record<string, string>;
  assert.equal(seen['x-own'], '1');
  assert.equal(seen['holdfast-fence'], String(FIRST));
  assert.equal(seen['holdfast-resource'], 'a');
});

test('when two admits race, the higher fence wins', async (t) => {
  const handler = fencedHandler(async () => new Response('done'), { marks: memoryMarks() });
  const server = await listening(serverOf(handler));
  t.after(() => server.close());
  await Promise.all([admitAt(server.origin, late), admitAt(server.origin, early)]);
  assert.equal((await admitAt(server.origin, early)).kind, 'stale');
  assert.equal((await admitAt(server.origin, late)).kind, 'current');
});

test('options that do not exist are refused', () => {
  const options = { marks: memoryMarks(), requierd: true };
  assert.throws(() => expressFence(options), /Did you mean "required"/);
});
