// A store that misbehaves on request: it hangs, loses answers after doing the work, or cannot be
// reached. For tests of whatever uses a store, ours and yours.

import type { KernelStore } from '../lease/port.ts';
import { OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';

/**
 * `unavailable`: not done, and says so. `lost-answer`: done, and the caller is told that nobody
 * knows. `hung-before` / `hung-after`: never answers, having done nothing / having done it.
 */
export type StoreFault = 'unavailable' | 'lost-answer' | 'hung-before' | 'hung-after';

export interface FaultyStore {
  readonly store: KernelStore;
  /** The next `times` calls of this verb misbehave. Verbs are named `sessions.heartbeat`, … */
  fail(verb: string, fault: StoreFault, times?: number): void;
  /** Every call from now on misbehaves this way, until `heal`. */
  failAll(fault: StoreFault): void;
  heal(): void;
  /** How often each verb was called. */
  readonly calls: ReadonlyMap<string, number>;
  /** Lets calls that hang go on; their answers arrive late. */
  unhang(): void;
}

export function faultyStore(inner: KernelStore): FaultyStore {
  const planned = new Map<string, StoreFault[]>();
  const calls = new Map<string, number>();
  let always: StoreFault | undefined;
  let hanging: (() => void)[] = [];

  const misbehave = async <Answer>(verb: string, call: () => Promise<Answer>): Promise<Answer> => {
    calls.set(verb, (calls.get(verb) ?? 0) + 1);
    const fault = planned.get(verb)?.shift() ?? always;
    if (fault === 'unavailable') throw new StoreUnavailable('planned by the test: not done');
    const hang = (): Promise<void> => new Promise((resolve) => hanging.push(resolve));
    if (fault === 'hung-before') await hang();
    const answer = await call();
    if (fault === 'hung-after') await hang();
    if (fault === 'lost-answer') throw new OutcomeUnknown('planned by the test: answer lost');
    return answer;
  };

  return {
    store: {
      ...inner,
      sessions: wrap('sessions', inner.sessions, misbehave),
      leases: wrap('leases', inner.leases, misbehave),
    },
    fail: (verb, fault, times = 1) => {
      planned.set(verb, [...(planned.get(verb) ?? []), ...Array<StoreFault>(times).fill(fault)]);
    },
    failAll: (fault) => {
      always = fault;
    },
    heal: () => {
      always = undefined;
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

function wrap<Port extends object>(
  name: string,
  port: Port,
  misbehave: (verb: string, call: () => Promise<unknown>) => Promise<unknown>,
): Port {
  const verbs = Object.entries(port as Record<string, Verb>).map(([verb, call]) => [
    verb,
    (argument: never) => misbehave(`${name}.${verb}`, () => call(argument)),
  ]);
  return Object.fromEntries(verbs) as Port;
}
