// The CPU time of a PostgreSQL server on this machine, from Linux's /proc.

import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';

const MS_PER_TICK = 10;

interface Used {
  readonly parent: number;
  readonly ticks: number;
  readonly ticksOfEnded: number;
}

/** Returns a function that reads the milliseconds of all its processes so far. */
export async function postgresCpu(url: string): Promise<() => number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = usedBy(Number(rows[0]?.pid))?.parent;
  await client.end();
  if (server === undefined) throw new Error('Not measured: PostgreSQL is not a process here.');
  return () => {
    const main = usedBy(server);
    const children = readdirSync('/proc').map((name) => usedBy(Number(name)));
    const ticks = children.reduce(
      (sum, each) => (each?.parent === server ? sum + each.ticks : sum),
      (main?.ticks ?? 0) + (main?.ticksOfEnded ?? 0),
    );
    return ticks * MS_PER_TICK;
  };
}

/** Undefined if there is no such process, or it has just ended. */
function usedBy(pid: number): Used | undefined {
  if (!Number.isInteger(pid)) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
    return {
      parent: Number(fields[1]),
      ticks: user + system,
      ticksOfEnded: endedUser + endedSystem,
    };
  } catch {
    return undefined;
  }
}
