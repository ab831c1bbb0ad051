// When a request counts as done: for every style of handler, with and without a waiting client.

import assert from 'node:assert/strict';
import { type ClientRequest, createServer, request as sendRaw } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { pipeline as finishing } from 'node:stream/promises';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import fastify, { type FastifyInstance } from 'fastify';
import {
  admitAt,
  expressFence,
  fastifyFence,
  fencedHandler,
  fencedRoute,
  fenceHeaders,
  type Marks,
  memoryMarks,
  PermitLost,
  permitOf,
} from '../../src/guards/http.ts';
import type { Fence } from '../../src/lease/fence.ts';
import { FIRST, SECOND } from './fences.ts';
import { listening, serverOf } from './http-resource.ts';

const early = { key: 'a', fence: FIRST };
const late = { key: 'a', fence: SECOND };
const TRIES = 500;

/** A server with `/admit` and marks without patience: `busy` means that a request is inside. */
async function startExpress(
  t: TestContext,
  route: (app: express.Express, marks: Marks) => void,
): Promise<string> {
  const marks = memoryMarks({ waitMs: 0 });
  const app = express();
  app.set('env', 'test');
  app.post('/admit', expressFence({ marks }), (_request, response) => {
    response.status(204).end();
  });
  route(app, marks);
  const server = await listening(createServer(app));
  t.after(() => server.close());
  return server.origin;
}

async function startFastify(
  t: TestContext,
  route: (app: FastifyInstance) => void,
): Promise<string> {
  const app = fastify({ forceCloseConnections: true });
  t.after(() => app.close());
  app.addHook('onRoute', fastifyFence({ marks: memoryMarks({ waitMs: 0 }) }));
  app.post('/admit', async (_request, reply) => reply.code(204).send());
  route(app);
  return await app.listen({ host: '127.0.0.1', port: 0 });
}

function sendAs(address: string, fenced: { key: string; fence: Fence }): ClientRequest {
  const sent = sendRaw(address, { method: 'POST', headers: fenceHeaders(fenced) });
  sent.on('error', () => undefined);
  sent.on('response', (response) => response.resume().on('error', () => undefined));
  return sent.end();
}

const admit = async (origin: string) => (await admitAt(`${origin}/admit`, late)).kind;

/** Tries again, as the 503 asks. A request that has ended leaves within a few turns. */
async function isLetIn(origin: string): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if ((await admit(origin)) === 'current') return true;
    await nextTurn();
  }
  return false;
}

/** Signals between a handler and a test. */
function signals(): Record<'begun' | 'clientGone' | 'goOn', PromiseWithResolvers<void>> {
  return {
    begun: Promise.withResolvers<void>(),
    clientGone: Promise.withResolvers<void>(),
    goOn: Promise.withResolvers<void>(),
  };
}

test('Fastify: a handler of any style leaves when it has answered', async (t) => {
  const origin = await startFastify(t, (app) => {
    app.post('/sends', (_request, reply) => {
      reply.send({ ok: true });
    });
    app.post('/returns-what-it-sends', (_request, reply) => reply.send({ ok: true }));
    app.post('/throws', () => {
      throw new Error('bad input');
    });
    app.post('/rejects', async () => {
      throw new Error('bad input');
    });
    app.post('/nothing', async () => undefined);
    app.post('/sends-later', async (_request, reply) => {
      setImmediate(() => reply.send('later'));
      return reply;
    });
    app.post('/stream', async () => Readable.from(['a', 'b']));
    app.post('/hijack', (_request, reply) => {
      reply.hijack();
      reply.raw.end('mine');
    });
  });
  const styles = [
    ['/sends', 200],
    ['/returns-what-it-sends', 200],
    ['/throws', 500],
    ['/rejects', 500],
    ['/nothing', 200],
    ['/sends-later', 200],
    ['/stream', 200],
    ['/hijack', 200],
  ] as const;
  for (const [index, [path, status]] of styles.entries()) {
    const headers = fenceHeaders({ key: 'a', fence: (FIRST + index) as Fence });
    const response = await fetch(`${origin}${path}`, { method: 'POST', headers });
    await response.text();
    assert.equal(response.status, status, `${path}, or the one before it has not left`);
  }
  const after = { key: 'a', fence: (FIRST + styles.length) as Fence };
  assert.equal((await admitAt(`${origin}/admit`, after)).kind, 'current');
});

test('Fastify: a client that goes away does not end a handler that has yet to answer', async (t) => {
  for (const style of ['callback', 'reply', 'stream']) {
    const { begun, clientGone, goOn } = signals();
    const origin = await startFastify(t, (app) => {
      const work = async () => {
        begun.resolve();
        await goOn.promise;
      };
      app.post('/', (_request, reply) => {
        reply.raw.once('close', () => clientGone.resolve());
        if (style === 'stream') return reply.send(Readable.from(reportOf(work)));
        void work().then(() => reply.send('done'));
        return style === 'reply' ? Promise.resolve(reply) : undefined;
      });
    });
    const abandoned = sendAs(origin, early);
    await begun.promise;
    abandoned.destroy();
    await clientGone.promise;
    await nextTurn();
    assert.equal(await admit(origin), 'busy', style);
    goOn.resolve();
    assert.ok(await isLetIn(origin), style);
  }
});

/** A report that the handler sends while it works. */
async function* reportOf(work: () => Promise<void>): AsyncGenerator<string> {
  yield 'begun';
  await work();
  yield 'done';
}

test('Express: a stream whose reader is gone keeps no request out', async (t) => {
  const endless = () => new Readable({ read: () => undefined });
  const ways: Readonly<Record<string, (source: Readable, response: express.Response) => unknown>> =
    {
      pipeline: (source, response) => pipeline(source, response, () => undefined),
      pipe: (source, response) => source.pipe(response),
      'pipe, ended by hand': (source, response) => source.pipe(response, { end: false }),
    };
  for (const [way, send] of Object.entries(ways)) {
    const source = endless();
    const origin = await startExpress(t, (app, marks) => {
      app.post('/', expressFence({ marks }), (_request, response) => send(source, response));
    });
    const download = sendAs(origin, early);
    source.push('the beginning');
    await new Promise((resolve) => download.once('response', resolve));
    assert.equal(await admit(origin), 'busy', way);
    download.destroy();
    assert.ok(await isLetIn(origin), way);
    assert.ok(source.destroyed, way);
  }
});

test('Express: a stream with another reader goes on, and so does its request', async (t) => {
  const { begun, clientGone } = signals();
  const source = new Readable({ read: () => undefined });
  const saved: string[] = [];
  source.on('data', (chunk) => saved.push(String(chunk)));
  const origin = await startExpress(t, (app, marks) => {
    app.post('/', expressFence({ marks }), (_request, response) => {
      response.once('close', () => clientGone.resolve());
      source.pipe(response);
      begun.resolve();
    });
  });
  const download = sendAs(origin, early);
  await begun.promise;
  source.push('one ');
  await new Promise((resolve) => download.once('response', resolve));
  download.destroy();
  await clientGone.promise;
  assert.equal(await admit(origin), 'busy');
  source.resume();
  source.push('two');
  source.push(null);
  assert.ok(await isLetIn(origin));
  assert.equal(saved.join(''), 'one two');
});

test('Express: work that a stream does is awaited, though its client is gone', async (t) => {
  const { begun, clientGone, goOn } = signals();
  const origin = await startExpress(t, (app, marks) => {
    app.post('/', expressFence({ marks }), (_request, response) => {
      response.once('close', () => clientGone.resolve());
      const report = reportOf(async () => {
        begun.resolve();
        await goOn.promise;
      });
      pipeline(Readable.from(report), response, () => undefined);
    });
  });
  const abandoned = sendAs(origin, early);
  await begun.promise;
  abandoned.destroy();
  await clientGone.promise;
  await nextTurn();
  assert.equal(await admit(origin), 'busy');
  goOn.resolve();
  assert.ok(await isLetIn(origin));
});

test('Express: the promise of a fenced route ends its permit', async (t) => {
  const { begun, clientGone, goOn } = signals();
  const origin = await startExpress(t, (app, marks) => {
    const route = fencedRoute(
      async (_request: express.Request, response: express.Response) => {
        response.once('close', () => clientGone.resolve());
        // This response has no piped stream, so no stream ends it after its client is gone.
        await finishing(async function* () {
          yield 'begun';
          begun.resolve();
          await clientGone.promise;
          yield 'more';
        }, response).catch(() => undefined);
        await goOn.promise;
      },
      { marks },
    );
    app.post('/', route);
    app.post(
      '/rejects',
      fencedRoute(() => Promise.reject(new Error('bad input')), { marks }),
    );
  });
  const abandoned = sendAs(origin, early);
  await begun.promise;
  abandoned.destroy();
  await clientGone.promise;
  assert.equal(await admit(origin), 'busy');
  goOn.resolve();
  assert.ok(await isLetIn(origin));
  const rejects = await fetch(`${origin}/rejects`, { method: 'POST', headers: fenceHeaders(late) });
  assert.equal(rejects.status, 500);
  const after = { key: 'a', fence: (SECOND + 1) as Fence };
  assert.equal((await admitAt(`${origin}/admit`, after)).kind, 'current');
});

test('Express: a handler may end its permit itself', async (t) => {
  const origin = await startExpress(t, (app, marks) => {
    app.post('/', expressFence({ marks }), (request, response) => {
      response.write('an event');
      response.once('close', () => void permitOf(request)?.leave());
    });
  });
  const listener = sendAs(origin, early);
  await new Promise((resolve) => listener.once('response', resolve));
  assert.equal(await admit(origin), 'busy');
  listener.destroy();
  assert.ok(await isLetIn(origin));
});

/** Marks whose permit a test can take away. */
function losingMarks(): { marks: Marks; lose(): void } {
  const lost = new AbortController();
  const leave = async () => lost.signal.throwIfAborted();
  return {
    marks: { enter: async () => ({ kind: 'entered', lost: lost.signal, leave }) },
    lose: () => lost.abort(new PermitLost('a')),
  };
}

async function codeOf(response: Response): Promise<unknown> {
  assert.equal(response.status, 500);
  return ((await response.json()) as { code: unknown }).code;
}

test('a request that lost its permit never gets a success response', async (t) => {
  const { marks, lose } = losingMarks();
  const app = express();
  app.use(expressFence({ marks }));
  app.post('/json', (request, response) => {
    lose();
    assert.equal(permitOf(request)?.lost?.aborted, true);
    response.json({ ok: true });
  });
  app.post('/half-sent', (_request, response) => {
    response.write('half');
    lose();
    response.end('sent');
  });
  const onExpress = await listening(createServer(app));
  const handler = fencedHandler(
    async () => {
      lose();
      return new Response('done');
    },
    { marks },
  );
  const onFetch = await listening(serverOf(handler));
  const other = fastify({ forceCloseConnections: true });
  other.addHook('onRoute', fastifyFence({ marks }));
  other.post('/promise', async () => {
    lose();
    return 'done';
  });
  other.post('/callback', (_request, reply) => {
    lose();
    reply.send('done');
  });
  const fastifyOrigin = await other.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => Promise.all([onExpress.close(), onFetch.close(), other.close()]));

  const post = (address: string) =>
    fetch(address, { method: 'POST', headers: fenceHeaders(early) });
  assert.equal(await codeOf(await post(`${onExpress.origin}/json`)), 'permit-lost');
  await assert.rejects(post(`${onExpress.origin}/half-sent`).then((response) => response.text()));
  assert.equal(await codeOf(await post(onFetch.origin)), 'permit-lost');
  assert.equal(await codeOf(await post(`${fastifyOrigin}/promise`)), 'permit-lost');
  await assert.rejects(post(`${fastifyOrigin}/callback`), 'the connection is broken instead');
});
