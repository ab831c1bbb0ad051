// From a step to a command: references become the session, fence, attempt or moment they stand for.

import { COUNTERS_PER_EPOCH, epochOf, type Fence, toFence } from '../../src/lease/fence.ts';
import { type LeaseKey, parseEffectId, type SessionId } from '../../src/lease/names.ts';
import type { SaveCheckpoint, Tenure } from '../../src/lease/port.ts';
import { digestOf } from '../../src/support/digest.ts';
import type { Command } from './command.ts';
import type { FenceChoice, Seat, Step, TenancyStep } from './step.ts';
import type { World } from './world.ts';

type StepOf<Verb extends Step['verb']> = Extract<Step, { readonly verb: Verb }>;

export function resolve(world: World, step: Step): Command {
  switch (step.verb) {
    case 'open':
      return openCommand(world, step);
    case 'live':
      return liveCommand(world, step.seat);
    case 'heartbeat':
    case 'end':
      return sessionCommand(world, step);
    case 'acquire':
      return acquireCommand(world, step);
    case 'withdraw': {
      const key = world.key(step.key);
      const attempt = world.attempt(step.seat, key, 'own');
      return { verb: 'withdraw', request: { key, attempt } };
    }
    case 'checkpoint':
      return { verb: 'checkpoint', request: saving(world, step) };
    case 'beginIntent':
    case 'settleIntent':
    case 'release':
      return holderCommand(world, step);
    case 'requestDrain':
    case 'revoke':
    case 'verify':
      return operatorCommand(world, step);
    case 'sweep':
      return { verb: 'sweep', request: { limit: step.limit } };
    case 'recover':
      return { verb: 'recover', request: { cause: 'the model says so' } };
    case 'raiseEpoch':
      return { verb: 'raiseEpoch', request: { actor: 'olga', reason: 'restored' } };
    case 'advance':
      return { verb: 'advance', ms: untilMoment(world, step) };
    case 'outlive':
      return { verb: 'advance', ms: untilExpiry(world, step) };
    case 'pass':
      return { verb: 'advance', ms: step.ms };
  }
}

function openCommand(world: World, step: StepOf<'open'>): Command {
  const renews = step.fresh === 'always' || (step.fresh === 'if-dead' && !world.lives(step.seat));
  if (renews) world.renew(step.seat);
  const { ttlMs, graceMs, parent } = step;
  return {
    verb: 'open',
    request: {
      id: world.session(step.seat),
      owner: world.owner(step.seat),
      ttlMs,
      graceMs,
      metadata: { seat: `${step.seat}` },
      ...(parent === undefined ? {} : { parent: world.session(parent) }),
    },
  };
}

function liveCommand(world: World, seat: Seat): Command {
  if (world.lives(seat)) return sessionCommand(world, { verb: 'heartbeat', seat, asOwnerOf: seat });
  return openCommand(world, { verb: 'open', seat, fresh: 'always', ttlMs: 5_000, graceMs: 500 });
}

function sessionCommand(world: World, step: StepOf<'heartbeat'> | StepOf<'end'>): Command {
  const id = world.session(step.seat);
  if (step.verb === 'heartbeat') {
    const ttl = step.ttlMs === undefined ? {} : { ttlMs: step.ttlMs };
    return { verb: 'heartbeat', request: { id, owner: world.owner(step.asOwnerOf), ...ttl } };
  }
  if (step.by === 'operator') {
    const by = { kind: 'operator', actor: 'olga', reason: 'it hangs' } as const;
    return { verb: 'end', request: { id, by } };
  }
  const by = { kind: 'owner', owner: world.owner(step.by.asOwnerOf), exit: step.by.exit } as const;
  return { verb: 'end', request: { id, by } };
}

function acquireCommand(world: World, step: StepOf<'acquire'>): Command {
  const { verb, seat, key: index, attempt: choice, wait = false, ...options } = step;
  const key = world.key(index);
  const session = world.session(seat);
  const attempt = world.attempt(seat, key, choice);
  const waiting = world.waits(attempt, wait) ? { wait: true } : {};
  return { verb, request: { key, session, attempt, ...waiting, ...options } };
}

function holderCommand(
  world: World,
  step: StepOf<'beginIntent'> | StepOf<'settleIntent'> | StepOf<'release'>,
): Command {
  const tenure = tenureOf(world, step);
  if (step.verb === 'release') {
    const { exit, cause } = step;
    const because = cause === undefined ? {} : { cause };
    return { verb: 'release', request: { ...tenure, exit, ...because } };
  }
  const effect = parseEffectId(`effect ${step.effect}`);
  if (step.verb === 'settleIntent') return { verb: 'settleIntent', request: { ...tenure, effect } };
  const note = step.note === undefined ? {} : { note: step.note };
  return { verb: 'beginIntent', request: { ...tenure, effect, ...note } };
}

function operatorCommand(
  world: World,
  step: StepOf<'requestDrain'> | StepOf<'revoke'> | StepOf<'verify'>,
): Command {
  const key = world.usedKey(step.key);
  const fence = fenceOf(world, key, step.fence);
  if (step.verb === 'verify') return { verb: 'verify', request: { key, fence } };
  const request = world.request(key, step.request);
  if (step.verb === 'revoke') {
    return { verb: 'revoke', request: { key, fence, request, actor: 'olga', reason: 'stuck' } };
  }
  const { deadlineMs, successor } = step;
  const by = { actor: 'olga', reason: 'rebalance', deadlineMs };
  return {
    verb: 'requestDrain',
    request: {
      ...{ key, fence, request, ...by },
      ...(successor === undefined ? {} : { successor: world.owner(successor) }),
    },
  };
}

function tenureOf(world: World, step: TenancyStep): Tenure {
  const key = world.key(step.key);
  return {
    key,
    fence: fenceOf(world, key, step.fence),
    session: shownSession(world, key, step.as),
  };
}

function shownSession(world: World, key: LeaseKey, as: 'holder' | Seat): SessionId {
  if (as !== 'holder') return world.session(as);
  return world.terms(key).at(-1)?.session ?? world.session(0);
}

/** Made-up fences are the same number in every store, so they are far from all issued ones. */
function fenceOf(world: World, key: LeaseKey, choice: FenceChoice): Fence {
  const terms = world.terms(key);
  const last = world.fences.at(-1) ?? COUNTERS_PER_EPOCH;
  switch (choice) {
    case 'newest':
      return terms.at(-1)?.fence ?? ANCIENT;
    case 'older':
      return terms.at(-2)?.fence ?? ANCIENT;
    case 'of-another-key': {
      const own = new Set<number>(terms.map((term) => term.fence));
      return world.fences.findLast((fence) => !own.has(fence)) ?? ANCIENT;
    }
    case 'ancient':
      return ANCIENT;
    case 'ahead':
      return toFence(epochOf(last) * COUNTERS_PER_EPOCH + COUNTERS_PER_EPOCH / 2);
    case 'far-ahead':
      return toFence((epochOf(last) + 3) * COUNTERS_PER_EPOCH + 7);
  }
}

/** Below every issued fence. */
const ANCIENT = toFence(COUNTERS_PER_EPOCH);

function saving(world: World, step: StepOf<'checkpoint'>): SaveCheckpoint {
  const tenure = tenureOf(world, step);
  const stored = world.inspection(tenure.key)?.record?.checkpoint?.seq ?? 0;
  const bytes = new TextEncoder().encode(step.text);
  const seqs = { next: stored + 1, skip: stored + 5, same: stored, lower: stored - 1 };
  const type = step.type === undefined ? {} : { type: step.type };
  return {
    ...tenure,
    ...{ seq: Math.max(1, seqs[step.seq]), bytes, digest: digestOf(bytes) },
    ...type,
  };
}

function untilMoment(world: World, step: StepOf<'advance'>): number {
  const moments = world.moments();
  const moment = moments[step.moment % Math.max(1, moments.length)];
  return moment === undefined ? 1 : Math.max(0, moment + step.offsetMs - world.now);
}

function untilExpiry(world: World, { seat, offsetMs }: StepOf<'outlive'>): number {
  const id = world.session(seat);
  const found = world.observed.sessions.find(({ session }) => session.id === id);
  return found === undefined ? 1 : Math.max(0, found.session.expiresAt + offsetMs - world.now);
}
