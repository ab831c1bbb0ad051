import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { registerLineRace } from './line-race.ts';

const database = postgresForTests();
after(async () => (await database).release());

registerLineRace('postgres', async () => ({
  ...{ kind: 'postgres', url: (await database).url, schema: 'raced_line' },
}));
