import { after, test } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { recoversInTime } from './recovery-in-time.ts';

const database = postgresForTests();

after(async () => (await database).release());

test('PostgreSQL: P4: when a coordinator and a worker are killed under load, all continues within ttl + 2 s', async (t) => {
  const { url } = await database;
  let tries = 0;
  const place = () => {
    tries += 1;
    return { kind: 'postgres', url, schema: `recovery_${tries}` } as const;
  };
  await recoversInTime(t, place, 3);
});
