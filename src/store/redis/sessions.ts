import {
  decideEnd,
  decideHeartbeat,
  decideOpen,
  graceWithin,
  lifeOf,
} from '../../lease/decide/session.ts';
import { clampTtl, type LeasePolicy } from '../../lease/policy.ts';
import type {
  EndSession,
  Heartbeat,
  HeartbeatResult,
  OpenSession,
  SessionEnded,
  SessionOpened,
} from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { type Database, kindOf, optionalArgument } from './database.ts';
import { APPEND_EVENTS, CHAINS, HINTS, script, WRITE_SESSION } from './lua.ts';
import { toChain } from './records.ts';
import { onKnownServer, SAME_SERVER } from './recover.ts';
import { MARK_ENDED } from './sweep.ts';

const OPEN_SESSION = script(`
  ${CHAINS}
  ${APPEND_EVENTS}
  ${WRITE_SESSION}
  local id, owner, parent = ARGV[1], ARGV[2], given(ARGV[3])
  local ttlMs, graceMs, depthMax = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
  local now = tick()
  local existing, existing_texts = chain_of(id)
  local above, above_texts = {}, {}
  if parent then above, above_texts = chain_of(parent) end
  local isAllowed = #existing == 0
    and (not parent or has_authority(above, now))     -- guard: parent
    and #above < depthMax                             -- guard: depth
  if not isAllowed then return { 'no', now, existing_texts, above_texts } end
  local session = {
    id = id, owner = owner, path = {}, ttlMs = ttlMs, graceMs = graceMs, metadata = ARGV[6],
    openedAt = now, beatAt = now, expiresAt = now + ttlMs, notices = 0,
  }
  for _, ancestor in ipairs(above) do
    session.path[#session.path + 1] = ancestor.id
    redis.call('ZADD', FAMILIES, 0, ancestor.id .. ':' .. id)
  end
  session.path[#session.path + 1] = id
  redis.call('ZADD', KNOWN, 0, id)
  redis.call('ZADD', OPEN, 0, id)
  above_texts[#above_texts + 1] = keep_session(session)
  append_session_event('session-opened', session, now)
  return { 'opened', now, above_texts }
`);

type OpenReply = readonly [kind: Buffer, now: number, chain: Buffer[], parent?: Buffer[]];

export async function openSession(
  database: Database,
  policy: LeasePolicy,
  request: OpenSession,
): Promise<SessionOpened> {
  const ttlMs = clampTtl(policy, request.ttlMs);
  const reply = await database.run<OpenReply>(OPEN_SESSION, [
    request.id,
    request.owner,
    optionalArgument(request.parent),
    ttlMs,
    graceWithin(request.graceMs, ttlMs),
    JSON.stringify(request.metadata),
    policy.sessionDepthMax,
  ]);
  const now = reply[1] as Instant;
  const existing = toChain(reply[2]);
  if (kindOf(reply) === 'opened') {
    return { kind: 'opened', replayed: false, ...lifeOf(existing, now) };
  }
  const view = { existing, parent: toChain(reply[3] ?? []), policy };
  const decision = decideOpen(view, request, now);
  assert(decision.kind !== 'open', 'S-4: a session that may be opened was not');
  return decision.kind === 'refuse'
    ? { kind: 'refused', ...decision.refusal }
    : { kind: 'opened', replayed: true, ...lifeOf(existing, now) };
}

// Updates one record, whatever the number of leases (S-1).
const BEAT = script(`
  ${CHAINS}
  ${APPEND_EVENTS}
  ${WRITE_SESSION}
  ${SAME_SERVER}
  local id, owner, asked, seen = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
  -- After a restart of the server, adoption gives notice (T-4) and more time to every session (E-6)
  -- first.
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
  if isRejoin then append_session_event('session-rejoined', self, now) end
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
): Promise<HeartbeatResult> {
  const ttlMs = request.ttlMs === undefined ? '' : clampTtl(policy, request.ttlMs);
  return onKnownServer(database, policy, async () => {
    const values = [request.id, request.owner, ttlMs, database.seen];
    const reply = await database.run<BeatReply>(BEAT, values);
    if (kindOf(reply) === 'moved') return undefined;
    const now = reply[1] as Instant;
    const chain = toChain(reply[2]);
    if (kindOf(reply) === 'beat') {
      // A live client remembers the position of the fence counter, even if it is granted nothing
      // (T-3).
      database.noteFence(Number(reply[4]));
      return { kind: 'alive', rejoined: reply[3] === 1, ...lifeOf(chain, now) };
    }
    const decision = decideHeartbeat(chain, request, { policy, now });
    assert(decision.kind === 'refuse', 'R-1: a heartbeat that may extend was refused');
    return { kind: 'refused', ...decision.refusal };
  });
}

// From its expiry on, an owner may not declare an exit (L-4). An operator may.
const END = script(`
  ${CHAINS}
  ${APPEND_EVENTS}
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
      ? [id, optionalArgument(by.owner), by.exit, '', '']
      : [id, '', 'revoked', optionalArgument(by.reason), optionalArgument(by.actor)];
  const reply = await database.run<EndReply>(END, values);
  if (kindOf(reply) === 'ended') return { kind: 'ended', replayed: false };
  const decision = decideEnd(toChain(reply[2]), request, reply[1] as Instant);
  assert(decision.kind !== 'end', 'H-1: a session that may end was not ended');
  return decision.kind === 'refuse'
    ? { kind: 'refused', ...decision.refusal }
    : { kind: 'ended', replayed: true };
}
