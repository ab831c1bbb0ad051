import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { registerRollingDeploy } from './rolling-deploy.ts';

const database = postgresForTests();

registerRollingDeploy('postgres', async () => {
  return { kind: 'postgres', url: (await database).url, schema: 'rolling_deploy' };
});

after(async () => (await database).release());
