// A process that submits in its own transaction and kills itself before or after the commit.

import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';
import { openHoldfast, type SubmitOptions } from '../../../src/index.ts';

export interface JoiningVictim {
  /** The file or the URL of the store. */
  readonly place: string;
  readonly dieAt: 'before' | 'after';
  readonly n: number;
}

const { place, dieAt, n } = JSON.parse(process.argv[2] ?? '{}') as JoiningVictim;
const holdfast = await openHoldfast({ store: place });

async function connect(): Promise<{
  readonly client: NonNullable<SubmitOptions['client']>;
  run(sql: string): unknown;
}> {
  if (place.startsWith('postgres:')) {
    const client = await new Pool({ connectionString: place }).connect();
    return { client, run: (sql) => client.query(sql) };
  }
  const client = new DatabaseSync(place, { timeout: 5_000 });
  return { client, run: (sql) => client.exec(sql === 'begin' ? 'begin immediate' : sql) };
}

const { client, run } = await connect();
await run('begin');
await run(`insert into bought values (${n})`);
const key = `killed ${dieAt}`;
await holdfast.submitOrSignal('waiting', undefined, { key, client, signal: { name: 'go' } });
if (dieAt === 'after') await run('commit');
process.kill(process.pid, 'SIGKILL');
// The signal is on its way. Nothing may happen before it arrives.
for (;;);
