import { decideCheckpoint } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { CheckpointResult, SaveCheckpoint } from '../../lease/port.ts';
import { loadTerm } from '../sql/leases/views.ts';
import { type Database, statement } from './database.ts';
import { play } from './gateway.ts';
import { noteLostRace } from './lost-race.ts';
import { chainIsComplete, liveChain } from './predicates.ts';
import { haltIfAhead } from './recover.ts';

const CHECKPOINT = statement(`
  with ${liveChain('$3')}
  update hf.lease l
     set rev                     = l.rev + 1,
         before_seq              = l.checkpoint_seq,
         before_bytes            = l.checkpoint_bytes,
         before_digest           = l.checkpoint_digest,
         before_fence            = l.checkpoint_fence,
         before_at               = l.checkpoint_at,
         before_type             = l.checkpoint_type,
         checkpoint_seq          = $4,
         checkpoint_bytes        = $5,
         checkpoint_digest       = $6,
         checkpoint_fence        = l.fence,
         checkpoint_at           = hf_now(),
         checkpoint_type         = $7,
         losses_since_checkpoint = 0
   where l.key = $1
     and l.fence = $2 -- guard: fence
     and l.session_id is not distinct from $3 -- guard: session
     and coalesce(l.ended_at is null, false) -- guard: ended
     and coalesce(l.drain_deadline_at > hf_now(), true) -- guard: drain-deadline
     and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: hard-deadline
     and coalesce(l.checkpoint_seq < $4, true) -- guard: seq
     and ${chainIsComplete('$3')} -- guard: alive
  returning l.rev`);

export async function checkpoint(
  database: Database,
  policy: LeasePolicy,
  request: SaveCheckpoint,
): Promise<CheckpointResult> {
  if (request.bytes.byteLength <= policy.checkpointBytesMax) {
    // Copy the bytes before the first await, so that a caller that changes its array later cannot
    // change the stored value (K-3).
    const bytes = Buffer.from(request.bytes);
    const saved = await database.rows(CHECKPOINT, [
      request.key,
      request.fence,
      request.session,
      request.seq,
      bytes,
      request.digest,
      request.type ?? null,
    ]);
    if (saved.length > 0) return { kind: 'saved', replayed: false };
  }
  const { now, ...view } = await play(database, loadTerm(request.key));
  const decision = decideCheckpoint(view, request, { policy, now });
  if (decision.kind === 'replay') return { kind: 'saved', replayed: true };
  if (decision.kind === 'apply') {
    noteLostRace('checkpoint', request);
    return checkpoint(database, policy, request);
  }
  await haltIfAhead(database, request.fence, decision.refusal);
  return { kind: 'refused', ...decision.refusal };
}
