// Options of the Redis store, and the client made from them.

import type { LeasePolicy } from '../../lease/policy.ts';
import { type Fault, InvalidInput, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { boundedText, integerOption, shown } from '../../support/options.ts';
import { jittered, systemRandom } from '../../support/random.ts';
import { systemTimers } from '../../support/timer.ts';
import { loadPackage } from '../load-package.ts';
import { toFault } from './database.ts';

interface ScriptOptions {
  readonly keys: string[];
  readonly arguments: (string | Buffer)[];
}

/** What the store needs of a client of the package `redis`: one client, a cluster or a sentinel. */
export interface RedisClient {
  eval(script: string, options: ScriptOptions): Promise<unknown>;
  evalSha(sha: string, options: ScriptOptions): Promise<unknown>;
  configGet(name: string): Promise<unknown>;
  withTypeMapping(mapping: object): unknown;
  duplicate(): unknown;
}

/** The connection that receives hints. */
export interface RedisListener {
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
  destroy(): unknown;
}

export interface RedisStoreOptions {
  /** `redis://`, `rediss://` with TLS, or `unix://` for a socket. This, or `client`. */
  readonly url?: string;
  /** A connected client of the package `redis`: `createClient`, `createCluster`, `createSentinel`. It stays yours. */
  readonly client?: RedisClient;
  /** Keys begin with `{namespace}:`, so that all of them are in one hash slot. Default: `holdfast`. */
  readonly namespace?: string;
  readonly policy?: Partial<LeasePolicy>;
  readonly connectTimeoutMs?: number;
  /** A connection on which nothing was heard for this long is given up; it is asked now and then. */
  readonly silenceMs?: number;
  /** `any` opens also a server without an append-only file, which forgets everything when it restarts. */
  readonly durability?: 'aof' | 'any';
  /** Lua that returns store time in whole milliseconds, for tests that move it. Leave it alone otherwise. */
  readonly nowLua?: string;
}

export const OPTION_NAMES: readonly (keyof RedisStoreOptions)[] = [
  'url',
  'client',
  'namespace',
  'policy',
  'connectTimeoutMs',
  'silenceMs',
  'durability',
  'nowLua',
];

export function prefixOf(options: RedisStoreOptions): string {
  const namespace = boundedText('namespace', options.namespace ?? 'holdfast', 128);
  if (/[{}]/.test(namespace)) {
    throw new InvalidInput(
      `namespace is put into braces by the store and may not have any; got ${shown(namespace)}.`,
    );
  }
  return `{${namespace}}`;
}

export function durabilityOf(options: RedisStoreOptions): 'aof' | 'any' {
  const durability = options.durability ?? 'aof';
  if (durability === 'aof' || durability === 'any') return durability;
  throw new InvalidInput(`durability must be "aof" or "any"; got ${shown(durability)}.`);
}

export interface Connected {
  readonly client: RedisClient;
  /** Returns the reason why there is no connection, or undefined if it is unknown. */
  whyOffline(): unknown;
  close(): Promise<void>;
}

export async function connect(options: RedisStoreOptions): Promise<Connected> {
  const { url, client } = options;
  if ((url === undefined) === (client === undefined)) {
    throw new InvalidInput('openRedisStore: give either url or client.');
  }
  // The caller closes its own client.
  if (client !== undefined) {
    return {
      client: checked(client),
      whyOffline: () => undefined,
      close: async () => undefined,
    };
  }
  return connectTo(boundedText('url', url, 4_096), options);
}

function checked(client: RedisClient): RedisClient {
  for (const method of ['eval', 'evalSha', 'configGet', 'withTypeMapping', 'duplicate'] as const) {
    if (typeof client?.[method] === 'function') continue;
    throw new InvalidInput(
      `openRedisStore: client has no method "${method}". It must be a connected client of the package "redis" (createClient, createCluster, createSentinel).`,
    );
  }
  return client;
}

async function connectTo(url: string, options: RedisStoreOptions): Promise<Connected> {
  if (!/^(rediss?|unix):\/\//.test(url)) {
    throw new InvalidInput(`url must be a redis://, rediss:// or unix:// URL; got ${shown(url)}.`);
  }
  const range = { min: 10, max: 600_000 };
  const connectTimeout = integerOption(
    'connectTimeoutMs',
    options.connectTimeoutMs ?? 5_000,
    range,
  );
  const silenceMs = integerOption('silenceMs', options.silenceMs ?? 15_000, range);
  const { createClient } = await loadPackage('Redis', 'redis', () => import('redis'));
  let isOpen = false;
  const client = createClient({
    url,
    name: 'holdfast',
    // A command that cannot be sent now must fail at once. Sending it later would make its outcome
    // unknown.
    disableOfflineQueue: true,
    pingInterval: Math.ceil(silenceMs / 3),
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout,
      socketTimeout: silenceMs,
      reconnectStrategy: (retries) => (isOpen ? pauseBefore(retries) : false),
    },
  });
  let offline: unknown;
  // The client rejects commands under way by itself. New ones fail with this error.
  client.on('error', (error) => {
    offline = error;
  });
  client.on('ready', () => {
    offline = undefined;
  });
  // The driver limits only the time to connect, and keeps waiting after a reply that is not
  // Redis's.
  const failed = Promise.withResolvers<never>();
  client.once('error', failed.reject);
  const cancel = systemTimers.after(connectTimeout, () =>
    failed.reject(new OutcomeUnknown(`no answer within ${connectTimeout} ms`)),
  );
  try {
    await Promise.race([client.connect(), failed.promise]);
  } catch (cause) {
    client.destroy();
    throw notConnected(toFault(cause), url);
  } finally {
    cancel();
    client.off('error', failed.reject);
  }
  isOpen = true;
  return {
    client: client as unknown as RedisClient,
    whyOffline: () => offline,
    close: async () => {
      // Waits for commands under way, but no longer than for a silent connection.
      const wait = new AbortController();
      const answered = client.isReady ? client.close().catch(() => undefined) : undefined;
      await Promise.race([answered, systemTimers.pause(silenceMs, wait.signal)]);
      wait.abort();
      client.destroy();
    },
  };
}

/** Without a connection, no command was sent. */
function notConnected(fault: Fault, url: string): Fault {
  const isTimeout = fault.message.includes('Connection timeout');
  if (!(fault instanceof OutcomeUnknown) && !isTimeout) return fault;
  const { cause = fault } = fault;
  const what = cause instanceof Error ? cause.message : String(cause);
  const hint = url.startsWith('rediss:')
    ? 'If the port does not speak TLS, use redis://.'
    : 'If the port speaks TLS, use rediss://.';
  if (what.startsWith('Unknown RESP type')) {
    return new StoreUnavailable(
      `The server did not answer as Redis does (${what}). Nothing was changed. Check the host and the port of the URL. ${hint}`,
      { cause },
    );
  }
  return new StoreUnavailable(
    `Redis accepted a connection and did not answer (${what}). Nothing was changed. Check the URL and the server. ${hint}`,
    { cause },
  );
}

/** Many clients lose a server at once. The jitter keeps them from reconnecting at once. */
function pauseBefore(retries: number): number {
  return jittered(systemRandom, Math.min(25 * 2 ** retries, 500), 0.25);
}
