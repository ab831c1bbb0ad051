// What holds for pipelines must hold over HTTP on PostgreSQL, and when that is reached through a pooler in
// transaction mode, of which nothing was said: one run shows both. Each is tried in full by itself: over HTTP on
// SQLite, embedded on PostgreSQL.

import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { registerBehaviours } from '../engine/register.ts';
import { isExcluded } from '../services/excluded.ts';
import { startPgbouncer } from '../services/pgbouncer.ts';
import { postgresForTests } from '../services/postgres.ts';
import { overRest } from './over-rest.ts';

const database = await postgresForTests();
const pooler = isExcluded('pgbouncer') ? undefined : await startPgbouncer(database.url);
const { url } = pooler ?? database;
let schemas = 0;

registerBehaviours({
  kind: 'postgres over REST',
  oneOf: 8,
  async open() {
    schemas += 1;
    return overRest(await openPostgresStore({ url, schema: `rest_${schemas}`, connectionsMax: 4 }));
  },
});

after(async () => {
  await pooler?.stop();
  await database.release();
});
