import { after } from 'node:test';
import { isExcluded } from '../services/excluded.ts';
import { postgresForTests } from '../services/postgres.ts';
import { postgresBackend } from './postgres-backend.ts';
import { registerAccessContract } from './register-access.ts';

if (isExcluded('postgres')) {
  registerAccessContract(postgresBackend(''), 'PostgreSQL was excluded by name');
} else {
  const database = await postgresForTests();
  const backend = postgresBackend(database.url);
  after(async () => {
    await backend.end();
    await database.release();
  });
  registerAccessContract(backend);
}
