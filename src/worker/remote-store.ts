// A coordinator as the store of a remote worker's engine. Callers use the coordinator's API for
// everything else.

import { isClaimOver } from '../engine/store-replies.ts';
import type { ExecutionRefusal } from '../execution/refusal.ts';
import type { SessionId } from '../lease/names.ts';
import type { LeasePolicy } from '../lease/policy.ts';
import { REPLY_TIMEOUT_MS, type Transport } from '../protocol/messages/envelope.ts';
import type { WorkKind } from '../protocol/messages/work-messages.ts';
import type {
  Claim,
  Claimed,
  ClaimResult,
  OwnerWrite,
  WorkerExecutions,
  WorkerStore,
} from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { Fault } from '../support/fault.ts';
import { processAbout } from '../support/process-about.ts';
import type { Timers } from '../support/timer.ts';
import { DeliveredClaims } from './delivered-claims.ts';
import { pulseMsOf, type WorkerLeases, workerLeases } from './remote-leases.ts';
import { WriteQueue } from './write-queue.ts';

/** A coordinator's reply to a greeting. */
export interface Hello {
  readonly project: string;
  readonly store: string;
  readonly durability: string;
  readonly policy: LeasePolicy;
  /** True if the coordinator has a stream. Absent in builds without one. */
  readonly stream?: boolean;
  /** True if claims may wait. Absent in builds where they cannot. */
  readonly claimsWait?: boolean;
  /** True if writes may contain heartbeats of steps. Absent in builds that refuse them. */
  readonly heartbeats?: boolean;
  /** True if the coordinator offers leases as a service. Absent in builds without them. */
  readonly leases?: boolean;
  /** True if workers may hold leases for `ctx.lease`. Absent in builds without that. */
  readonly leaseBlocks?: boolean;
  /** True if workers may signal and cancel children. Absent in builds without that. */
  readonly childMessages?: boolean;
  /** True if writes may change search attributes. Absent in builds that refuse that. */
  readonly attributes?: boolean;
  /** The version of the worker protocol. Absent in builds that know only one. */
  readonly version?: number;
}

interface RemoteParts {
  readonly transport: Transport;
  readonly hello: Hello;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly pipelines: readonly string[];
}

/** More requests in progress would not be faster. */
const UNDER_WAY_MAX = 2_000;

export function remoteStore(parts: RemoteParts): WorkerStore {
  const { hello, transport, timers } = parts;
  const leases = hello.leaseBlocks === true ? workerLeases(transport, timers) : undefined;
  const wakeups = new RemoteWakeups(transport, timers);
  const claimsWait = hello.claimsWait === true && transport.claimsWait === true;
  return {
    kind: 'remote',
    policy: hello.policy,
    durability: hello.durability,
    hintsReach: 'all-processes',
    doubles: transport.doubles === true,
    claimsWait,
    sessions: sessionsOf(parts, leases),
    executions: executionsOf(parts, claimsWait ? undefined : wakeups),
    ...(leases && { leases: leases.leases }),
    onHint: leases?.onHint ?? (() => () => undefined),
    async close() {
      wakeups.close();
      leases?.close();
      await transport.close();
    },
  };
}

/**
 * Without leases, a remote worker holds only claims, and a refused write shows that one is lost. The
 * coordinator sweeps.
 */
export const NOT_ITS_OWN: Pick<WorkerStore['sessions'], 'leases' | 'sweep'> = {
  leases: async () => [],
  sweep: async () => ({ expired: [], ended: [], deleted: 0, paused: 0, more: false }),
};

function sessionsOf(
  { transport, hello, pipelines }: RemoteParts,
  leases: WorkerLeases | undefined,
): WorkerStore['sessions'] {
  let pulseMs: number | undefined;
  // Builds without leases refuse metadata.
  const about = hello.leases === true ? { metadata: processAbout() } : {};
  return {
    open: ({ id, owner, ttlMs, graceMs }) => {
      pulseMs = pulseMsOf(ttlMs);
      return transport.request({
        kind: 'openSession',
        body: { id, owner, ttlMs, graceMs, pipelines, ...about },
      });
    },
    heartbeat: (body) =>
      transport.request({ kind: 'heartbeat', body, ...(pulseMs && { timeoutMs: pulseMs }) }),
    end({ id, by }) {
      if (by.kind !== 'owner')
        throw new Fault(
          'not-remote',
          'A remote worker can end only its own session. Nothing was ended.',
        );
      return transport.request({
        kind: 'endSession',
        body: { id, owner: by.owner, exit: by.exit },
      });
    },
    ...NOT_ITS_OWN,
    ...(leases && { leases: (id) => leases.carried(id) }),
  };
}

function executionsOf(
  { transport, clock, hello }: RemoteParts,
  wakeups: RemoteWakeups | undefined,
): WorkerExecutions {
  const queue = new WriteQueue(transport);
  const write = <Result>(verb: string, request: OwnerWrite): Promise<Result> => {
    return queue.add({ verb, ...withText(acceptedBy(hello, request)) });
  };
  const delivered = deliveredClaimsOver(transport, clock);
  const endClaim = async <Result extends { readonly kind: string }>(
    verb: string,
    request: OwnerWrite,
  ): Promise<Result> => {
    const result = await write<Result | ({ readonly kind: 'refused' } & ExecutionRefusal)>(
      verb,
      request,
    );
    // After other refusals the worker still has the execution, and leaves it with another write.
    if (!('why' in result) || isClaimOver(result)) delivered.remove(request.fence);
    return result as Result;
  };
  const page = <Item extends Row>(kind: WorkKind, body: PageBody): Promise<readonly Item[]> =>
    fullPage<Item>(transport, kind, body);
  return {
    claim: (request) => delivered.claim(request),
    // The key determines the project.
    announce: ({ project: _, ...body }) => transport.request({ kind: 'announceWorker', body }),
    room: () => Math.max(0, UNDER_WAY_MAX - queue.length),
    record: (request) => write('record', request),
    finish: (request) => endClaim('finish', request),
    park: (request) => endClaim('park', request),
    giveBack: (request) => endClaim('giveBack', request),
    messageChild: ({ project: _, ...body }) => {
      if (hello.childMessages === true) return transport.request({ kind: 'messageChild', body });
      throw new Fault(
        'not-remote',
        'This coordinator is older and cannot send messages to children. Nothing was sent. Update it.',
      );
    },
    transact: () => {
      throw new Fault(
        'not-remote',
        'A remote worker cannot run ctx.transaction, which commits your writes together with the step. Nothing was written. Run this pipeline embedded (openHoldfast), or use a step with its idempotency key.',
      );
    },
    inbox: ({ id, after, limit }) => page('readInbox', { id, after, limit }),
    history: ({ id, after, limit }) => page('readStoredHistory', { id, after, limit }),
    read: (id) => found(transport.request({ kind: 'readStoredExecution', body: { id } })),
    interaction: ({ id }) => found(transport.request({ kind: 'readStoredAwait', body: { id } })),
    expireAwaits: ({ execution }) =>
      execution === undefined
        ? Promise.resolve({ settled: 0, started: 0, more: false })
        : transport.request({ kind: 'expireAwaits', body: { id: execution } }),
    putBlob: ({ digest, bytes }) => transport.request({ kind: 'putBlob', body: { digest }, bytes }),
    getBlob: ({ digest }) => found(transport.request({ kind: 'getBlob', body: { digest } })),
    // The coordinator does this when it sends values.
    attributeBlobs: async () => undefined,
    onWakeup: (listener) => wakeups?.listen(listener) ?? (() => undefined),
  };
}

function deliveredClaimsOver(transport: Transport, clock: Clock): DeliveredClaims {
  return new DeliveredClaims(
    { claim: (request) => claimBy(transport, request), carried: (id) => carriedBy(transport, id) },
    clock,
    transport,
  );
}

interface ClaimsPage {
  readonly items: readonly Claimed[];
  readonly more?: boolean;
}

async function carriedBy(transport: Transport, id: SessionId): Promise<readonly Claimed[]> {
  const all: Claimed[] = [];
  for (;;) {
    const after = all.at(-1)?.fence;
    const body = { id, ...(after === undefined ? {} : { after }) };
    const { items, more } = await transport.request<ClaimsPage>({ kind: 'listClaims', body });
    all.push(...items);
    if (more !== true || items.length === 0) return all;
  }
}

function claimBy(transport: Transport, request: Claim): Promise<ClaimResult> {
  const { session, pipelines, release, shares, dice, waitMs } = request;
  const body = {
    ...{ session, pipelines, shares },
    ...(release === undefined ? {} : { release }),
    ...(dice === undefined ? {} : { dice }),
    ...(waitMs === undefined ? {} : { waitMs }),
  };
  const timeoutMs = REPLY_TIMEOUT_MS + (waitMs ?? 0);
  return transport.request({ kind: 'claimExecutions', body, timeoutMs });
}

const ABSENT: ReadonlySet<string> = new Set(['not-found', 'execution-unknown']);

/** Undefined if it does not exist. */
async function found<Result>(reply: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reply;
  } catch (fault) {
    if (fault instanceof Fault && ABSENT.has(fault.code)) return undefined;
    throw fault;
  }
}

/** Without what a coordinator of an older build refuses. */
function acceptedBy(hello: Hello, request: OwnerWrite): OwnerWrite {
  const accepted = hello.heartbeats === true ? request : withoutHeartbeats(request);
  if (hello.attributes === true || accepted.attributes === undefined) return accepted;
  // They only help to find the execution, and the next change has all of them again.
  const { attributes: _, ...rest } = accepted;
  return rest;
}

/** For a coordinator that refuses heartbeats of steps: they only save work. */
export function withoutHeartbeats(request: OwnerWrite): OwnerWrite {
  const { heartbeats: _, ...rest } = request;
  return rest;
}

/** Bytes in JSON are base64. */
export function withText(request: OwnerWrite): object {
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

interface PageBody {
  readonly id: string;
  readonly after: number;
  readonly limit: number;
}

type Row = { readonly seq: number } | { readonly n: number };

/**
 * Continues a page that ended early because of its size, so that a short page is always the last.
 */
async function fullPage<Item extends Row>(
  transport: Transport,
  kind: WorkKind,
  { id, after, limit }: PageBody,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (let at = after; ; ) {
    const body = { id, after: at, limit: limit - all.length };
    const { items, more } = await transport.request<{
      readonly items: readonly Item[];
      readonly more?: boolean;
    }>({ kind, body });
    all.push(...items);
    const last = items.at(-1);
    if (more !== true || last === undefined || all.length >= limit) return all;
    at = 'seq' in last ? last.seq : last.n;
  }
}

// Forwards the coordinator's wakeups. If the transport sends none by itself, one request stays open
// for them. Wakeups may be lost, so workers poll too.

const HELD_MS = 25_000;
const TROUBLE_PAUSE_MS = 1_000;

class RemoteWakeups {
  readonly #transport: Transport;
  readonly #timers: Timers;
  readonly #listeners: Set<() => void> = new Set();
  readonly #stop: AbortController = new AbortController();
  #isWaiting = false;

  constructor(transport: Transport, timers: Timers) {
    this.#transport = transport;
    this.#timers = timers;
  }

  listen(listener: () => void): () => void {
    if (this.#transport.onWakeup !== undefined) return this.#transport.onWakeup(listener);
    this.#listeners.add(listener);
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      this.#poll().catch(() => undefined);
    }
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#stop.abort();
    this.#listeners.clear();
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const { notified } = await this.#transport.request<{ readonly notified: boolean }>({
          kind: 'waitForWakeup',
          body: { waitMs: HELD_MS },
          signal,
          timeoutMs: HELD_MS + 10_000,
        });
        if (notified) for (const listener of [...this.#listeners]) listener();
      } catch {
        if (!signal.aborted) await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#timers.after(TROUBLE_PAUSE_MS, resolve);
      this.#stop.signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }
}
