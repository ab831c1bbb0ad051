import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { registerClaimBehindSubmit } from './claim-behind-submit/cases.ts';

const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'behind');

registerClaimBehindSubmit(async (onBoundary) => {
  const store = await schemas.store({ onBoundary });
  return { store, clear: async () => undefined };
});

after(async () => {
  await schemas.end();
  await release();
});
