import type { ExecutionId } from '../../../execution/names.ts';
import type { Fence } from '../../../lease/fence.ts';
import type { OwnerWrite } from '../../contract/execution-store.ts';

interface Entry {
  readonly fence: Fence;
  /** What comes after what is known to be stored; zero while a write is under way or its fate unknown. */
  next: number;
}

/**
 * How far the histories of executions that were claimed here are known to go. A write that follows what is
 * known leaves no gap, so that need not be looked up; that it takes no other's place is the primary
 * key's to see to. A write that was tried before is never known.
 */
export class SeqLedger {
  readonly #entries: Map<ExecutionId, Entry> = new Map();

  noteClaim(id: ExecutionId, fence: Fence, seq: number): void {
    this.#entries.set(id, { fence, next: seq + 1 });
  }

  /** Before a flush: whether all of it follows what is known. */
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

  /** After it, for what was done. */
  noteRecord({ id, fence, seq, events }: OwnerWrite): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.fence === fence) entry.next = seq + events.length;
  }

  /** The claim with this fence has ended. */
  forget({ id, fence }: Pick<OwnerWrite, 'id' | 'fence'>): void {
    if (this.#entries.get(id)?.fence === fence) this.#entries.delete(id);
  }
}
