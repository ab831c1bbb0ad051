import { decideCheckpoint } from '../../lease/decide/term.ts';
import type { CheckpointResult, SaveCheckpoint } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { loadTerm } from '../sql/leases/views.ts';
import { play } from './gateway.ts';
import type { Transaction } from './transaction.ts';

// The guard checks key, fence and session separately (T-6). The seq only rises (K-2), and the
// previous checkpoint is kept (K-5).
const SAVE = `
  update lease
     set rev = rev + 1,
         before_seq = checkpoint_seq,
         before_bytes = checkpoint_bytes,
         before_digest = checkpoint_digest,
         before_fence = checkpoint_fence,
         before_at = checkpoint_at,
         before_type = checkpoint_type,
         checkpoint_seq = :seq,
         checkpoint_bytes = :bytes,
         checkpoint_digest = :digest,
         checkpoint_fence = :fence,
         checkpoint_at = :now,
         checkpoint_type = :type,
         losses_since_checkpoint = 0
   where key = :key
     and fence = :fence                                             -- guard: fence
     and session_id = :session                                      -- guard: session
     and ended_at is null                                           -- guard: ended
     and (drain_deadline_at is null or drain_deadline_at > :now)    -- guard: deadline
     and (hard_deadline_at is null or hard_deadline_at > :now)      -- guard: tenure
     and (checkpoint_seq is null or checkpoint_seq < :seq)          -- guard: seq
     and length(:bytes) <= :bytesMax                                -- guard: size
     and exists (
           select 1
             from session as holder
            where holder.id = lease.session_id
              and not exists (
                    select 1
                      from json_each(holder.path) as step
                      join session as member on member.id = step.value
                     where false
                        or member.ended_at is not null                    -- guard: parent
                        or member.expires_at - member.grace_ms <= :now    -- guard: lapse
                  )
         )`;

export function checkpoint(tx: Transaction, request: SaveCheckpoint): CheckpointResult {
  const { now, policy } = tx;
  const saved = tx.run(SAVE, {
    key: request.key,
    fence: request.fence,
    session: request.session,
    seq: request.seq,
    bytes: request.bytes,
    digest: request.digest,
    type: request.type ?? null,
    bytesMax: policy.checkpointBytesMax,
    now,
  });
  if (saved === 1) return { kind: 'saved', replayed: false };

  const decision = decideCheckpoint(play(tx, loadTerm(request.key)), request, { policy, now });
  assert(decision.kind !== 'apply', 'T-6: a checkpoint that may be saved was not');
  if (decision.kind === 'replay') return { kind: 'saved', replayed: true };
  if (decision.refusal.why === 'fence-ahead') tx.haltFor(request.fence);
  return { kind: 'refused', ...decision.refusal };
}
