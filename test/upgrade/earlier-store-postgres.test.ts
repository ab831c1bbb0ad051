import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { registerEarlierStore } from './earlier-store.ts';

const database = postgresForTests();
after(async () => (await database).release());

registerEarlierStore('postgres', async () => ({
  ...{ kind: 'postgres', url: (await database).url, schema: 'earlier' },
}));
