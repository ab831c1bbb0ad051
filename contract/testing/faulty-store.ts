// A store that misbehaves on request: it hangs, loses replies after doing the work, or is
// unavailable. Use it to test code that uses a store.

import type { SessionId } from '../../src/lease/names.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type {
  ClaimResult,
  CoordinatorStore,
  ExecutionStore,
} from '../../src/store/contract/execution-store.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../src/support/fault.ts';

/**
 * How a store misbehaves.
 *
 * - `unavailable`: it does nothing and throws `StoreUnavailable`.
 * - `lost-answer`: it does the operation and throws `OutcomeUnknown`.
 * - `hung-before`: it does nothing and never responds.
 * - `hung-after`: it does the operation and never responds.
 */
export type StoreFault = 'unavailable' | 'lost-answer' | 'hung-before' | 'hung-after';

/**
 * A store that misbehaves on request.
 *
 * @example
 * import { openMemoryStore } from 'holdfast/store/memory';
 *
 * const faulty = faultyStore(openMemoryStore());
 * faulty.fail('sessions.heartbeat', 'unavailable', 3);
 */
export interface FaultyStore<Store extends KernelStore = KernelStore> {
  /** The store to pass to the code under test. */
  readonly store: Store;
  /**
   * Makes the next `times` calls (default 1) of an operation misbehave. Operations:
   * `sessions.heartbeat`, `executions.claim`.
   */
  fail(verb: string, fault: StoreFault, times?: number): void;
  /** Makes every call misbehave until `heal`. */
  failAll(fault: StoreFault): void;
  /** Makes calls misbehave as `choose` returns, until `heal`. Undefined: the call behaves. */
  failBy(choose: (verb: string) => StoreFault | undefined): void;
  /** Ends all misbehaviour. */
  heal(): void;
  /** The number of calls of each operation. */
  readonly calls: ReadonlyMap<string, number>;
  /** Lets hung calls continue; their results arrive late. */
  unhang(): void;
}

/**
 * Wraps a store so that its calls misbehave on request.
 *
 * @example
 * import { openMemoryStore } from 'holdfast/store/memory';
 *
 * const faulty = faultyStore(openMemoryStore());
 * faulty.failAll('unavailable');
 * faulty.heal();
 */
export function faultyStore<Store extends KernelStore>(inner: Store): FaultyStore<Store> {
  const planned = new Map<string, StoreFault[]>();
  const calls = new Map<string, number>();
  let choose: (verb: string) => StoreFault | undefined = () => undefined;
  let hanging: (() => void)[] = [];

  const misbehave: Misbehave = async (verb, call) => {
    calls.set(verb, (calls.get(verb) ?? 0) + 1);
    const fault = planned.get(verb)?.shift() ?? choose(verb);
    if (fault === 'unavailable') throw new StoreUnavailable('planned by the test: not done');
    const hang = (): Promise<void> => new Promise((resolve) => hanging.push(resolve));
    if (fault === 'hung-before') await hang();
    const result = await call();
    if (fault === 'hung-after') await hang();
    if (fault === 'lost-answer') throw new OutcomeUnknown('planned by the test: answer lost');
    return result;
  };

  const { executions, access } = inner as Partial<CoordinatorStore>;
  return {
    store: {
      ...inner,
      sessions: wrap('sessions', inner.sessions, misbehave),
      leases: wrap('leases', inner.leases, misbehave),
      ...(executions && { executions: wrapExecutions(executions, misbehave) }),
      ...(access && { access: wrap('access', access, misbehave) }),
    },
    fail: (verb, fault, times = 1) => {
      planned.set(verb, [...(planned.get(verb) ?? []), ...Array<StoreFault>(times).fill(fault)]);
    },
    failAll: (fault) => {
      choose = () => fault;
    },
    failBy: (by) => {
      choose = by;
    },
    heal: () => {
      choose = () => undefined;
      planned.clear();
    },
    calls,
    unhang: () => {
      const waiting = hanging;
      hanging = [];
      for (const go of waiting) go();
    },
  };
}

type Verb = (argument: never) => Promise<unknown>;
type Misbehave = <Result>(verb: string, call: () => Promise<Result>) => Promise<Result>;

function wrap<Port extends object>(name: string, port: Port, misbehave: Misbehave): Port {
  const verbs = Object.entries(port as Record<string, Verb>).map(([verb, call]) => [
    verb,
    (argument: never) => misbehave(`${name}.${verb}`, () => call(argument)),
  ]);
  return Object.fromEntries(verbs) as Port;
}

/**
 * Returns a lost claim when its session claims again, as the port demands: no other session can get
 * what a live session carries. `onWakeup` is not a verb; it returns the function that stops
 * listening.
 */
function wrapExecutions(port: ExecutionStore, misbehave: Misbehave): ExecutionStore {
  const undelivered = new Map<SessionId, ClaimResult>();
  return {
    ...wrap('executions', port, misbehave),
    onWakeup: (listener) => port.onWakeup(listener),
    room: () => port.room(),
    claim: async (request) => {
      const { session } = request;
      let result: ClaimResult | undefined;
      try {
        return await misbehave('executions.claim', async () => {
          result = undelivered.get(session) ?? (await port.claim(request));
          undelivered.delete(session);
          return result;
        });
      } catch (fault) {
        if (result?.kind === 'claimed') undelivered.set(session, { ...result, more: true });
        throw fault;
      }
    },
  };
}
