// The same kinds of carriers, with a coordinator on PostgreSQL.

import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import type { Kind } from './backend.ts';

export function onPostgres(url: string): { of(kind: Kind): Kind; end(): Promise<void> } {
  const schemas = new Schemas(url, 'carried');
  return {
    of: (kind) => ({
      ...kind,
      name: `${kind.name} on PostgreSQL`,
      async store() {
        const schema = await schemas.take();
        const store = await openPostgresStore({ url, schema, connectionsMax: 4 });
        return {
          ...store,
          async close() {
            await store.close();
            await schemas.giveBack(schema);
          },
        };
      },
    }),
    end: () => schemas.end(),
  };
}
