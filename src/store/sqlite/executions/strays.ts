// Claims whose outcome is unknown: the commit failed, but may have happened all the same. A
// live session then carries executions that it does not know of, and no other session can claim
// them. The session's next claim returns them, because by then the file shows if the commit
// happened.

import type { SessionId } from '../../../lease/names.ts';
import { OutcomeUnknown } from '../../../support/fault.ts';
import type { Claim, ClaimAnswer, Claimed } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import type { Database } from '../database.ts';
import type { Transaction } from '../transaction.ts';
import { claim } from './claim.ts';
import { loadRow } from './load-execution.ts';

/** The findings of one run of a claim. They are true only once the commit succeeds. */
interface Look {
  readonly answer: ClaimAnswer;
  /** The claims of this session that the file was checked for. */
  readonly asked: readonly Claimed[];
  /** Ended sessions. Other sessions may take their executions. */
  readonly ended: readonly SessionId[];
}

export class Strays {
  readonly #database: Database;
  /**
   * Unreported claims by session and fence. Only live sessions are in it, each with at most what
   * one process can carry.
   */
  readonly #untold: Map<SessionId, Map<number, Claimed>> = new Map();

  constructor(database: Database) {
    this.#database = database;
  }

  async claim(request: Claim): Promise<ClaimAnswer> {
    const { session } = request;
    // Holds the result of the last run, because a flush may run twice.
    let last: Look | undefined;
    const look = (tx: Transaction): Look => {
      last = this.#look(tx, request);
      return last;
    };
    try {
      const told = await this.#database.perform(look, undefined);
      this.#settle(session, told);
      return told.answer;
    } catch (fault) {
      if (fault instanceof OutcomeUnknown && last !== undefined) this.#suspect(session, last);
      throw fault;
    }
  }

  #look(tx: Transaction, request: Claim): Look {
    if (this.#untold.size === 0) return { answer: claim(tx, request), asked: [], ended: [] };
    const { session } = request;
    const ended = [...this.#untold.keys()].filter((id) => !tx.isOpen(id));
    const asked = [...(this.#untold.get(session)?.values() ?? [])];
    const claims = asked.flatMap((claimed) => carried(tx, claimed, session));
    const answer: ClaimAnswer =
      claims.length > 0 && !ended.includes(session)
        ? { kind: 'claimed', claims, more: true, overdue: false }
        : claim(tx, request);
    return { answer, asked, ended };
  }

  #settle(session: SessionId, { asked, ended }: Look): void {
    for (const id of ended) this.#untold.delete(id);
    const untold = this.#untold.get(session);
    for (const { fence } of asked) untold?.delete(fence);
    if (untold?.size === 0) this.#untold.delete(session);
  }

  /** Claims that were checked and are not in the answer did not happen. */
  #suspect(session: SessionId, { answer, asked }: Look): void {
    const untold = this.#untold.get(session) ?? new Map<number, Claimed>();
    for (const { fence } of asked) untold.delete(fence);
    const claims = answer.kind === 'claimed' ? answer.claims : [];
    for (const claimed of claims) untold.set(claimed.fence, claimed);
    if (untold.size > 0) this.#untold.set(session, untold);
    else this.#untold.delete(session);
  }
}

/**
 * Returns the claim with the current execution, which may have new messages. Empty when the claim
 * did not happen.
 */
function carried(tx: Transaction, claimed: Claimed, session: SessionId): readonly Claimed[] {
  const row = loadRow(tx, claimed.execution.id);
  if (row === undefined || row.fence !== claimed.fence || row.session_id !== session) return [];
  return [{ ...claimed, execution: toExecution(row) }];
}
