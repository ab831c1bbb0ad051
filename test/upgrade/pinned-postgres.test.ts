import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { registerPinned } from './pinned.ts';

const database = postgresForTests();
after(async () => (await database).release());

registerPinned('postgres', async () => ({
  ...{ kind: 'postgres', url: (await database).url, schema: 'pinned' },
}));
