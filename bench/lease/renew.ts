import type { KernelStore } from '../../src/lease/port.ts';
import {
  entryOf,
  expected,
  type LeaseCase,
  openBenchSession,
  openPortSession,
  type Prepare,
  type Prepared,
} from './lease-case.ts';

const MANY = 64;

export const RENEW_CASES: readonly LeaseCase[] = [
  {
    name: 'renew, one session',
    commits: 1,
    bytes: 0,
    port: preparedFor(1, portBeat),
    handle: preparedFor(1, handleBeat),
  },
  {
    name: `renew, ${MANY} sessions`,
    commits: 1,
    bytes: 0,
    port: preparedFor(MANY, portBeat),
    handle: preparedFor(MANY, handleBeat),
  },
];

interface BeatingSession {
  beat(): Promise<void>;
  close(): Promise<unknown>;
}

async function portBeat(store: KernelStore): Promise<BeatingSession> {
  const { id, owner, close } = await openPortSession(store);
  return {
    beat: async () => {
      expected(await store.sessions.heartbeat({ id, owner }), 'alive');
    },
    close,
  };
}

async function handleBeat(store: KernelStore): Promise<BeatingSession> {
  const session = await openBenchSession(store);
  return {
    beat: async () => {
      expected(await session.heartbeat(), 'alive');
    },
    close: () => session.close(),
  };
}

/** The sessions take turns, so each heartbeat renews another one. */
function preparedFor(
  sessions: number,
  open: (store: KernelStore) => Promise<BeatingSession>,
): Prepare {
  return async (store): Promise<Prepared> => {
    const beating = await Promise.all(Array.from({ length: sessions }, () => open(store)));
    let turn = 0;
    return {
      operation: () => {
        turn = (turn + 1) % sessions;
        return entryOf(beating, turn).beat();
      },
      close: () => Promise.all(beating.map((each) => each.close())),
    };
  };
}
