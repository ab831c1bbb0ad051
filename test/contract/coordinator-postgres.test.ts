// The lease contract through coordinators on PostgreSQL, over REST, the stream and gRPC.

import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { postgresBackend } from './postgres-backend.ts';
import { registerLeasesThrough } from './register.ts';

const database = await postgresForTests();
const backend = postgresBackend(database.url);

registerLeasesThrough(backend, 'postgres');

after(async () => {
  await backend.end();
  await database.release();
});
