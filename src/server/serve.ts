// A coordinator: the API of a store over HTTP, and the shared duties (schedules, deadlines, awaits,
// bulk jobs). Any number of coordinators may share one store; none of them leads.

import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Transport } from '../protocol/messages/envelope.ts';
import type { Route } from '../protocol/rest/route.ts';
import { ROUTES } from '../protocol/rest/routes.ts';
import { InvalidInput, StoreSealed } from '../support/fault.ts';
import { present } from '../support/options.ts';
import { entranceOf } from './admission.ts';
import { closeAll, OpenConnections } from './connections.ts';
import { readConsole } from './console-files.ts';
import { coordinatorOf, firstKey } from './coordinator-of.ts';
import { isLoopback } from './gate.ts';
import { openHttp } from './http.ts';
import {
  faultLogOf,
  readServerOptions,
  type ServerLog,
  type ServerOptions,
} from './server-options.ts';
import { openTransports, type TransportOptions, transportOf } from './transports.ts';

export type { PushEndpoint, PushOptions } from '../protocol/push/push-options.ts';
export type { SqsKey, SqsOptions } from '../protocol/sqs/sqs-options.ts';
export type { HttpLimits, ServerLog, ServerOptions } from './server-options.ts';
export type { TransportOptions } from './transports.ts';

/**
 * A running coordinator.
 *
 * @example
 * import { openSqliteStore } from 'holdfast/store/sqlite';
 *
 * const server = await openServer({ store: await openSqliteStore({ file: './holdfast.db' }) });
 * console.log(server.url, server.firstKey);
 * await server.close();
 */
export interface Server {
  /** The URL of the API. */
  readonly url: string;
  /** The URL of the admin routes, if they have a listener of their own. */
  readonly adminUrl?: string;
  /** Host and port of the gRPC listener, such as `127.0.0.1:7435`. */
  readonly grpcAddress?: string;
  /** The first access key of the store. Only the start that creates it returns it. */
  readonly firstKey?: string;
  /**
   * Makes a transport for a worker in this process: `openWorker({ transport: server.transport()
   * })`.
   */
  transport(options?: TransportOptions): Transport;
  /** Ends open requests and stops. The store stays open; close it where you opened it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const NO_LOG: ServerLog = { info: () => undefined, fault: () => undefined };

/**
 * Starts a coordinator: the HTTP API of a store, for clients and workers.
 *
 * Several coordinators may share a store. Throws `InvalidInput` for invalid options, such as `auth:
 * 'off'` on a host that is not loopback, and the system's error if a port is taken.
 *
 * @example
 * import { openSqliteStore } from 'holdfast/store/sqlite';
 *
 * await using server = await openServer({
 *   store: await openSqliteStore({ file: './holdfast.db' }),
 *   auth: 'off',
 * });
 * console.log(server.url);
 */
export async function openServer(given: ServerOptions): Promise<Server> {
  const options = readServerOptions(given);
  const { store, auth = 'keys', log = NO_LOG } = options;
  if (auth === 'off')
    requireLoopback(
      listenersOf(options).map(({ host }) => host),
      options.grpc?.host,
    );
  const { coordinator, metrics } = await coordinatorOf(options);
  const { holdfast, hints, leaseHints, wakeups, readiness, heartbeats, timers } = coordinator;
  const stopping = new AbortController();
  const entrance = await entranceOf(options, coordinator, metrics);
  const files = options.console === false ? 'none' : await readConsole();
  const open = ({ routes, isMain }: Listening): Promise<FastifyInstance> =>
    openHttp({
      ...entrance,
      coordinator,
      routes,
      admin: options.admin ?? 'off',
      log,
      logRequests: options.logRequests === true,
      logIdle: options.logIdle === true,
      metrics,
      console: isMain ? files : 'none',
      docs: isMain && options.docs === true,
      ownHostOnly: auth === 'off',
      trustProxy: options.trustProxy ?? false,
      ...(options.tls && { tls: options.tls }),
      stopping: stopping.signal,
    });
  const apps: FastifyInstance[] = [];
  const connections = new OpenConnections();
  const reached = { ...entrance, coordinator, log, stopping: stopping.signal };
  const beside: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    stopping.abort();
    heartbeats.close();
    await Promise.all([
      closeAll({ apps, connections }, timers),
      coordinator.channels?.deliveries.stop(),
      coordinator.channels?.alerts.stop(),
      ...beside.map((each) => each.close()),
    ]);
    hints.close();
    leaseHints.close();
    wakeups.close();
    readiness.close();
    await holdfast.close();
  };
  try {
    // Before it listens, so that no acquire and no claim comes first (E-10).
    await store.sessions
      .recover({ cause: 'a coordinator started', remote: true })
      .catch((fault: unknown) => {
        // The sessions of a sealed store have ended (EX-1).
        if (!(fault instanceof StoreSealed)) faultLogOf(log)('sessions-not-extended', fault);
      });
    for (const listening of listenersOf(options)) {
      const app = await open(listening);
      apps.push(app);
      connections.watch(app.server);
      await app.listen({ host: listening.host, port: listening.port });
    }
    const transports = await openTransports(reached, options);
    metrics?.circuitsFrom(transports.circuits);
    beside.push(transports);
    const { grpc } = transports;
    heartbeats.start(timers);
    if (options.maintenance !== false) {
      await holdfast.maintain();
      coordinator.channels?.deliveries.start();
      coordinator.channels?.alerts.start();
    }
    // Last, because a failed start would create a key that is never shown.
    const made = auth === 'off' ? undefined : await firstKey(store.access);
    const [url = '', adminUrl] = apps.map((app) => urlOf(app, options.tls !== undefined));
    return {
      url,
      ...present({ adminUrl, firstKey: made }),
      ...(grpc === undefined ? {} : { grpcAddress: grpc.address }),
      transport: (given) => transportOf(reached, given),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (fault) {
    await close();
    throw fault;
  }
}

function requireLoopback(http: readonly string[], grpc = LOOPBACK): void {
  const open = [...http, grpc].find((host) => !isLoopback(host));
  if (open === undefined) return;
  throw new InvalidInput(
    `Authentication is off, so the coordinator listens only on loopback, and ${open} is not loopback. It did not start. Set auth to "keys", or use 127.0.0.1.`,
  );
}

interface Listening {
  readonly isMain: boolean;
  readonly routes: readonly Route[];
  readonly host: string;
  readonly port: number;
}

function listenersOf(options: ServerOptions): readonly Listening[] {
  const { admin = 'off', host, port, publicMetrics = false } = options;
  const every = ROUTES.map((route) =>
    publicMetrics && route.name === 'readMetrics' ? { ...route, allows: 'public' as const } : route,
  );
  const isMain = (route: Route): boolean => admin === 'main' || route.listener !== 'admin';
  const isAdmin = ({ listener, allows }: Route): boolean =>
    listener === 'admin' || allows === 'public';
  const main = { isMain: true, host: host ?? LOOPBACK, port: port ?? DEFAULT_PORT };
  const all = [{ ...main, routes: every.filter(isMain) }];
  if (typeof admin !== 'object') return all;
  const other = { isMain: false, host: admin.host ?? LOOPBACK, port: admin.port };
  return [...all, { ...other, routes: every.filter(isAdmin) }];
}

const LOOPBACK = '127.0.0.1';
/** The port of a coordinator that is opened without one. */
export const DEFAULT_PORT = 7_433;

function urlOf(app: FastifyInstance, isTls: boolean): string {
  const { address, port, family } = app.server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `${isTls ? 'https' : 'http'}://${host}:${port}`;
}
