// The search attributes of a run as its code sees them: a replay goes through the same changes in the
// same order. Each change is a line of history, and the row gets all attributes with it.

import type { Attributes } from '../../execution/execution.ts';
import type { CallKey, Payload } from '../../execution/names.ts';
import { type AttributesChanged, withChanges } from '../submission.ts';
import { ignored } from './guarded.ts';
import type { AttributesLine } from './ledger.ts';
import type { Run } from './run.ts';

export class RunAttributes {
  readonly #run: Run;
  #now: Attributes;

  constructor(run: Run) {
    this.#run = run;
    this.#now = run.ledger.attributesBefore ?? run.claimed.execution.attributes;
  }

  /** The attributes where the code is now. */
  get now(): Attributes {
    return this.#now;
  }

  /** A change that the history has applies as it was recorded. */
  change(key: CallKey, { set, after }: AttributesChanged): void {
    const { ledger, journal, isFrozen } = this.#run;
    const recorded = ledger.attributesAt(key);
    if (recorded !== undefined) {
      this.#now = withChanges(this.#now, recorded);
      return;
    }
    const before = this.#now;
    this.#now = after;
    if (isFrozen) return;
    const isFirst = ledger.attributesBefore === undefined;
    const attributes: AttributesLine = { key, set, ...(isFirst && { before }) };
    ledger.noteAttributes(attributes);
    // `inside`: other builds do not count it among the lines of the code.
    const line = { log: `attributes: ${JSON.stringify(set)}`, inside: true, attributes };
    journal.appendSoon({
      event: { kind: 'progressed', body: JSON.stringify(line) as Payload },
      attributes: after,
      stored: ignored,
    });
  }
}
