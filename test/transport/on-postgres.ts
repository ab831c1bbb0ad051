// The same kinds of transports, with a coordinator on PostgreSQL.

import { Schemas } from '../services/postgres-schemas.ts';
import type { Kind } from './backend.ts';

export function onPostgres(url: string): { of(kind: Kind): Kind; end(): Promise<void> } {
  const schemas = new Schemas(url, 'carried');
  return {
    of: (kind) => ({
      ...kind,
      name: `${kind.name} on PostgreSQL`,
      store: () => schemas.store({ connectionsMax: 4 }),
    }),
    end: () => schemas.end(),
  };
}
