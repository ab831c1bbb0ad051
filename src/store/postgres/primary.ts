// A URL may name several hosts, as libpq allows: `postgres://user@a:5432,b:5432/database`. After a
// failover another host is the primary. Each new connection looks for it.

import type { Client, ClientConfig } from 'pg';
import { StoreUnavailable } from '../../support/fault.ts';
import type { Driver } from './connect.ts';

/** One URL for each host of a URL. */
export function urlPerHost(url: string): readonly string[] {
  const [, user = '', hosts = '', rest = ''] =
    /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? [];
  return hosts.includes(',') ? hosts.split(',').map((host) => `${user}${host}${rest}`) : [url];
}

/** The class of connections for this URL. With several hosts, each connects to the primary. */
export function clientClass(pg: Driver, url: string): Driver['Client'] {
  const urls = urlPerHost(url);
  if (urls.length === 1) return pg.Client;
  let finding: Promise<Client> | undefined;
  return class extends pg.Client {
    readonly #config: ClientConfig;

    constructor(config: ClientConfig = {}) {
      const [first = url] = urls;
      super({ ...config, connectionString: first });
      this.#config = config;
    }

    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      const connected = this.#connect();
      if (callback === undefined) return connected;
      // The driver calls back with null, which its types leave out.
      connected.then(() => Reflect.apply(callback, undefined, [null]), callback);
      return undefined;
    }

    async #connect(): Promise<Client> {
      // Connections that open together share one search.
      finding ??= findPrimary(pg, urls, this.#config).finally(() => {
        finding = undefined;
      });
      const { host, port } = await finding;
      Object.assign(this, { host, port });
      await super.connect();
      return this;
    }
  };
}

/** Asks all hosts at once. The search takes at most half of the time to connect. */
async function findPrimary(
  pg: Driver,
  urls: readonly string[],
  config: ClientConfig,
): Promise<Client> {
  const halfMs = Math.ceil((config.connectionTimeoutMillis ?? 5_000) / 2);
  const limits = { connectionTimeoutMillis: halfMs, query_timeout: halfMs };
  const asked = urls.map(async (connectionString) => {
    const client = new pg.Client({ ...config, ...limits, connectionString });
    client.on('error', () => undefined);
    const where = `${client.host}:${client.port}`;
    try {
      await client.connect();
      const { rows } = await client.query('select pg_is_in_recovery() as is_standby');
      if (rows[0].is_standby === false) return client;
    } catch (cause) {
      throw new Error(`${where}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    } finally {
      client.end().catch(() => undefined);
    }
    throw new Error(`${where} is a standby`);
  });
  return Promise.any(asked).catch((cause: AggregateError) => {
    const reasons = cause.errors.map((each: Error) => each.message).join('; ');
    throw new StoreUnavailable(
      `No PostgreSQL host of the URL is a primary (${reasons}). Nothing was changed. Check the hosts, or promote a standby.`,
      { cause },
    );
  });
}
