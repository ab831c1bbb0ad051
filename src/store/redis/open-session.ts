import { decideOpen, graceWithin, lifeOf } from '../../lease/decide/session.ts';
import { clampTtl, type LeasePolicy } from '../../lease/policy.ts';
import type { OpenSession, SessionOpened } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { type Database, optional } from './database.ts';
import { TELL } from './events.ts';
import { kindOf } from './load-view.ts';
import { toChain } from './records.ts';
import { script } from './script.ts';
import { CHAINS, WRITE_SESSION } from './sessions.ts';

const OPEN_SESSION = script(`
  ${CHAINS}
  ${TELL}
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
  tell_session('session-opened', session, now)
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
    optional(request.parent),
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
