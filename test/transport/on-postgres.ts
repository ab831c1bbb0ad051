// The same kinds of carriers, with a coordinator on PostgreSQL: a schema for each case.

import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import type { Kind } from './backend.ts';

export function onPostgres(url: string): { of(kind: Kind): Kind; end(): Promise<void> } {
  const admin = new pg.Pool({ connectionString: url, max: 1 });
  // The database may go before the last connection to it has closed.
  admin.on('error', () => undefined);
  let made = 0;
  return {
    of(kind) {
      return {
        ...kind,
        name: `${kind.name} on PostgreSQL`,
        async store() {
          made += 1;
          const schema = `carried_${made}`;
          const store = await openPostgresStore({ url, schema, connectionsMax: 4 });
          return {
            ...store,
            async close() {
              await store.close();
              await admin.query(`drop schema if exists ${schema} cascade`);
            },
          };
        },
      };
    },
    end: () => admin.end(),
  };
}
