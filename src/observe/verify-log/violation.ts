// What a check found: which rule a log shows broken, where, and what was seen there.

import type { Fence } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { Place } from '../lease-log/entry.ts';

export type ViolatedRule =
  /** Two terms of one key were open at once. */
  | 'overlapping-tenure'
  /** A holder believed in its authority when somebody else was let in. */
  | 'authority-overlap'
  /** A later grant of the key has a lower fence. */
  | 'fence-order'
  /** One fence was handed out twice. */
  | 'fence-reissued'
  | 'ended-twice'
  /** One session id was opened twice. */
  | 'opened-twice'
  /** An end of a term that nobody was granted. */
  | 'end-without-grant'
  /** The successor was told of another predecessor, or of another exit, than the store recorded. */
  | 'predecessor-chain'
  /** A checkpoint was accepted that is not newer than the one before it, or than what was handed over. */
  | 'checkpoint-order'
  /** The successor did not get what its predecessors had saved. */
  | 'checkpoint-lineage'
  /** A write of a term was accepted after the term had ended or a successor had been let in. */
  | 'stale-write-accepted'
  /** A write was accepted under a fence that was granted to another session, for another key, or to nobody. */
  | 'foreign-write-accepted'
  /** A holder was told of a grant that the store has not recorded. */
  | 'grant-not-recorded'
  /** A session was granted something after its end was recorded. */
  | 'granted-after-end'
  /** A session was renewed after its end was recorded. */
  | 'renewed-after-end'
  /** Two recordings of the store disagree about the same event. */
  | 'conflicting-event';

export interface Violation {
  readonly rule: ViolatedRule;
  readonly what: string;
  readonly place: Place;
  /** The other entry that this one cannot stand beside. */
  readonly against?: Place;
  readonly key?: LeaseKey;
  readonly fence?: Fence;
  readonly session?: SessionId;
}
