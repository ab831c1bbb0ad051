// A resource behind an HTTP server: real servers on free ports, real requests. The handler pauses
// between the check and the effect, which is where a middleware that only checks would fail.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { pipeline as finishing } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import fastify from 'fastify';
import {
  admitAt,
  expressFence,
  fastifyFence,
  fencedFetch,
  fencedHandler,
  fencedRoute,
  type HttpGuardOptions,
  type Marks,
  memoryMarks,
  readStale,
} from '../../src/guards/http.ts';
import type { OpenResource } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

export interface RunningServer {
  readonly origin: string;
  close(): Promise<void>;
}

/** Does the effect that a request asks for. */
export type Perform = (effect: string) => Promise<void>;

export type StartServer = (marks: Marks, perform: Perform) => Promise<RunningServer>;

const EFFECT_HEADER = 'x-effect';

/** How a handler answers: by its promise, by a call later on, or by a stream that does the work. */
const STYLES = ['promise', 'callback', 'stream'] as const;
const HANGS_UP: readonly boolean[] = [true, false, false, false];
const TURNS = 10;

function effectOf(headers: Readonly<Record<string, unknown>>): string {
  return String(headers[EFFECT_HEADER]);
}

/** The effect is part of the response, like progress that a handler reports while it works. */
function working(perform: Perform, effect: string): Readable {
  async function* work() {
    yield 'begun\n';
    await perform(effect);
    yield 'done\n';
  }
  return Readable.from(work());
}

export const startExpress: StartServer = async (marks, perform) => {
  const app = express();
  app.use(expressFence({ marks }));
  app.post('/admit', (_request, response) => {
    response.status(204).end();
  });
  app.post('/promise', async (request, response) => {
    await perform(effectOf(request.headers));
    response.status(204).end();
  });
  app.post('/callback', (request, response) => {
    void perform(effectOf(request.headers)).then(() => response.end());
  });
  app.post('/stream', (request, response) => {
    pipeline(working(perform, effectOf(request.headers)), response, () => undefined);
  });
  return await listening(createServer(app));
};

export const startFencedRoutes: StartServer = async (marks, perform) => {
  const app = express();
  app.post('/admit', expressFence({ marks }), (_request, response) => {
    response.status(204).end();
  });
  const byPromise = fencedRoute<express.Request, express.Response>(
    async (request, response) => {
      await perform(effectOf(request.headers));
      response.status(204).end();
    },
    { marks },
  );
  app.post(['/promise', '/callback'], byPromise);
  app.post(
    '/stream',
    fencedRoute<express.Request, express.Response>(
      (request, response) => finishing(working(perform, effectOf(request.headers)), response),
      { marks },
    ),
  );
  // These errors come from responses without a reader.
  app.set('env', 'test');
  return await listening(createServer(app));
};

export const startFastify: StartServer = async (marks, perform) => {
  const app = fastify({ forceCloseConnections: true });
  app.addHook('onRoute', fastifyFence({ marks }));
  // At once and without a promise, as the simplest handlers do.
  app.post('/admit', (_request, reply) => {
    reply.code(204).send();
  });
  app.post('/promise', async (request) => {
    await perform(effectOf(request.headers));
    return 'done';
  });
  app.post('/callback', (request, reply) => {
    void perform(effectOf(request.headers)).then(() => reply.send('done'));
  });
  app.post('/stream', async (request, reply) =>
    reply.send(working(perform, effectOf(request.headers))),
  );
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { origin, close: () => app.close() };
};

export const startFetchHandler: StartServer = async (marks, perform) => {
  const options: HttpGuardOptions<Request> = { marks };
  const handler = fencedHandler(async (request) => {
    if (new URL(request.url).pathname !== '/admit') {
      await perform(request.headers.get(EFFECT_HEADER) ?? '');
    }
    return new Response(null, { status: 204 });
  }, options);
  return await listening(serverOf(handler));
};

/** The least that turns Node's requests into those of fetch. */
export function serverOf(handler: (request: Request) => Promise<Response>): Server {
  return createServer((incoming, outgoing) => {
    const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
    const request = new Request(`http://server${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: Object.fromEntries(headers),
    });
    handler(request).then(
      async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        outgoing.end(await response.text());
      },
      (error: unknown) => outgoing.writeHead(500).end(String(error)),
    );
  });
}

export async function listening(server: Server): Promise<RunningServer> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Lets everything in, like a server without a guard. */
const OPEN_MARKS: Marks = {
  enter: async () => ({ kind: 'entered', leave: async () => undefined }),
};

/** Checks and raises, but holds nothing while the handler works. */
function forgetfulMarks(marks: Marks): Marks {
  return {
    async enter(fenced) {
      const answer = await marks.enter(fenced);
      if (answer.kind === 'entered') await answer.leave();
      return answer;
    },
  };
}

/** A request under way, as the server and its client see it. */
interface Performance {
  readonly holder: Holder;
  readonly begun: PromiseWithResolvers<void>;
  readonly done: PromiseWithResolvers<void>;
}

interface Stage {
  readonly origins: Readonly<Record<Holder['mode'], string>>;
  readonly performing: Map<string, Performance>;
  readonly recorded: Map<string, number[]>;
}

class HttpResource implements Resource {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async admit({ fenced, mode }: Holder): Promise<boolean> {
    const { kind } = await admitAt(`${this.#stage.origins[mode]}/admit`, fenced);
    if (kind === 'busy') throw new Error(`${fenced.key}: a holder that has left is still inside`);
    return kind === 'current';
  }

  async write(holder: Holder): Promise<boolean> {
    const effect = `${holder.fenced.key}/${holder.index}`;
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.#stage.performing.set(effect, { holder, begun, done });
    const client = new AbortController();
    const address = `${this.#stage.origins[holder.mode]}/${holder.choose(STYLES)}`;
    const sent = fencedFetch(holder.fenced)(address, {
      method: 'POST',
      headers: { [EFFECT_HEADER]: effect },
      signal: client.signal,
    }).then(wasPerformed);
    if (!holder.choose(HANGS_UP)) return await sent;
    const refused = sent.then((performed) => !performed);
    if (await Promise.race([refused, begun.promise.then(() => false)])) return false;
    client.abort();
    await sent.catch(() => undefined);
    await done.promise;
    return true;
  }

  async effects(key: string): Promise<readonly number[]> {
    return this.#stage.recorded.get(key) ?? [];
  }

  async breathe(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
  }
}

/**
 * False if the guard refuses the fence as stale. Reads the response to its end, since the work may
 * go on until then.
 */
async function wasPerformed(response: Response): Promise<boolean> {
  const stale = await readStale(response);
  await response.text();
  if (stale === undefined && !response.ok) throw new Error(`answered ${response.status}`);
  return stale === undefined;
}

export async function openHttp(start: StartServer, marks: Marks): Promise<OpenResource> {
  const performing: Stage['performing'] = new Map();
  const recorded: Stage['recorded'] = new Map();
  const perform: Perform = async (effect) => {
    const performance = performing.get(effect);
    if (performance === undefined) throw new Error(`no request asked for ${effect}`);
    const { holder, begun, done } = performance;
    begun.resolve();
    await holder.pause();
    holder.sending();
    const { key, fence } = holder.fenced;
    recorded.set(key, [...(recorded.get(key) ?? []), fence]);
    done.resolve();
  };
  const guarded = await start(marks, perform);
  const unguarded = await start(OPEN_MARKS, perform);
  const checking = await start(forgetfulMarks(memoryMarks()), perform);
  const origins = {
    guarded: guarded.origin,
    unguarded: unguarded.origin,
    'read-first': checking.origin,
  };
  return {
    resource: () => new HttpResource({ origins, performing, recorded }),
    async close() {
      await Promise.all([guarded.close(), unguarded.close(), checking.close()]);
    },
  };
}
