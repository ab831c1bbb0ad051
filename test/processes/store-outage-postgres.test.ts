import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PrivatePostgres, startPostgres } from '../services/postgres.ts';
import { until } from './stage/until.ts';
import { registerOutage } from './store-outage.ts';

let postgres: PrivatePostgres | undefined;

function running(): PrivatePostgres {
  if (postgres === undefined) throw new Error('start it first');
  return postgres;
}

registerOutage({
  name: 'PostgreSQL',
  async start() {
    postgres = await startPostgres();
  },
  address: (schema) => ({ kind: 'postgres', url: running().url, schema }),
  /** Returns when the server is gone; `restart` then only starts it. */
  async kill() {
    const file = join(running().dataDirectory, 'postmaster.pid');
    const pid = Number((await readFile(file, 'utf8')).split('\n')[0]);
    process.kill(pid, 'SIGQUIT');
    await until('the server is gone', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  },
  restart: () => running().restart('immediate'),
  end: async () => postgres?.stop(),
});
