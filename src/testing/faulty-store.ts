// A store that misbehaves on request: it hangs, loses answers after doing the work, or is
// unavailable. Use it to test code that uses a store.

import type { SessionId } from '../lease/names.ts';
import type { KernelStore } from '../lease/port.ts';
import type {
  ClaimResult,
  CoordinatorStore,
  ExecutionStore,
} from '../store/contract/execution-store.ts';
import { OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';

/**
 * `unavailable`: not done, and says so. `lost-answer`: done, and the caller is told that nobody
 * knows. `hung-before` / `hung-after`: never answers, having done nothing / having done it.
 */
export type StoreFault = 'unavailable' | 'lost-answer' | 'hung-before' | 'hung-after';

export interface FaultyStore<Store extends KernelStore = KernelStore> {
  readonly store: Store;
  /** The next `times` calls of this verb misbehave. Verbs: `sessions.heartbeat`, `executions.claim`, … */
  fail(verb: string, fault: StoreFault, times?: number): void;
  /** Every call from now on misbehaves this way, until `heal`. */
  failAll(fault: StoreFault): void;
  /** From now on every call misbehaves as `choose` says, or not at all, until `heal`. */
  failBy(choose: (verb: string) => StoreFault | undefined): void;
  heal(): void;
  /** How often each verb was called. */
  readonly calls: ReadonlyMap<string, number>;
  /** Lets calls that hang go on; their answers arrive late. */
  unhang(): void;
}

/** A store that keeps executions has them, and its access keys, misbehave too. */
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
