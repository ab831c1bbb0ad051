// Claims that nobody knows of: the commit failed, and may have been done all the same. What they took
// is carried by a session that lives, so no other would ever claim it. Whoever claims next with that
// session is given it; by then the file says whether it was done.

import type { SessionId } from '../../../lease/names.ts';
import { OutcomeUnknown } from '../../../support/fault.ts';
import type { Claim, ClaimAnswer, Claimed } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import type { Database } from '../database.ts';
import type { Transaction } from '../transaction.ts';
import { claim } from './claim.ts';
import { loadRow } from './load-execution.ts';

/** What one run of a claim found and did; only the commit makes it true. */
interface Look {
  readonly answer: ClaimAnswer;
  /** Of its session: the file has been asked about these. */
  readonly asked: readonly Claimed[];
  /** Others may have what these carried. */
  readonly ended: readonly SessionId[];
}

export class Strays {
  readonly #database: Database;
  /** By session and fence. Of sessions that live, each with what one process can carry at most. */
  readonly #untold: Map<SessionId, Map<number, Claimed>> = new Map();

  constructor(database: Database) {
    this.#database = database;
  }

  async claim(request: Claim): Promise<ClaimAnswer> {
    const { session } = request;
    // Of the last run: a flush may be run again.
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

  /** What was asked about and is not among the claims had not been done. */
  #suspect(session: SessionId, { answer, asked }: Look): void {
    const untold = this.#untold.get(session) ?? new Map<number, Claimed>();
    for (const { fence } of asked) untold.delete(fence);
    const claims = answer.kind === 'claimed' ? answer.claims : [];
    for (const claimed of claims) untold.set(claimed.fence, claimed);
    if (untold.size > 0) this.#untold.set(session, untold);
    else this.#untold.delete(session);
  }
}

/** As it is now, since others may have left messages; nothing when it was not done. */
function carried(tx: Transaction, claimed: Claimed, session: SessionId): readonly Claimed[] {
  const row = loadRow(tx, claimed.execution.id);
  if (row === undefined || row.fence !== claimed.fence || row.session_id !== session) return [];
  return [{ ...claimed, execution: toExecution(row) }];
}
