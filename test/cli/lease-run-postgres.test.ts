import { postgresForTests } from '../services/postgres.ts';
import { startProxy, through } from '../services/proxy.ts';
import { registerLeaseRun } from './lease-run.ts';

registerLeaseRun('postgres', async () => {
  const database = await postgresForTests();
  const proxy = await startProxy(Number(new URL(database.url).port));
  return {
    flags: ['--store', database.url],
    cuttable: { ...proxy, flags: ['--store', through(database.url, proxy)] },
    async end() {
      await proxy.close();
      await database.release();
    },
  };
});
