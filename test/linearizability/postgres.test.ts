import { startPostgres } from '../services/postgres.ts';
import { startProxy, through } from '../services/proxy.ts';
import { loseReplies } from './lose-replies.ts';
import { registerRecorded } from './recorded.ts';

registerRecorded(
  'PostgreSQL',
  async () => {
    const postgres = await startPostgres();
    const proxy = await startProxy(Number(new URL(postgres.url).port));
    return {
      address: { kind: 'postgres', url: through(postgres.url, proxy), schema: 'recorded' },
      faults: [() => loseReplies([proxy]), () => postgres.restart('immediate')],
      async stop() {
        await proxy.close();
        await postgres.stop();
      },
    };
  },
  { lateMs: 100 },
);
