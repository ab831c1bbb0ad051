import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { postgresBackend } from './postgres-backend.ts';
import { registerExecutionContract } from './register.ts';

const database = await postgresForTests();
const backend = postgresBackend(database.url);

registerExecutionContract(backend, { store: 'postgres', others: 100 });

after(async () => {
  await backend.end();
  await database.release();
});
