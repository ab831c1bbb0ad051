import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { registerRolloutRace } from './rollout-race.ts';

const database = postgresForTests();
after(async () => (await database).release());

registerRolloutRace('postgres', async () => ({
  ...{ kind: 'postgres', url: (await database).url, schema: 'raced_rollout' },
}));
