// Calls to a store of leases, recorded for the check.

import type { LeaseKey, SessionId } from '../../../src/lease/names.ts';
import type { KernelStore, LeaseStore, SessionStore } from '../../../src/lease/port.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { StoreUnavailable } from '../../../src/support/fault.ts';
import { wordsIn } from '../../../src/support/options.ts';
import type { RecordedOperation } from './history.ts';

/** The operations that the model covers. */
const VERBS = {
  sessions: ['open', 'heartbeat', 'end'],
  leases: wordsIn('acquire checkpoint beginIntent settleIntent release revoke verify inspect'),
} as const satisfies {
  readonly sessions: readonly (keyof SessionStore)[];
  readonly leases: readonly (keyof LeaseStore)[];
};

type Calls<
  Port extends 'sessions' | 'leases',
  Verb extends string,
> = Verb extends keyof KernelStore[Port]
  ? {
      readonly verb: `${Port}.${Verb}`;
      readonly request: KernelStore[Port][Verb] extends (request: infer Request) => unknown
        ? Request
        : never;
    }
  : never;

/** A call of the store's port: its operation and its request. */
export type LeaseCall =
  | Calls<'sessions', (typeof VERBS)['sessions'][number]>
  | Calls<'leases', (typeof VERBS)['leases'][number]>;

/**
 * A call or its end, as `note` of `recordLeaseCalls` gets it.
 *
 * - `call`: it is about to be sent.
 * - `reply`: its reply arrived.
 * - `not-done`: the store did nothing. A call without an end has an unknown outcome.
 */
export type LeaseCallEvent = {
  /** The call. Unique if each client has a name of its own. */
  readonly id: string;
  /** When, in milliseconds of the machine's monotonic clock. */
  readonly at: number;
} & (
  | {
      readonly kind: 'call';
      /** The name of the client. */
      readonly client: string;
      /** Its operation and request. */
      readonly call: LeaseCall;
    }
  | {
      readonly kind: 'reply';
      /** The reply. */
      readonly output: unknown;
    }
  | { readonly kind: 'not-done' }
);

/**
 * Wraps a store so that its calls are recorded. `note` gets each call before it is sent, so that
 * a process can write it down and be killed.
 *
 * @example
 * import { parseLeaseKey } from 'holdfast';
 *
 * const noted: LeaseCallEvent[] = [];
 * const recorded = recordLeaseCalls(store, 'ann', (event) => noted.push(event));
 * await recorded.leases.inspect(parseLeaseKey('reports/daily'));
 * console.log(checkLinearizability(leaseModel(), leaseHistory(noted)).kind);
 */
export function recordLeaseCalls(
  store: KernelStore,
  client: string,
  note: (event: LeaseCallEvent) => void,
): KernelStore {
  let count = 0;
  const recorded = <Port extends object>(name: 'sessions' | 'leases', port: Port): Port => {
    const verbs = port as Record<string, (request: unknown) => Promise<unknown>>;
    const own = VERBS[name].map((verb) => [
      verb,
      async (request: unknown) => {
        count += 1;
        const id = `${client} ${count}`;
        const call = { verb: `${name}.${verb}`, request } as LeaseCall;
        note({ kind: 'call', id, client, at: systemClock.monotonicMs(), call });
        try {
          const output = await verbs[verb]?.(request);
          note({ kind: 'reply', id, at: systemClock.monotonicMs(), output });
          return output;
        } catch (fault) {
          if (fault instanceof StoreUnavailable)
            note({ kind: 'not-done', id, at: systemClock.monotonicMs() });
          throw fault;
        }
      },
    ]);
    return { ...port, ...Object.fromEntries(own) };
  };
  return {
    ...store,
    sessions: recorded('sessions', store.sessions),
    leases: recorded('leases', store.leases),
  };
}

/**
 * Returns the history of recorded calls. It leaves out calls that the store did not do.
 *
 * @example
 * const model = leaseModel({ policy: store.policy });
 * console.log(checkLinearizability(model, leaseHistory(events)).kind);
 */
export function leaseHistory(
  events: readonly LeaseCallEvent[],
): readonly RecordedOperation<LeaseCall, unknown>[] {
  const operations = new Map<string, RecordedOperation<LeaseCall, unknown>>();
  for (const event of events) {
    const begun = operations.get(event.id);
    if (event.kind === 'call') {
      const { client, call, at } = event;
      operations.set(event.id, { client, input: call, calledAt: at });
    } else if (event.kind === 'not-done') {
      operations.delete(event.id);
    } else if (begun !== undefined) {
      const { at, output } = event;
      operations.set(event.id, { ...begun, reply: { at, output } });
    }
  }
  return [...operations.values()];
}

type Operations = readonly RecordedOperation<LeaseCall, unknown>[];

/** The calls of each key, with those on the sessions that use it. */
export function leaseParts(operations: Operations): ReadonlyMap<string, Operations> {
  const sessionsOf = new Map<LeaseKey, Set<SessionId>>();
  for (const { input } of operations) {
    const key = keyOf(input);
    if (key === undefined) continue;
    const sessions = sessionsOf.get(key) ?? new Set();
    sessionsOf.set(key, sessions);
    if (typeof input.request === 'object' && 'session' in input.request) {
      sessions.add(input.request.session);
    }
  }
  return new Map(
    [...sessionsOf].map(([key, sessions]) => [
      key,
      operations.filter(({ input }) =>
        keyOf(input) === undefined
          ? sessions.has((input.request as { readonly id: SessionId }).id)
          : keyOf(input) === key,
      ),
    ]),
  );
}

function keyOf({ verb, request }: LeaseCall): LeaseKey | undefined {
  if (verb === 'leases.inspect') return request;
  return 'key' in request ? request.key : undefined;
}

/** `checkpoint 4 → saved`, or `acquire → refused (held)`. */
export function describeLeaseCall({ input, reply }: Operations[number]): string {
  const verb = input.verb.replace(/^\w+\./, '');
  const detail = (input.request as { readonly seq?: number; readonly exit?: string }) ?? {};
  const asked = [verb, detail.seq ?? detail.exit].filter((part) => part !== undefined).join(' ');
  if (reply === undefined) return `${asked} → reply lost`;
  const { kind, why, state, fence, replayed } = reply.output as Readonly<Record<string, unknown>>;
  const notes = [
    why,
    fence === undefined ? undefined : `fence ${fence}`,
    replayed === true ? 'again' : undefined,
  ];
  const detailText = notes.filter((note) => note !== undefined).join(', ');
  return `${asked} → ${kind ?? state}${detailText === '' ? '' : ` (${detailText})`}`;
}
