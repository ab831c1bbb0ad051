// Children: started in the transaction that records their ids, so that nothing can start one twice. Many are
// started in a few commits.

import type { CallKey, ExecutionId, Payload } from '../../execution/names.ts';
import type { Submit } from '../../store/contract/execution-store.ts';
import type { Instant } from '../../support/clock.ts';
import { thrownText } from '../../support/options.ts';
import type { Call } from '../call.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

export interface SpawnPlan {
  readonly key: CallKey;
  readonly name: string;
  readonly count: number;
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
    this.#run.active(1);
    this.#spawnFrom(opening?.ids ?? []).catch((error: unknown) => {
      this.#run.calls.delete(this.key);
      this.#reject(error instanceof Error ? error : new Error(thrownText(error)));
      this.#run.active(-1);
    });
  }

  settle(settlement: Settlement): void {
    this.#resolve(settlement.body.ids ?? []);
  }

  reject(error: Error): void {
    this.#reject(error);
  }

  async #spawnFrom(before: readonly ExecutionId[]): Promise<void> {
    const { key, name, count } = this.#plan;
    const ids = [...before];
    do {
      const chunk = await this.#nextChunk(ids.length);
      if (this.#run.isOver || this.#run.cancelled !== undefined) return;
      ids.push(...chunk.map(({ id }) => id));
      const last = ids.length >= count;
      const body: CallBody = { key, ids: chunk.map(({ id }) => id), ...(last ? { last } : {}) };
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
