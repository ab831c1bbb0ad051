// The cost of a request, in numbers that do not depend on the machine: characters parsed and
// written as JSON, rows that pass the store's port, and blocks of this project's code that ran.

import { Session } from 'node:inspector/promises';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';

export interface Cost {
  /** Characters that JSON.parse read. */
  parsed: number;
  /** Characters that JSON.stringify wrote. */
  written: number;
  /** Items of lists in requests to the store and in its answers. */
  rows: number;
  /** Characters and bytes of the largest answer of the store: they are in memory at once. */
  answer: number;
  /** How often blocks of code in src ran: comparisons, turns of loops. */
  blocks: number;
}

const NOTHING: Cost = { parsed: 0, written: 0, rows: 0, answer: 0, blocks: 0 };

export class Counters {
  readonly #session: Session = new Session();
  readonly #parse = JSON.parse;
  readonly #stringify = JSON.stringify;
  #now: Cost = { ...NOTHING };

  /** Call this before the code to count is loaded. */
  static async start(): Promise<Counters> {
    const counters = new Counters();
    const session = counters.#session;
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    JSON.parse = (text: string, reviver?: Parameters<typeof JSON.parse>[1]) => {
      counters.#now.parsed += text.length;
      return counters.#parse(text, reviver);
    };
    JSON.stringify = ((...given: Parameters<typeof JSON.stringify>) => {
      const text = counters.#stringify(...given);
      counters.#now.written += text?.length ?? 0;
      return text;
    }) as typeof JSON.stringify;
    return counters;
  }

  stop(): void {
    JSON.parse = this.#parse;
    JSON.stringify = this.#stringify;
    this.#session.disconnect();
  }

  /** The counts since the last call, this call included: reading the block counts takes long. */
  async of(what: () => Promise<unknown>): Promise<Cost> {
    this.#now = { ...NOTHING };
    await what();
    const cost = this.#now;
    this.#now = { ...NOTHING };
    return { ...cost, blocks: await this.#blocks() };
  }

  /** Since the last call. */
  async #blocks(): Promise<number> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => url.includes('/src/'))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0);
  }

  /** The same store, with counted rows. */
  counted(store: CoordinatorStore): CoordinatorStore {
    const counting = <Part extends object>(part: Part): Part =>
      new Proxy(part, {
        get: (target, name) => {
          const verb: unknown = Reflect.get(target, name, target);
          if (typeof verb !== 'function') return verb;
          return (...given: unknown[]) => {
            this.#now.rows += rowsIn(given);
            const answer: unknown = Reflect.apply(verb, target, given);
            if (!(answer instanceof Promise)) return answer;
            return answer.then((found: unknown) => {
              this.#now.rows += rowsIn(found);
              this.#now.answer = Math.max(this.#now.answer, sizeIn(found));
              return found;
            });
          };
        },
      });
    const { executions, access, sessions, leases } = store;
    return {
      ...store,
      executions: counting(executions),
      access: counting(access),
      sessions: counting(sessions),
      leases: counting(leases),
    };
  }
}

/** Lists in requests and answers at the port, two levels deep: a page, the parts of a write. */
function rowsIn(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || depth > 3) {
    return 0;
  }
  const inside = Object.values(value).reduce(
    (sum: number, each) => sum + rowsIn(each, depth + 1),
    0,
  );
  return inside + (Array.isArray(value) ? value.length : 0);
}

/** Characters and bytes, as deep as records have texts. */
function sizeIn(value: unknown, depth = 0): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null || depth > 5) return 0;
  return Object.values(value).reduce((sum: number, each) => sum + sizeIn(each, depth + 1), 0);
}
