// Claims whose outcome is unknown: the commit failed, but may have happened all the same. A
// live session then carries executions that it does not know of, and no other session can claim
// them. The session's next claim returns them, because by then the file shows if the commit
// happened.

import type { SessionId } from '../../../lease/names.ts';
import { OutcomeUnknown } from '../../../support/fault.ts';
import type { Claim, Claimed, ClaimResult } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import type { Database } from '../database.ts';
import type { Transaction } from '../transaction.ts';
import { claim } from './claim.ts';
import { loadRow } from './load-execution.ts';

/** The findings of one run of a claim. They are true only once the commit succeeds. */
interface Attempt {
  readonly result: ClaimResult;
  /** The claims of this session that the file was checked for. */
  readonly checked: readonly Claimed[];
  /** Ended sessions. Other sessions may take their executions. */
  readonly ended: readonly SessionId[];
}

export class OrphanedClaims {
  readonly #database: Database;
  /**
   * Unreported claims by session and fence. Only live sessions are in it, each with at most what
   * one process can carry.
   */
  readonly #unconfirmed: Map<SessionId, Map<number, Claimed>> = new Map();

  constructor(database: Database) {
    this.#database = database;
  }

  async claim(request: Claim): Promise<ClaimResult> {
    const { session } = request;
    // Holds the result of the last run, because a flush may run twice.
    let last: Attempt | undefined;
    const attempt = (tx: Transaction): Attempt => {
      last = this.#attempt(tx, request);
      return last;
    };
    try {
      const done = await this.#database.perform(attempt, undefined);
      this.#settle(session, done);
      return done.result;
    } catch (fault) {
      if (fault instanceof OutcomeUnknown && last !== undefined) this.#suspect(session, last);
      throw fault;
    }
  }

  #attempt(tx: Transaction, request: Claim): Attempt {
    if (this.#unconfirmed.size === 0) return { result: claim(tx, request), checked: [], ended: [] };
    const { session } = request;
    const ended = [...this.#unconfirmed.keys()].filter((id) => !tx.isOpen(id));
    const checked = [...(this.#unconfirmed.get(session)?.values() ?? [])];
    const claims = checked.flatMap((claimed) => carried(tx, claimed, session));
    const result: ClaimResult =
      claims.length > 0 && !ended.includes(session)
        ? { kind: 'claimed', claims, more: true, overdue: false }
        : claim(tx, request);
    return { result, checked, ended };
  }

  #settle(session: SessionId, { checked, ended }: Attempt): void {
    for (const id of ended) this.#unconfirmed.delete(id);
    const unconfirmed = this.#unconfirmed.get(session);
    for (const { fence } of checked) unconfirmed?.delete(fence);
    if (unconfirmed?.size === 0) this.#unconfirmed.delete(session);
  }

  /** Claims that were checked and are not in the result did not happen. */
  #suspect(session: SessionId, { result, checked }: Attempt): void {
    const unconfirmed = this.#unconfirmed.get(session) ?? new Map<number, Claimed>();
    for (const { fence } of checked) unconfirmed.delete(fence);
    const claims = result.kind === 'claimed' ? result.claims : [];
    for (const claimed of claims) unconfirmed.set(claimed.fence, claimed);
    if (unconfirmed.size > 0) this.#unconfirmed.set(session, unconfirmed);
    else this.#unconfirmed.delete(session);
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
