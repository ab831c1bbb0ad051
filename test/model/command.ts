// A step after its references are resolved: a verb of the port and its request.

import type { Fence } from '../../src/lease/fence.ts';
import type {
  Acquire,
  BeginIntent,
  EndSession,
  Heartbeat,
  KernelStore,
  OpenSession,
  RaiseEpoch,
  Recover,
  ReleaseLease,
  RequestDrain,
  Revoke,
  SaveCheckpoint,
  SettleIntent,
  Sweep,
  Swept,
  Verify,
  Withdraw,
} from '../../src/lease/port.ts';

export type Command =
  | { readonly verb: 'open'; readonly request: OpenSession }
  | { readonly verb: 'heartbeat'; readonly request: Heartbeat }
  | { readonly verb: 'end'; readonly request: EndSession }
  | { readonly verb: 'acquire'; readonly request: Acquire }
  | { readonly verb: 'withdraw'; readonly request: Withdraw }
  | { readonly verb: 'checkpoint'; readonly request: SaveCheckpoint }
  | { readonly verb: 'beginIntent'; readonly request: BeginIntent }
  | { readonly verb: 'settleIntent'; readonly request: SettleIntent }
  | { readonly verb: 'release'; readonly request: ReleaseLease }
  | { readonly verb: 'requestDrain'; readonly request: RequestDrain }
  | { readonly verb: 'revoke'; readonly request: Revoke }
  | { readonly verb: 'verify'; readonly request: Verify }
  | { readonly verb: 'sweep'; readonly request: Sweep }
  | { readonly verb: 'recover'; readonly request: Recover }
  | { readonly verb: 'raiseEpoch'; readonly request: RaiseEpoch }
  | { readonly verb: 'advance'; readonly ms: number };

/** An answer of a store, or its error, which counts as an answer too: the model never throws. */
export async function perform(store: KernelStore, command: Command): Promise<unknown> {
  try {
    return await send(store, command);
  } catch (error) {
    return { kind: 'threw', error: error instanceof Error ? describe(error) : String(error) };
  }
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? ` ← ${error.cause.message}` : '';
  return `${error.name}: ${error.message}${cause}`;
}

function send(store: KernelStore, command: Command): Promise<unknown> {
  const { sessions, leases } = store;
  switch (command.verb) {
    case 'open':
      return sessions.open(command.request);
    case 'heartbeat':
      return sessions.heartbeat(command.request);
    case 'end':
      return sessions.end(command.request);
    case 'sweep':
      return sweepAll(store, command.request);
    case 'recover':
      return sessions.recover(command.request);
    case 'acquire':
      return leases.acquire(command.request);
    case 'withdraw':
      return leases.withdraw(command.request);
    case 'checkpoint':
      return leases.checkpoint(command.request);
    case 'beginIntent':
      return leases.beginIntent(command.request);
    case 'settleIntent':
      return leases.settleIntent(command.request);
    case 'release':
      return leases.release(command.request);
    case 'requestDrain':
      return leases.requestDrain(command.request);
    case 'revoke':
      return leases.revoke(command.request);
    case 'verify':
      return leases.verify(command.request);
    case 'raiseEpoch':
      return store.raiseEpoch(command.request);
    case 'advance':
      return Promise.resolve(undefined);
  }
}

const BITES_MAX = 200;

/**
 * Sweeps in parts of `limit` until nothing is left. The store chooses the rows of each part; the
 * final state must match.
 */
async function sweepAll(store: KernelStore, { limit }: Sweep): Promise<unknown> {
  const bites: Swept[] = [];
  for (;;) {
    const bite = await store.sessions.sweep({ limit });
    bites.push(bite);
    const isOver = !bite.more && bite.deleted === 0 && bite.expired.length === 0;
    if (isOver || bites.length === BITES_MAX) break;
  }
  const all = <Each>(of: (bite: Swept) => readonly Each[]): readonly Each[] => bites.flatMap(of);
  return {
    expired: [...all((bite) => bite.expired)].sort(),
    ended: [...all((bite) => bite.ended)].sort((a, b) => a.fence - b.fence),
    deleted: bites.reduce((sum, bite) => sum + bite.deleted, 0),
    paused: bites.reduce((sum, bite) => sum + bite.paused, 0),
    isOver: bites.length < BITES_MAX,
  };
}

/** The same command for a store that issued other fences. */
export function withFence(command: Command, rename: (fence: Fence) => Fence): Command {
  if (!('request' in command) || !('fence' in command.request)) return command;
  const request = { ...command.request, fence: rename(command.request.fence) };
  return { ...command, request } as Command;
}
