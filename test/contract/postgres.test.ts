import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { postgresBackend } from './postgres-backend.ts';
import { registerAccessContract, registerLeaseContract } from './register.ts';

const database = await postgresForTests();
const backend = postgresBackend(database.url);

registerLeaseContract(backend);
registerAccessContract(backend);

after(async () => {
  await backend.end();
  await database.release();
});
