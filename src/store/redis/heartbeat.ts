import { decideHeartbeat, lifeOf } from '../../lease/decide/session.ts';
import { clampTtl, type LeasePolicy } from '../../lease/policy.ts';
import type { Heartbeat, HeartbeatAnswer } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import type { Database } from './database.ts';
import { TELL } from './events.ts';
import { kindOf } from './load-view.ts';
import { toChain } from './records.ts';
import { script } from './script.ts';
import { CHAINS, WRITE_SESSION } from './sessions.ts';

// One record, whatever the number of leases (S-1).
const BEAT = script(`
  ${CHAINS}
  ${TELL}
  ${WRITE_SESSION}
  ${SAME_SERVER}
  local id, owner, asked, seen = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
  -- T-4: a server that was away gives notice first, and time to everybody (E-6).
  if not is_same_server(seen) then return { 'moved' } end
  local now = tick()
  local chain, texts = chain_of(id)
  local self = chain[#chain]
  local isAlive = self
    and self.owner == owner                                      -- guard: owner
    and not is_ended(chain)                                      -- guard: ended
    and (not asked or now + asked >= self.expiresAt)             -- guard: shorten
  if not isAlive then return { 'no', now, texts } end
  local isRejoin = self.expiresAt - self.graceMs <= now
  self.ttlMs = asked or self.ttlMs
  self.graceMs = math.min(self.graceMs, math.floor(self.ttlMs / 2))
  self.beatAt = now
  self.expiresAt = math.max(self.expiresAt, now + self.ttlMs)
  self.extended = nil
  texts[#texts] = keep_session(self)
  if isRejoin then tell_session('session-rejoined', self, now) end
  return { 'beat', now, texts, isRejoin and 1 or 0, redis.call('HGET', META, 'fence') }
`);

type BeatReply = readonly [
  kind: Buffer,
  now: number,
  chain: Buffer[],
  isRejoin: number,
  fence: Buffer,
];

export function heartbeat(
  database: Database,
  policy: LeasePolicy,
  request: Heartbeat,
): Promise<HeartbeatAnswer> {
  const ttlMs = request.ttlMs === undefined ? '' : clampTtl(policy, request.ttlMs);
  return onKnownServer(database, policy, async () => {
    const values = [request.id, request.owner, ttlMs, database.seen];
    const reply = await database.run<BeatReply>(BEAT, values);
    if (kindOf(reply) === 'moved') return undefined;
    const now = reply[1] as Instant;
    const chain = toChain(reply[2]);
    if (kindOf(reply) === 'beat') {
      // T-3: who lives remembers where fences are, also when it is granted nothing.
      database.noteFence(Number(reply[4]));
      return { kind: 'alive', rejoined: reply[3] === 1, ...lifeOf(chain, now) };
    }
    const decision = decideHeartbeat(chain, request, { policy, now });
    assert(decision.kind === 'refuse', 'R-1: a heartbeat that may extend was refused');
    return { kind: 'refused', ...decision.refusal };
  });
}
