import type { ExecutionId } from '../../../execution/names.ts';
import type { Fence } from '../../../lease/fence.ts';
import type { OwnerWrite } from '../../contract/execution-store.ts';

interface Entry {
  readonly fence: Fence;
  /**
   * The seq after the last one known to be stored. Zero while a write is under way or its outcome
   * is unknown.
   */
  next: number;
}

/**
 * Tracks the last stored seq of executions that this process claimed. A write that follows it
 * leaves no gap, so the statement skips the lookup. The primary key still refuses a seq that
 * is taken. A write that was tried before always needs the lookup.
 */
export class SeqLedger {
  readonly #entries: Map<ExecutionId, Entry> = new Map();

  noteClaim(id: ExecutionId, fence: Fence, seq: number): void {
    this.#entries.set(id, { fence, next: seq + 1 });
  }

  /** Call this before a flush. Returns true if all writes follow the known seqs. */
  begin(requests: readonly OwnerWrite[]): boolean {
    let areKnown = true;
    for (const { id, fence, seq } of requests) {
      const entry = this.#entries.get(id);
      if (entry === undefined) {
        areKnown = false;
        continue;
      }
      if (entry.next !== seq || entry.fence !== fence) areKnown = false;
      entry.next = 0;
    }
    return areKnown;
  }

  /** Call this after a flush, for each write that succeeded. */
  noteRecord({ id, fence, seq, events }: OwnerWrite): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.fence === fence) entry.next = seq + events.length;
  }

  /** The claim with this fence has ended. */
  forget({ id, fence }: Pick<OwnerWrite, 'id' | 'fence'>): void {
    if (this.#entries.get(id)?.fence === fence) this.#entries.delete(id);
  }
}
