import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { registerRoutes } from './routes/all.ts';

const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'routes');

registerRoutes('postgres', () => schemas.store());

after(async () => {
  await schemas.end();
  await release();
});
