import { decideCheckpoint } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { CheckpointAnswer, SaveCheckpoint } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import { type Database, optional } from './database.ts';
import { TELL } from './events.ts';
import { kindOf, refusedView, type TermReply } from './load-view.ts';
import { HALT } from './recover.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';
import { REFUSE_TERM, TERMS } from './terms.ts';

// K-5: there are two places for bytes; the new ones take that of the checkpoint before the last.
const SAVE = script(`
  ${CHAINS}
  ${TELL}
  ${SAME_SERVER}
  ${HALT}
  ${TERMS}
  ${REFUSE_TERM}
  local key, seq = ARGV[1], ARGV[4]
  local tenure = { fence = ARGV[2], session = ARGV[3], seen = ARGV[8], now = tick() }
  local lease, lease_text = fetch(LEASES, key)
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  local isAllowed = is_held(lease, holder, tenure)
    and (not lease.checkpoint or tonumber(seq) > tonumber(lease.checkpoint.seq)) -- guard: seq
  if not isAllowed then return refuse_term(lease_text, holder_texts, tenure) end
  local slot = lease.checkpoint and lease.checkpoint.slot == 'a' and 'b' or 'a'
  lease.rev = lease.rev + 1
  lease.before = lease.checkpoint
  lease.checkpoint = {
    seq = seq, digest = ARGV[5], fence = tenure.fence, at = tenure.now, type = given(ARGV[6]), slot = slot,
  }
  lease.losses = 0
  redis.call('HSET', BYTES, key .. NUL .. slot, ARGV[7])
  save(LEASES, key, lease)
  return { 'saved', tenure.now }
`);

export function checkpoint(
  database: Database,
  policy: LeasePolicy,
  request: SaveCheckpoint,
): Promise<CheckpointAnswer> {
  const { key, fence, session, seq, digest, type, bytes } = request;
  if (bytes.byteLength > policy.checkpointBytesMax) {
    const bytesMax = policy.checkpointBytesMax;
    const refusal = { why: 'checkpoint-too-large', bytes: bytes.byteLength, bytesMax } as const;
    return Promise.resolve({ kind: 'refused', ...refusal });
  }
  // K-3: what the caller does to its bytes before they are sent cannot reach what is stored.
  const own = Uint8Array.from(bytes);
  return onKnownServer(database, policy, async () => {
    const values = [key, fence, session, seq, digest, optional(type), own, database.seen];
    const reply = await database.run<TermReply>(SAVE, values);
    if (kindOf(reply) === 'saved') return { kind: 'saved', replayed: false };
    const refused = refusedView(reply);
    if (refused === undefined) return undefined;
    const { view, now } = refused;
    const decision = decideCheckpoint(view, request, { policy, now });
    assert(decision.kind !== 'apply', 'K-1: a checkpoint that may be saved was not');
    return decision.kind === 'replay'
      ? { kind: 'saved', replayed: true }
      : { kind: 'refused', ...decision.refusal };
  });
}
