import type { SessionId } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import { authorityMs, chainState, remainingMs, type SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { toChain } from './records.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';

const INSPECT = script(`
  ${CHAINS}
  local _, texts = chain_of(ARGV[1])
  return { peek(), texts }
`);

export async function inspectSession(
  database: Database,
  id: SessionId,
): Promise<SessionInspection | undefined> {
  const [now, texts] = await database.run<readonly [number, Buffer[]]>(INSPECT, [id]);
  return inspection(toChain(texts), now as Instant);
}

export function inspection(chain: SessionChain, now: Instant): SessionInspection | undefined {
  const session = chain.at(-1);
  if (session === undefined) return undefined;
  return {
    session,
    state: chainState(chain, now),
    authorityMs: Math.max(0, authorityMs(chain, now)),
    remainingMs: Math.max(0, remainingMs(chain, now)),
  };
}
