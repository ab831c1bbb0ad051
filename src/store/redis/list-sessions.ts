import type { ListSessions, SessionInspection } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { inspection } from './inspect-session.ts';
import { toChain } from './records.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';

const LIST = script(`
  ${CHAINS}
  local place, first = ARGV[1] == '1' and KNOWN or OPEN, ARGV[2]
  local chains = {}
  for _, id in ipairs(redis.call('ZRANGEBYLEX', place, first, '+', 'LIMIT', 0, ARGV[3])) do
    local _, texts = chain_of(id)
    chains[#chains + 1] = texts
  end
  return { peek(), chains }
`);

export async function listSessions(
  database: Database,
  query: ListSessions,
): Promise<readonly SessionInspection[]> {
  const { after, limit, all = false } = query;
  const values = [all ? 1 : 0, after === undefined ? '-' : `(${after}`, limit];
  const [now, chains] = await database.run<readonly [number, Buffer[][]]>(LIST, values);
  return chains
    .map((texts) => inspection(toChain(texts), now as Instant))
    .filter((each) => each !== undefined);
}
