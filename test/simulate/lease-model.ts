// Compares each reply of the store about leases and sessions with the reply of the lease model, which
// does the same at the same store time.

import { isDeepStrictEqual } from 'node:util';
import type { StoreCall } from '../../contract/simulator/link.ts';
import type { Checker, World } from '../../contract/simulator/world.ts';
import type { Fence } from '../../src/lease/fence.ts';
import type { AcquireResult, Verify } from '../../src/lease/port.ts';
import { toInstant } from '../../src/support/clock.ts';
import { acquire } from '../model/lease/acquire.ts';
import { beginIntent } from '../model/lease/begin-intent.ts';
import { checkpoint } from '../model/lease/checkpoint.ts';
import { endSession } from '../model/lease/end-session.ts';
import { heartbeat } from '../model/lease/heartbeat.ts';
import { inspectLease } from '../model/lease/inspect-lease.ts';
import { inspectSession } from '../model/lease/inspect-session.ts';
import { listCarried } from '../model/lease/list-carried.ts';
import { openSession } from '../model/lease/open-session.ts';
import { raiseEpoch } from '../model/lease/raise-epoch.ts';
import { recover } from '../model/lease/recover.ts';
import { release } from '../model/lease/release.ts';
import { requestDrain } from '../model/lease/request-drain.ts';
import { revoke } from '../model/lease/revoke.ts';
import { settleIntent } from '../model/lease/settle-intent.ts';
import { ModelState } from '../model/lease/state.ts';
import { sweep } from '../model/lease/sweep.ts';
import { verify } from '../model/lease/verify.ts';
import { withdraw } from '../model/lease/withdraw.ts';

/** Messages to executions raise notices too. The network replaces the time that a drain has left. */
const NOT_COMPARED: readonly string[] = ['notices', 'deadlineInMs'];

type ModelVerb = (state: ModelState, request: never) => unknown;

const VERBS: Readonly<Record<string, ModelVerb>> = {
  'sessions.open': openSession,
  'sessions.heartbeat': heartbeat,
  'sessions.end': endSession,
  'sessions.sweep': sweep,
  'sessions.recover': recover,
  'leases.acquire': acquire,
  'leases.withdraw': withdraw,
  'leases.checkpoint': checkpoint,
  'leases.beginIntent': beginIntent,
  'leases.settleIntent': settleIntent,
  'leases.release': release,
  'leases.requestDrain': requestDrain,
  'leases.revoke': revoke,
  'leases.verify': verify,
  'leases.inspect': inspectLease,
  'sessions.inspect': inspectSession,
  'sessions.leases': listCarried,
  raiseEpoch,
};

const READS: ReadonlySet<string> = new Set([
  ...['leases.verify', 'leases.inspect', 'sessions.inspect', 'sessions.leases'],
]);

export function watchLeaseModel(world: Pick<World, 'policy' | 'isSteady' | 'violate'>): Checker {
  // Exactly the store's time. A read moves no mark in the store, so after a step of the store's clock
  // the next write of another process may have an earlier time (C-2).
  let now = toInstant(0);
  const state = new ModelState(() => now, world.policy);
  state.keepsTickets = true;
  /** After a difference, the model no longer knows the state. */
  let isLost = false;
  /** The model does not know when a halt wrote its event, so it cannot count deleted events. */
  let hasHalted = false;
  return {
    name: 'lease model',
    handled(call) {
      if (isLost) return;
      hasHalted = noteHalt(state, call) || hasHalted;
      if (call.at === undefined) return;
      // After a step of the store's clock, processes differ slightly about the time of their reads.
      if (READS.has(call.verb) && !world.isSteady) return;
      now = toInstant(call.at);
      if (call.verb === 'executions.claim') noteFences(state, call);
      const verb = VERBS[call.verb];
      if (verb === undefined) return;
      followFence(state, call);
      const expected = verb(state, call.request as never);
      const leftOut = hasHalted ? [...NOT_COMPARED, 'deleted'] : NOT_COMPARED;
      const [own, stored] = [comparable(expected, leftOut), comparable(call.reply, leftOut)];
      // Usually even the order of the names is the same.
      if (own === stored || isDeepStrictEqual(JSON.parse(own), JSON.parse(stored))) return;
      isLost = true;
      world.violate(
        'model',
        `${call.process.name}: ${call.verb} ${text(call.request)} returned ${text(call.reply)}, and the model ${text(expected)}.`,
      );
    },
    restored() {
      isLost = true;
    },
  };
}

/** Gaps are allowed (T-2); another checker requires that fences rise. */
function followFence(state: ModelState, { reply }: StoreCall): void {
  const { kind, fence, replayed } = (reply ?? {}) as Partial<
    Extract<AcquireResult, { kind: 'granted' }>
  >;
  if (kind === 'granted' && replayed === false && fence !== undefined) state.lastIssued = fence - 1;
}

/** The halt is a transaction of its own, after the reply is known (T-4). Its outcome may be lost. */
function noteHalt(state: ModelState, { request, reply }: StoreCall): boolean {
  const { why, presented } = (reply ?? {}) as { why?: string; presented?: Fence };
  if (why === 'fence-ahead') state.haltFor((request as Verify).fence, state.now());
  if (why === 'halted' && presented !== undefined && presented > (state.halted ?? 0))
    state.halted = presented;
  return why === 'fence-ahead' || why === 'halted';
}

/** Claims take their fences from the same sequence. */
function noteFences(state: ModelState, { reply }: StoreCall): void {
  const { claims = [] } = reply as { readonly claims?: readonly { readonly fence: number }[] };
  for (const { fence } of claims) state.lastIssued = Math.max(state.lastIssued, fence);
}

/** Sweeps may end sessions in any order. */
function comparable(reply: unknown, leftOut: readonly string[]): string {
  return JSON.stringify(reply ?? null, (name, value: unknown) =>
    leftOut.includes(name) ? undefined : Array.isArray(value) ? value.toSorted(byText) : value,
  );
}

function byText(a: unknown, b: unknown): number {
  return text(a) < text(b) ? -1 : 1;
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}
