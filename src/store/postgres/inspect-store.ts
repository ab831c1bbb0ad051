// Inspects a server without opening a store on it. It only reads.

import type { ClientBase } from 'pg';
import { systemClock } from '../../support/clock.ts';
import type { StoreFact, StoreReport } from '../contract/store-report.ts';
import { epochFact, sealFacts } from '../inspect-facts.ts';
import { loadDriver } from './connect.ts';
import { quoteIdentifier, toFault } from './database.ts';
import { knownMigrations } from './migrate.ts';
import { OLDEST_SNAPSHOT, type SnapshotRow, snapshotProblem } from './oldest-snapshot.ts';
import { type Way, wayOf } from './pooler.ts';
import { clientClass } from './primary.ts';
import { type PostgresStoreOptions, schemaOf } from './store-options.ts';

const CONNECT_MS = 5_000;

interface Settings {
  readonly now: string;
  readonly version: number;
  readonly fsync: string;
  readonly commit: string;
  readonly pages: string;
  readonly recovering: boolean;
  readonly connections: number;
  readonly there: boolean;
  readonly user: string;
  readonly database: string;
  readonly may_create: boolean;
}

interface Applied {
  readonly name: string;
  readonly may_run: boolean;
}

const READ = `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now,
         current_setting('server_version_num')::integer as version,
         current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as commit,
         current_setting('full_page_writes') as pages,
         pg_is_in_recovery() as recovering,
         current_setting('max_connections')::integer as connections,
         to_regclass($1) is not null as there,
         quote_ident(current_user) as user,
         quote_ident(current_database()) as database,
         coalesce(
           has_schema_privilege(to_regnamespace($2)::oid, 'create'),
           has_database_privilege(current_database(), 'create')
         ) as may_create`;

export async function inspectPostgresStore(options: PostgresStoreOptions): Promise<StoreReport> {
  const schema = schemaOf(options);
  const table = `${quoteIdentifier(schema)}.migration`;
  const pg = await loadDriver();
  const client = new (clientClass(pg, options.url))({
    connectionString: options.url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  });
  // The query under way reports a broken connection, so ignore the event.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const before = systemClock.wallMs();
    const [settings] = (await client.query<Settings>(READ, [table, quoteIdentifier(schema)])).rows;
    const middle = (before + systemClock.wallMs()) / 2;
    if (settings === undefined) throw new Error('PostgreSQL did not return its settings.');
    const known = knownMigrations().map(({ name }) => name);
    const way = await wayOf(client);
    const applied = settings.there
      ? (
          await client.query<Applied>(
            `select m.name, m.older_builds_may_run as may_run from ${table} m order by 1`,
          )
        ).rows
      : [];
    const seal = settings.there ? await readSeal(client, schema) : null;
    return {
      kind: 'postgres',
      exists: settings.there,
      applied: applied.map(({ name }) => name),
      known,
      forbidding: applied.flatMap(({ name, may_run }) =>
        may_run || known.includes(name) ? [] : [name],
      ),
      clockAheadMs: Math.round(Number(settings.now) - middle),
      facts: [
        poolerFact(way, options),
        ...factsOf(settings, { ...options, pooler: isPooled(way, options) }),
        ...(settings.there ? [] : [rightsFact(settings)]),
        snapshotFact((await client.query<SnapshotRow>(OLDEST_SNAPSHOT.text)).rows[0]),
        ...(settings.there ? [await readEpoch(client, schema)] : []),
        ...sealFacts(seal),
      ],
    };
  } catch (cause) {
    throw toFault(cause);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function readEpoch(client: ClientBase, schema: string): Promise<StoreFact> {
  const own = quoteIdentifier(schema);
  const { rows: fences } = await client.query<{ fence: string }>(
    `select last_value as fence from ${own}.fence`,
  );
  const { rows } = await client.query<{ at: string; detail: string }>(
    `select at, detail::text from ${own}.event where kind = 'epoch-raised' order by seq desc limit 1`,
  );
  const [rise] = rows.map(({ at, detail }) => ({ at: Number(at), detail }));
  return epochFact(Number(fences[0]?.fence), rise);
}

/** Reads the row as JSON, because a schema that is not migrated yet lacks the column. */
async function readSeal(client: ClientBase, schema: string): Promise<string | null> {
  const { rows } = await client.query<{ sealed: string | null }>(
    `select to_jsonb(m) ->> 'sealed' as sealed from ${quoteIdentifier(schema)}.meta m`,
  );
  return rows[0]?.sealed ?? null;
}

const VERSION_MIN = 140_000;
const CONNECTIONS_DEFAULT = 10;

function factsOf(settings: Settings, options: PostgresStoreOptions): readonly StoreFact[] {
  const { version, fsync, commit, pages, recovering, connections } = settings;
  const wanted = (options.connectionsMax ?? CONNECTIONS_DEFAULT) + 2;
  return [
    fact('server', `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}`, {
      isWrong: version < VERSION_MIN,
      change: 'Holdfast needs PostgreSQL 14 or newer.',
    }),
    fact('fsync', fsync, {
      isWrong: fsync !== 'on',
      change: 'Set fsync = on. Without it, a machine crash can lose acknowledged writes.',
    }),
    fact('full_page_writes', pages, {
      isWrong: pages !== 'on',
      change: 'Set full_page_writes = on. Without it, a crash can leave torn pages.',
    }),
    { name: 'synchronous_commit', found: `${commit} (set to on here)` },
    fact('role of the server', recovering ? 'standby' : 'primary', {
      isWrong: recovering,
      change:
        'This server is read-only. Use the URL of the primary, or add target_session_attrs=read-write.',
    }),
    fact('max_connections', String(connections), {
      isWrong: connections < wanted,
      change: `A coordinator uses up to ${wanted}. Raise max_connections, or lower postgres.connectionsMax.`,
    }),
  ];
}

/** Only the first start needs this right: it creates the schema and its tables. */
function rightsFact({ user, database, may_create }: Settings): StoreFact {
  return fact(
    'rights',
    may_create ? `${user} may create the schema` : `${user} may create nothing`,
    {
      isWrong: !may_create,
      change: `The first start creates the schema. Allow it, as the owner of the database: grant create on database ${database} to ${user};`,
    },
  );
}

function snapshotFact(oldest: SnapshotRow | undefined): StoreFact {
  const name = 'oldest snapshot';
  if (oldest === undefined) return { name, found: 'none' };
  const { holder, seconds, transactions } = oldest;
  const age = seconds === null ? `${transactions} transactions` : `${Math.round(seconds)} s`;
  const old = snapshotProblem(oldest);
  const found = `${age} (${holder})`;
  return old === undefined
    ? { name, found }
    : { name, found, change: `${old.sentence} ${old.advice}` };
}

/** An explicit option wins over the detected pooler. */
function isPooled(way: Way, options: PostgresStoreOptions): boolean {
  return options.pooler ?? way.isPooled;
}

function poolerFact(way: Way, options: PostgresStoreOptions): StoreFact {
  const name = 'pooler';
  if (!way.isPooled) {
    const found = 'none: connections go to the server directly';
    const change =
      'There is no pooler. Remove postgres.pooler, and workers get notifications at once.';
    return fact(name, found, { isWrong: options.pooler === true && !options.directUrl, change });
  }
  if (options.pooler === false) {
    const found = 'there is one, and postgres.pooler is false: this works only in session mode';
    return { name, found };
  }
  const prepared = way.keepsPrepared ? 'tracked' : 'not tracked, so not used';
  const learned = options.directUrl === undefined ? 'by polling only' : 'by postgres.directUrl';
  return {
    name,
    found: `there is one; prepared statements: ${prepared}; notifications arrive ${learned}`,
  };
}

function fact(
  name: string,
  found: string,
  { isWrong, change }: { readonly isWrong: boolean; readonly change: string },
): StoreFact {
  return isWrong ? { name, found, change } : { name, found };
}
