import type { Withdraw, Withdrawn } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { HINTS } from './events.ts';
import { WAITING } from './line.ts';
import { script } from './script.ts';
import { RECORDS } from './sessions.ts';

const WITHDRAW = script(`
  ${RECORDS}
  ${HINTS}
  ${WAITING}
  local wasQueued = leave_line(ARGV[1], ARGV[2])
  if wasQueued then hint(ARGV[1]) end
  return wasQueued and 1 or 0
`);

export async function withdraw(database: Database, request: Withdraw): Promise<Withdrawn> {
  const left = await database.run<number>(WITHDRAW, [request.key, request.attempt]);
  return { kind: 'withdrawn', wasQueued: left === 1 };
}
