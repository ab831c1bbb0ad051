import { decideEnd } from '../../lease/decide/session.ts';
import type { EndSession, SessionEnded } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { type Database, optional } from './database.ts';
import { HINTS, TELL } from './events.ts';
import { kindOf } from './load-view.ts';
import { MARK_ENDED } from './reclaim.ts';
import { toChain } from './records.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';

// L-4: from its expiry on an owner may not say how it ended; an operator may.
const END = script(`
  ${CHAINS}
  ${TELL}
  ${HINTS}
  ${MARK_ENDED}
  local id, owner, exit = ARGV[1], given(ARGV[2]), ARGV[3]
  local cause, actor = given(ARGV[4]), given(ARGV[5])
  local now = tick()
  local chain, texts = chain_of(id)
  local self = chain[#chain]
  local isAllowed = self
    and not self.ended                                                -- guard: ended
    and (not owner or self.owner == owner)                            -- guard: owner
    and (not owner or not is_ended(chain))                            -- guard: parent
    and (not owner or #overdue_in(chain, now) == 0)                   -- guard: expiry
  if not isAllowed then return { 'no', now, texts } end
  mark_ended(self, { at = now, exit = exit, cause = cause, actor = actor })
  return { 'ended' }
`);

type EndReply = readonly [kind: Buffer, now: number, chain: Buffer[]];

export async function endSession(database: Database, request: EndSession): Promise<SessionEnded> {
  const { id, by } = request;
  const values =
    by.kind === 'owner'
      ? [id, optional(by.owner), by.exit, '', '']
      : [id, '', 'revoked', optional(by.reason), optional(by.actor)];
  const reply = await database.run<EndReply>(END, values);
  if (kindOf(reply) === 'ended') return { kind: 'ended', replayed: false };
  const decision = decideEnd(toChain(reply[2]), request, reply[1] as Instant);
  assert(decision.kind !== 'end', 'H-1: a session that may end was not ended');
  return decision.kind === 'refuse'
    ? { kind: 'refused', ...decision.refusal }
    : { kind: 'ended', replayed: true };
}
