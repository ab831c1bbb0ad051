// Opens a store by its path or URL. Loads only the driver that it needs.

import type { KernelStore } from '../lease/port.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import type { StoreReport } from '../store/contract/store-report.ts';
import type { PostgresStoreOptions } from '../store/postgres/open.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { placeWithoutSecrets } from '../support/hidden-options.ts';
import { shown } from '../support/options.ts';

export type PostgresSettings = Omit<PostgresStoreOptions, 'url'>;

export type StorePlace =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly file: string };

export function storePlace(place: string): StorePlace {
  if (/^postgres(ql)?:\/\//.test(place)) return { kind: 'postgres', url: place };
  const isPath = place !== '' && !place.includes('\0') && place.isWellFormed();
  // A URL that lost its slashes must not become a path: it contains a password.
  if (!isPath || /^[a-z][a-z0-9+.-]+:\/\/|^postgres(ql)?:/i.test(place)) {
    throw new InvalidInput(
      `The store must be a URL that starts with postgres://, or the path of a SQLite file; got ${shown(placeWithoutSecrets(place))}. Nothing was opened.`,
    );
  }
  return { kind: 'sqlite', file: place };
}

export async function openStore(
  text: string,
  postgres: PostgresSettings = {},
): Promise<CoordinatorStore> {
  const place = storePlace(text);
  if (place.kind === 'postgres') {
    const { openPostgresStore } = await import('../store/postgres/open.ts');
    return openPostgresStore({ ...postgres, url: place.url });
  }
  const { openSqliteStore } = await import('../store/sqlite/open.ts').catch(withoutSqlite);
  return openSqliteStore({ file: place.file });
}

/** Also opens the stores that keep leases only. */
export async function openLeaseStore(text: string): Promise<KernelStore> {
  if (/^rediss?:\/\//.test(text)) {
    const { openRedisStore } = await import('../store/redis/open.ts');
    return openRedisStore({ url: text });
  }
  const [, secure, members, prefix] = /^etcd(s?):\/\/([^/]+)(?:\/(.+))?$/.exec(text) ?? [];
  if (members === undefined) return openStore(text);
  const { openEtcdStore } = await import('../store/etcd/open.ts');
  const endpoints = members.split(',').map((member) => `http${secure}://${member}`);
  return openEtcdStore({ endpoints, ...(prefix && { prefix }) });
}

/** For imports of the SQLite store, because older versions of Node have no SQLite. */
export function withoutSqlite(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ERR_UNKNOWN_BUILTIN_MODULE') throw cause;
  throw new Fault(
    'driver-missing',
    `A SQLite store needs Node 22.18 or newer; this is ${process.versions.node}. Nothing was opened. Install a newer Node (npm install node@24), or use a store at postgres://….`,
    { cause },
  );
}

// Inspects a store without opening it.

export async function inspectStore(
  text: string,
  postgres: PostgresSettings = {},
): Promise<StoreReport> {
  const place = storePlace(text);
  if (place.kind === 'postgres') {
    const { inspectPostgresStore } = await import('../store/postgres/inspect-store.ts');
    return inspectPostgresStore({ ...postgres, url: place.url });
  }
  const { inspectSqliteStore } = await import('../store/sqlite/inspect-store.ts').catch(
    withoutSqlite,
  );
  return inspectSqliteStore(place.file);
}

/** Returns the milliseconds that the clock was ahead (C-8). */
export async function setClockBack(text: string): Promise<number> {
  const place = storePlace(text);
  if (place.kind === 'postgres') {
    throw new InvalidInput(
      'Only a SQLite store keeps a clock of its own. Nothing was changed. Correct the clock of the PostgreSQL server instead (NTP).',
    );
  }
  const report = await inspectStore(text);
  if (!report.exists)
    throw new InvalidInput(`"${place.file}" does not exist. Nothing was changed. Check --store.`);
  const { setSqliteClockBack } = await import('../store/sqlite/clock-problem.ts').catch(
    withoutSqlite,
  );
  return setSqliteClockBack(place.file);
}
