// Options of the Redis store, and the client made from them.

import type { LeasePolicy } from '../../lease/policy.ts';
import { type Fault, InvalidInput, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { loadPackage } from '../../support/load-package.ts';
import { boundedText, integerOption, shown, wordsIn } from '../../support/options.ts';
import { jittered, systemRandom } from '../../support/random.ts';
import { systemTimers } from '../../support/timer.ts';
import { toFault } from './database.ts';

interface ScriptOptions {
  readonly keys: string[];
  readonly arguments: (string | Buffer)[];
}

/**
 * A connected client of the package `redis`: `createClient`, `createCluster` or `createSentinel`.
 *
 * @example
 * import { createClient } from 'redis';
 *
 * const client: RedisClient = await createClient().connect();
 * const store = await openRedisStore({ client });
 */
export interface RedisClient {
  /** Runs a Lua script. */
  eval(script: string, options: ScriptOptions): Promise<unknown>;
  /** Runs a Lua script by its digest. */
  evalSha(sha: string, options: ScriptOptions): Promise<unknown>;
  /** Reads a setting of the server. */
  configGet(name: string): Promise<unknown>;
  /** Returns a client that maps replies to other types. */
  withTypeMapping(mapping: object): unknown;
  /** Returns a new client with the same settings. */
  duplicate(): unknown;
}

/** The connection that receives hints. */
export interface RedisListener {
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
  destroy(): unknown;
}

/** Options of `openRedisStore`. */
export interface RedisStoreOptions {
  /** `redis://…`, `rediss://…` with TLS, or `unix://…` for a socket. Give this or `client`. */
  readonly url?: string;
  /** A connected client of the package `redis`. You close it. */
  readonly client?: RedisClient;
  /** Keys start with `{namespace}:`, so that all are in one hash slot. Default `holdfast`. */
  readonly namespace?: string;
  /** Limits that differ from `DEFAULT_POLICY`. */
  readonly policy?: Partial<LeasePolicy>;
  /** Milliseconds to wait for a connection. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds without any reply after which a connection is given up. Default 15,000. */
  readonly silenceMs?: number;
  /**
   * `aof` (default): the server must have an append-only file. `any`: also open a server that
   * forgets everything when it restarts.
   */
  readonly durability?: 'aof' | 'any';
  /** For tests: Lua that returns the store's time in whole milliseconds. */
  readonly nowLua?: string;
}

export const OPTION_NAMES: readonly (keyof RedisStoreOptions)[] = wordsIn(
  'url client namespace policy connectTimeoutMs silenceMs durability nowLua',
);

export function prefixOf(options: RedisStoreOptions): string {
  const namespace = boundedText('namespace', options.namespace ?? 'holdfast', 128);
  if (/[{}]/.test(namespace)) {
    throw new InvalidInput(
      `namespace must not have braces, since the store adds them; got ${shown(namespace)}.`,
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
    throw new InvalidInput('openRedisStore: pass either url or client.');
  }
  // The caller closes its own client.
  if (client !== undefined) {
    return { client: checked(client), whyOffline: () => undefined, close: async () => undefined };
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
  const { createClient } = await loadPackage('The Redis store', 'redis', () => import('redis'));
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
    failed.reject(new OutcomeUnknown(`no response within ${connectTimeout} ms`)),
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
    client: client as RedisClient,
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
      `The server did not respond like Redis (${what}). Nothing was changed. Check the host and the port of the URL. ${hint}`,
      { cause },
    );
  }
  return new StoreUnavailable(
    `Redis accepted a connection and did not respond (${what}). Nothing was changed. Check the URL and the server. ${hint}`,
    { cause },
  );
}

/** Many clients lose a server at once. The jitter keeps them from reconnecting at once. */
function pauseBefore(retries: number): number {
  return jittered(systemRandom, Math.min(25 * 2 ** retries, 500), 0.25);
}
