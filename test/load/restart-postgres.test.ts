// The store restarts under load. Executions continue by themselves, and no acknowledged write is
// lost.

import { after, test } from 'node:test';
import { startPostgres } from '../services/postgres.ts';
import { Fleet } from './fleet.ts';

const server = startPostgres();
after(async () => (await server).stop());

for (const mode of ['fast', 'immediate'] as const) {
  test(`P3: PostgreSQL restarts (${mode}) under load and no execution is stranded`, async (t) => {
    const postgres = await server;
    const place = { kind: 'postgres', url: postgres.url, schema: `restart_${mode}` } as const;
    const fleet = await Fleet.open(() => place, { ttlMs: 2_000 });
    try {
      await Promise.all(['a', 'b'].map((owner) => fleet.start(owner)));
      await fleet.submit(100);
      for (let round = 0; round < 3; round += 1) {
        await postgres.restart(mode);
        await fleet.submit(50);
      }
      const { executions, repeated } = await fleet.settle();
      t.diagnostic(`${executions} executions, ${repeated} effects repeated`);
    } finally {
      await fleet.close();
    }
  });
}
