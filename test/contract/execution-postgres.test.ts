import { after } from 'node:test';
import { isExcluded } from '../services/excluded.ts';
import { postgresForTests } from '../services/postgres.ts';
import { postgresBackend } from './postgres-backend.ts';
import { registerExecutionContract } from './register-executions.ts';

if (isExcluded('postgres')) {
  registerExecutionContract(postgresBackend(''), 'PostgreSQL was excluded by name');
} else {
  const database = await postgresForTests();
  const backend = postgresBackend(database.url);
  after(async () => {
    await backend.end();
    await database.release();
  });
  registerExecutionContract(backend);
}
