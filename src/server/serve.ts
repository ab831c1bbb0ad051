// A coordinator: the API of a store over HTTP, and what must be done for all (schedules, deadlines, awaits,
// bulk acts). Any number of them may share one store; none of them leads.

import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Holdfast } from '../engine/holdfast.ts';
import type { Coordinator, Route } from '../protocol/rest/route.ts';
import { ROUTES } from '../protocol/rest/routes.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { systemTimers } from '../support/timer.ts';
import { firstKey } from './first-key.ts';
import { type Gate, KeyGate, openGate } from './gate.ts';
import { openHttp } from './http.ts';
import { isLoopback } from './same-host.ts';
import { DEFAULT_HTTP_LIMITS, type ServerLog, type ServerOptions } from './server-options.ts';

export interface Server {
  /** Where the API is. */
  readonly url: string;
  /** Where projects and keys are managed, if that is somewhere else. */
  readonly adminUrl?: string;
  /** Shown once: the first start of a store without keys makes this one. */
  readonly firstKey?: string;
  /** Lets go of what is held open, and stops. The store stays open: whoever opened it closes it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const QUIET: ServerLog = { info: () => undefined, fault: () => undefined };

export async function openServer(options: ServerOptions): Promise<Server> {
  const { store, auth = 'keys', host = '127.0.0.1', log = QUIET } = options;
  if (auth === 'off' && !isLoopback(host)) {
    throw new InvalidInput(
      `Authentication is off, so the coordinator listens on loopback only; ${host} is not. Turn it on, or use 127.0.0.1.`,
    );
  }
  const clock = options.clock ?? systemClock;
  const timers = options.timers ?? systemTimers;
  const holdfast = new Holdfast({ store });
  const stopping = new AbortController();
  const coordinator: Coordinator = { holdfast, store, clock, timers };
  const gate: Gate = auth === 'off' ? openGate() : new KeyGate(store.access, clock);
  const made = auth === 'off' ? undefined : await firstKey(store.access);
  const open = (routes: readonly Route[]): Promise<FastifyInstance> =>
    openHttp({
      coordinator,
      gate,
      routes,
      limits: { ...DEFAULT_HTTP_LIMITS, ...options.limits },
      log,
      ownHostOnly: auth === 'off',
      trustProxy: options.trustProxy ?? false,
      ...(options.tls && { tls: options.tls }),
      stopping: stopping.signal,
    });
  const { admin = 'off' } = options;
  const isMain = (route: Route): boolean => admin === 'main' || route.listener !== 'admin';
  const apps = [
    await listen(await open(ROUTES.filter(isMain)), host, options.port ?? DEFAULT_PORT),
  ];
  if (typeof admin === 'object') {
    const routes = ROUTES.filter(
      ({ listener, allows }) => listener === 'admin' || allows === 'public',
    );
    apps.push(await listen(await open(routes), admin.host ?? '127.0.0.1', admin.port));
  }
  const duties = options.tends === false ? undefined : await holdfast.tend();
  const [url = '', adminUrl] = apps.map((app) => urlOf(app, options.tls !== undefined));
  const close = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(apps.map((app) => app.close()));
    await duties?.stop();
    await holdfast.close();
  };
  return {
    url,
    ...(adminUrl === undefined ? {} : { adminUrl }),
    ...(made === undefined ? {} : { firstKey: made }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export const DEFAULT_PORT = 7_433;

async function listen(app: FastifyInstance, host: string, port: number): Promise<FastifyInstance> {
  await app.listen({ host, port });
  return app;
}

function urlOf(app: FastifyInstance, isTls: boolean): string {
  const { address, port, family } = app.server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `${isTls ? 'https' : 'http'}://${host}:${port}`;
}
