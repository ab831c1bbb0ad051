// A coordinator, as the engine of a worker sees it: a store that others look after. Of the port it has what
// owners need; the rest belongs to whoever calls the coordinator's API.

import type { SessionId } from '../lease/names.ts';
import type { LeasePolicy } from '../lease/policy.ts';
import type { SessionStore } from '../lease/port.ts';
import type {
  ClaimAnswer,
  Claimed,
  CoordinatorStore,
  ExecutionStore,
  OwnerWrite,
} from '../store/contract/execution-store.ts';
import { systemClock } from '../support/clock.ts';
import { Fault } from '../support/fault.ts';
import type { Timers } from '../support/timer.ts';
import { Doorbell } from './doorbell.ts';
import type { Link } from './link.ts';
import { ToldClaims } from './told-claims.ts';
import { WriteQueue } from './write-queue.ts';

/** What a coordinator says of itself. */
export interface Hello {
  readonly project: string;
  readonly store: string;
  readonly durability: string;
  readonly policy: LeasePolicy;
}

export interface RemoteParts {
  readonly link: Link;
  readonly hello: Hello;
  readonly timers: Timers;
  readonly pipelines: readonly string[];
}

/** With more under way nothing gets faster. */
const UNDER_WAY_MAX = 2_000;

export function remoteStore(parts: RemoteParts): CoordinatorStore {
  const { hello, link, timers } = parts;
  const bell = new Doorbell(link, timers);
  return {
    kind: 'remote',
    policy: hello.policy,
    durability: hello.durability,
    hintsReach: 'all-processes',
    sessions: sessionsOf(parts),
    executions: executionsOf(link, bell),
    leases: onlyWith('leases', {}),
    access: onlyWith('access', {}),
    seals: onlyWith('seals', {}),
    raiseEpoch: () => notHere('raiseEpoch'),
    onHint: () => () => undefined,
    close: async () => bell.close(),
  };
}

/** A heartbeat that is not answered in this part of the ttl leaves time for another, elsewhere. */
const PULSE_PART = 0.3;
const PULSE_MS_MAX = 15_000;

function sessionsOf({ link, pipelines }: RemoteParts): SessionStore {
  let pulseMs: number | undefined;
  const here: Partial<SessionStore> = {
    open: ({ id, owner, ttlMs, graceMs }) => {
      pulseMs = Math.min(PULSE_MS_MAX, ttlMs * PULSE_PART);
      return link.json({
        method: 'POST',
        path: '/v1/work/sessions',
        body: { id, owner, ttlMs, graceMs, pipelines },
      });
    },
    heartbeat: ({ id, ...body }) =>
      link.json({
        method: 'POST',
        path: `/v1/work/sessions/${id}/heartbeat`,
        body,
        isPulse: true,
        ...(pulseMs && { timeoutMs: pulseMs }),
      }),
    end: ({ id, by }) =>
      by.kind === 'owner'
        ? link.json({
            method: 'POST',
            path: `/v1/work/sessions/${id}/end`,
            body: { owner: by.owner, exit: by.exit },
          })
        : notHere('end'),
    // It holds claims only, which are lost when they are written to.
    leases: async () => [],
    // The coordinator sees to these.
    sweep: async () => ({ expired: [], ended: [], deleted: 0, paused: 0, more: false }),
    recover: async () => ({ extended: 0 }),
  };
  return onlyWith('sessions', here);
}

function executionsOf(link: Link, bell: Doorbell): ExecutionStore {
  const queue = new WriteQueue(link);
  const write = <Answer>(verb: string, request: OwnerWrite): Promise<Answer> =>
    queue.add({ verb, ...withText(request) });
  const told = new ToldClaims(
    {
      claim: ({ session, pipelines, shares, dice }) =>
        link.json<ClaimAnswer>({
          method: 'POST',
          path: '/v1/work/claims',
          body: { session, pipelines, shares, ...(dice === undefined ? {} : { dice }) },
        }),
      carried: (session) => carriedBy(link, session),
    },
    systemClock,
  );
  const lettingGo = async <Answer extends { readonly kind: string }>(
    verb: string,
    request: OwnerWrite,
  ): Promise<Answer> => {
    const answer = await write<Answer & { readonly why?: string }>(verb, request);
    if (answer.why !== 'unseen-news') told.letGo(request.fence);
    return answer;
  };
  const page = (kind: string, { id, after, limit }: { id: string; after: number; limit: number }) =>
    link
      .json<{ items: readonly never[] }>({
        method: 'GET',
        path: `/v1/work/executions/${id}/${kind}?after=${after}&limit=${limit}`,
        isRead: true,
      })
      .then(({ items }) => items);
  const here: Partial<ExecutionStore> = {
    isTended: true,
    claim: (request) => told.claim(request),
    room: () => Math.max(0, UNDER_WAY_MAX - queue.length),
    record: (request) => write('record', request),
    finish: (request) => lettingGo('finish', request),
    park: (request) => lettingGo('park', request),
    giveBack: (request) => lettingGo('giveBack', request),
    transact: () => {
      throw new Fault(
        'not-remote',
        'ctx.transaction needs the worker to have the store itself: its writes and yours commit together. Run this pipeline embedded, or use a step with its idempotency key.',
      );
    },
    inbox: (query) => page('inbox', query),
    history: (query) => page('history', query),
    read: (id) => link.found({ method: 'GET', path: `/v1/work/executions/${id}`, isRead: true }),
    interaction: ({ id }) =>
      link.found({
        method: 'GET',
        path: `/v1/work/awaits/${encodeURIComponent(id)}`,
        isRead: true,
      }),
    expireAwaits: ({ execution }) =>
      execution === undefined
        ? Promise.resolve({ settled: 0, started: 0, more: false })
        : link.json({ method: 'POST', path: `/v1/work/executions/${execution}/expire-awaits` }),
    putBlob: async ({ digest, bytes }) => {
      await link.bytes({ method: 'PUT', path: `/v1/work/blobs/${digest}`, bytes });
    },
    getBlob: (digest) =>
      link.bytes({ method: 'GET', path: `/v1/work/blobs/${digest}`, isRead: true }),
    onRing: (listener) => bell.listen(listener),
  };
  return onlyWith('executions', here);
}

function carriedBy(link: Link, session: SessionId): Promise<readonly Claimed[]> {
  return link
    .json<{ readonly items: readonly Claimed[] }>({
      method: 'GET',
      path: `/v1/work/sessions/${session}/claims`,
      isRead: true,
    })
    .then(({ items }) => items);
}

/** Bytes in JSON are base64. */
function withText(request: OwnerWrite): object {
  const { attachments } = request;
  if (attachments === undefined) return request;
  return {
    ...request,
    attachments: attachments.map((each) => ({
      ...each,
      bytes: Buffer.from(each.bytes).toString('base64'),
    })),
  };
}

function notHere(verb: string): never {
  throw new Fault(
    'not-remote',
    `${verb} is nothing that a worker does: call the coordinator's API (holdfast/client) for it.`,
  );
}

/** Every verb that is not here says so when it is called. */
function onlyWith<Port extends object>(port: string, here: Partial<Port>): Port {
  return new Proxy(here, {
    get(_, verb) {
      if (verb in here || typeof verb === 'symbol') return Reflect.get(here, verb);
      return () => notHere(`${port}.${verb}`);
    },
  }) as Port;
}
