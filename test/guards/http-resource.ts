// A resource behind an HTTP server: real servers on free ports, real requests. The handler pauses
// between the check and the effect, which is where a middleware that only checks would fail.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import fastify from 'fastify';
import {
  admitAt,
  expressFence,
  fastifyFence,
  fencedFetch,
  fencedHandler,
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
const TURNS = 10;

function effectOf(headers: Readonly<Record<string, unknown>>): string {
  return String(headers[EFFECT_HEADER]);
}

export const startExpress: StartServer = async (marks, perform) => {
  const app = express();
  const guard = expressFence({ marks });
  app.post('/admit', guard, (_request, response) => {
    response.status(204).end();
  });
  app.post('/effects', guard, async (request, response) => {
    await perform(effectOf(request.headers));
    response.status(204).end();
  });
  return await listening(createServer(app));
};

export const startFastify: StartServer = async (marks, perform) => {
  const app = fastify();
  app.addHook('onRoute', fastifyFence({ marks }));
  app.post('/admit', async (_request, reply) => reply.code(204).send());
  app.post('/effects', async (request) => {
    await perform(effectOf(request.headers));
    return 'done';
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { origin, close: () => app.close() };
};

export const startFetchHandler: StartServer = async (marks, perform) => {
  const options: HttpGuardOptions<Request> = { marks };
  const handler = fencedHandler(async (request) => {
    if (new URL(request.url).pathname === '/effects') {
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

/** Lets everything in: what a server without a guard does. */
const OPEN_MARKS: Marks = {
  enter: async () => ({ kind: 'entered', leave: async () => undefined }),
};

/** Checks and raises, but holds nothing while the handler is at work. */
function forgetfulMarks(marks: Marks): Marks {
  return {
    async enter(fenced) {
      const answer = await marks.enter(fenced);
      if (answer.kind === 'entered') await answer.leave();
      return answer;
    },
  };
}

class HttpResource implements Resource {
  readonly #origins: Readonly<Record<Holder['mode'], string>>;
  readonly #performing: Map<string, Holder>;
  readonly #recorded: Map<string, number[]>;

  constructor(
    origins: Readonly<Record<Holder['mode'], string>>,
    performing: Map<string, Holder>,
    recorded: Map<string, number[]>,
  ) {
    this.#origins = origins;
    this.#performing = performing;
    this.#recorded = recorded;
  }

  async admit({ fenced, mode }: Holder): Promise<boolean> {
    return (await admitAt(`${this.#origins[mode]}/admit`, fenced)).kind === 'current';
  }

  async write(holder: Holder): Promise<boolean> {
    const effect = `${holder.fenced.key}/${holder.index}`;
    this.#performing.set(effect, holder);
    const response = await fencedFetch(holder.fenced)(`${this.#origins[holder.mode]}/effects`, {
      method: 'POST',
      headers: { [EFFECT_HEADER]: effect },
    });
    const stale = await readStale(response);
    await response.body?.cancel();
    if (stale === undefined && !response.ok) throw new Error(`answered ${response.status}`);
    return stale === undefined;
  }

  async effects(key: string): Promise<readonly number[]> {
    return this.#recorded.get(key) ?? [];
  }

  async breathe(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
  }
}

export async function openHttp(start: StartServer, marks: Marks): Promise<OpenResource> {
  const performing = new Map<string, Holder>();
  const recorded = new Map<string, number[]>();
  const perform: Perform = async (effect) => {
    const holder = performing.get(effect);
    if (holder === undefined) throw new Error(`nobody asked for ${effect}`);
    await holder.pause();
    holder.sending();
    const { key, fence } = holder.fenced;
    recorded.set(key, [...(recorded.get(key) ?? []), fence]);
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
    resource: () => new HttpResource(origins, performing, recorded),
    async close() {
      await Promise.all([guarded.close(), unguarded.close(), checking.close()]);
    },
  };
}
