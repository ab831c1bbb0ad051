// The promises to pipelines hold over HTTP on PostgreSQL, and behind an undeclared pooler in
// transaction mode; one run shows both. Other tests cover each alone: over HTTP on SQLite, embedded
// on PostgreSQL.

import { after } from 'node:test';
import { registerBehaviours } from '../engine/register.ts';
import { startPgbouncer } from '../services/pgbouncer.ts';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { isExcluded } from '../services/tier.ts';
import { overRest } from './over-rest.ts';

const database = await postgresForTests();
const pooler = isExcluded('pgbouncer') ? undefined : await startPgbouncer(database.url);
const { url } = pooler ?? database;
const schemas = new Schemas(database.url, 'rest');

registerBehaviours({
  kind: 'postgres over REST',
  count: 10,
  async open() {
    return overRest(await schemas.store({ url, connectionsMax: 4 }));
  },
});

after(async () => {
  await schemas.end();
  await pooler?.stop();
  await database.release();
});
