// Children: started in the transaction that records their ids, so that nothing can start one twice. Many are
// started in a few commits.

import type { CallKey, ExecutionId, Payload } from '../../../execution/names.ts';
import type { Submit } from '../../../store/contract/execution-store.ts';
import type { Instant } from '../../../support/clock.ts';
import { thrownText } from '../../../support/options.ts';
import type { Call } from '../call.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

export interface SpawnPlan {
  readonly key: CallKey;
  readonly name: string;
  readonly count: number;
  /** The pipeline, or `template` and its id. */
  readonly of: string;
  /** The child at this place, under that id. */
  childAt(index: number, id: ExecutionId): Submit | Promise<Submit>;
}

/** Bounds one commit, its memory and how long it keeps the store. */
const CHUNK = 1_000;
/** With their tags and attributes: one write must not keep a store from others. */
const CHUNK_ROWS = 5_000;

export class SpawnCall implements Call {
  readonly #run: Run;
  readonly #plan: SpawnPlan;
  readonly #resolve: (ids: readonly ExecutionId[]) => void;
  readonly #reject: (error: Error) => void;
  readonly #askedAt: Instant;

  constructor(
    run: Run,
    plan: SpawnPlan,
    promise: { resolve(ids: readonly ExecutionId[]): void; reject(error: Error): void },
  ) {
    this.#run = run;
    this.#plan = plan;
    this.#resolve = promise.resolve;
    this.#reject = promise.reject;
    this.#askedAt = run.now;
  }

  get key(): CallKey {
    return this.#plan.key;
  }

  start(opening: Opening | undefined): void {
    if (opening !== undefined && this.#hasDrifted(opening, opening.seq)) return;
    this.#run.active(1);
    this.#spawnFrom(opening?.ids ?? []).catch((error: unknown) => {
      this.#run.calls.delete(this.key);
      this.#reject(error instanceof Error ? error : new Error(thrownText(error)));
      this.#run.active(-1);
    });
  }

  settle({ body, seq }: Settlement): void {
    if (!this.#hasDrifted(body, seq)) this.#resolve(body.ids ?? []);
  }

  reject(error: Error): void {
    this.#reject(error);
  }

  /** the call has the key of a recorded one, and yet these are not its children. */
  #hasDrifted({ of, last, ids }: Pick<CallBody, 'of' | 'last' | 'ids'>, seq: number): boolean {
    const { key, count, of: asked } = this.#plan;
    const recorded = last === true ? (ids?.length ?? 0) : count;
    // Builds before this one did not record what children are of.
    if (of === undefined || (of === asked && recorded === count)) return false;
    const text = (number: number, name: string): string => `${key} (${number} of ${name})`;
    this.#run.events.drifted({ expected: text(recorded, of), found: text(count, asked), seq });
    return true;
  }

  async #spawnFrom(before: readonly ExecutionId[]): Promise<void> {
    const { key, name, count, of } = this.#plan;
    const ids = [...before];
    do {
      const chunk = await this.#nextChunk(ids.length);
      if (this.#run.isOver || this.#run.cancelled !== undefined) return;
      ids.push(...chunk.map(({ id }) => id));
      const last = ids.length >= count;
      const body: CallBody = { key, of, ids: chunk.map(({ id }) => id), ...(last ? { last } : {}) };
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#run.journal.record({
        event: { kind: 'child-spawned', name, body: JSON.stringify(body) as Payload },
        children: chunk,
        stored: (at) => {
          if (last) {
            this.#run.settle({ kind: 'child-spawned', body: { ...body, ids }, at, seq: 0 });
            this.#run.active(-1);
          }
          resolve();
        },
      });
      await promise;
    } while (ids.length < count);
  }

  async #nextChunk(from: number): Promise<readonly Submit[]> {
    const { count } = this.#plan;
    const to = Math.min(from + CHUNK, count);
    const children: Submit[] = [];
    for (let index = from, rows = 0; index < to && rows < CHUNK_ROWS; index += 1) {
      const id = this.#run.config.ids.nextAt(this.#askedAt);
      const child = await this.#plan.childAt(index, id);
      rows += 2 + child.tags.length + Object.keys(child.attributes).length;
      children.push(child);
    }
    return children;
  }
}

/** What the child at this place is called in its parent's inbox. */
export function childCall(key: CallKey, index: number): CallKey {
  return `${key}[${index}]` as CallKey;
}
