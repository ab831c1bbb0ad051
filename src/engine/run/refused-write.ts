// What it means that the store refused what an owner was to write.

import { isTerminal, type Status } from '../../execution/execution.ts';
import type { EventKind } from '../../execution/history.ts';
import {
  describeExecutionRefusal,
  type ExecutionRefusal,
  type OwnerRefusal,
} from '../../execution/refusal.ts';
import type { OwnerVerb, RefusedWrite } from '../../features/audit/refused-write-model.ts';
import { Fault } from '../../support/fault.ts';

/** Another owner, or an ended session. */
export class ClaimLost extends Fault {
  override readonly name = 'ClaimLost';

  constructor(refusal: ExecutionRefusal) {
    super('claim-lost', describeExecutionRefusal(refusal));
  }
}

/** The claim is there, and what was to be written does not fit what is stored. */
export class HistoryDiffers extends Fault {
  override readonly name = 'HistoryDiffers';

  constructor(refusal: ExecutionRefusal) {
    const what =
      refusal.why === 'seq-taken'
        ? `Its history has another event at ${refusal.seq} than this worker was to record there, or none before it: something else has written under the same claim.`
        : describeExecutionRefusal(refusal);
    super(
      'history-differs',
      `${what} This worker has recorded nothing more. Find out what did, then resume the execution: it goes on from what is recorded.`,
    );
  }
}

const OVER: readonly ExecutionRefusal['why'][] = [
  ...(['execution-unknown', 'superseded', 'not-running', 'claim-ended', 'fence-ahead'] as const),
];

/** Whose claim it was can do nothing more; others can. */
export function isClaimOver({ why }: ExecutionRefusal): boolean {
  return OVER.includes(why);
}

/** The verb with which an owner leaves that writes this event. */
export function verbOf(kind: EventKind): OwnerVerb {
  if (kind === 'parked') return 'park';
  return isTerminal(kind as Status) ? 'finish' : 'giveBack';
}

/** What is counted of it. */
export function whyOf(refusal: OwnerRefusal): Pick<RefusedWrite, 'why' | 'newest'> {
  const { why } = refusal;
  return why === 'superseded' ? { why, newest: refusal.newest } : { why };
}
