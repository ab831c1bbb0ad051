// A worker as a case plays it: a session, and messages that the case sends by hand.

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../src/execution/names.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import type { Transport } from '../../src/protocol/messages/envelope.ts';
import type { WritesReply } from '../../src/protocol/messages/work.ts';
import type { WorkKind } from '../../src/protocol/messages/work-messages.ts';
import type { Claimed, ClaimResult, OwnerWrite } from '../../src/store/contract/execution-store.ts';
import { systemRandom } from '../../src/support/random.ts';
import {
  finishing,
  type Held,
  heldOf,
  mustSubmit,
  PIPELINE,
  parking,
  writing,
} from '../execution/worker.ts';
import { expectKind } from '../lease/expect.ts';
import type { CallerKind, TransportHarness } from './contract-case.ts';
import type { FakeEndpoint } from './fake-endpoint.ts';

export const TTL_MS = 60_000;

export type WriteResult = WritesReply['results'][number] & { readonly why?: string };

export class Peer {
  readonly transport: Transport;
  id: SessionId = systemRandom.uuid() as SessionId;
  owner: Owner;

  constructor(transport: Transport, owner: string) {
    this.transport = transport;
    this.owner = owner as Owner;
  }

  get opening(): object {
    return { id: this.id, owner: this.owner, ttlMs: TTL_MS, graceMs: 1_000 };
  }

  request<WorkReply = { readonly kind: string }>(
    kind: WorkKind,
    body: object = {},
  ): Promise<WorkReply> {
    return this.transport.request<WorkReply>({ kind, body });
  }

  claiming(limit: number = 10): object {
    const shares = [{ lane: 'interactive', limit }];
    return { session: this.id, pipelines: [PIPELINE], shares };
  }

  get announcing(): object {
    const about = { session: this.id, pipelines: [PIPELINE] };
    return { ...about, state: 'ready', everyMs: 5_000, room: 1 };
  }

  async claim(limit: number = 10): Promise<readonly Claimed[]> {
    const result = await this.request<ClaimResult>('claimExecutions', this.claiming(limit));
    return expectKind(result, 'claimed').claims;
  }

  /** Claims the one claimable execution. */
  async mustClaim(): Promise<Held> {
    const [claimed, ...others] = await this.claim();
    assert.ok(claimed !== undefined && others.length === 0, 'one claim');
    return this.held(claimed);
  }

  held(claimed: Claimed): Held {
    return heldOf(claimed, this);
  }

  async carried(): Promise<readonly Claimed[]> {
    const body = { id: this.id };
    return (await this.request<{ readonly items: readonly Claimed[] }>('listClaims', body)).items;
  }

  async write(verb: string, request: OwnerWrite): Promise<WriteResult> {
    const { results } = await this.request<WritesReply>('writeAsOwner', {
      writes: [{ verb, ...request }],
    });
    const [result] = results;
    assert.ok(result !== undefined && results.length === 1, 'one answer for one write');
    return result;
  }

  record(held: Held): Promise<WriteResult> {
    return this.write('record', writing(held));
  }

  finish(held: Held): Promise<WriteResult> {
    return this.write('finish', finishing(held));
  }

  park(held: Held): Promise<WriteResult> {
    return this.write('park', parking(held));
  }

  giveBack(held: Held): Promise<WriteResult> {
    return this.write('giveBack', writing(held, { kind: 'given-back' }));
  }

  heartbeat(): Promise<{ readonly kind: string; readonly notices?: number }> {
    return this.request('heartbeat', { id: this.id, owner: this.owner });
  }

  end(): Promise<{ readonly kind: string; readonly why?: string }> {
    return this.request('endSession', { id: this.id, owner: this.owner, exit: 'failed' });
  }
}

/** A push worker: its claim is a call, and its session is then that of the call. */
class CalledPeer extends Peer {
  readonly #endpoint: FakeEndpoint;
  readonly #sessions: Map<number, SessionId> = new Map();

  constructor(transport: Transport, owner: string, endpoint: FakeEndpoint) {
    super(transport, owner);
    this.#endpoint = endpoint;
  }

  override async claim(count: number = 1): Promise<readonly Claimed[]> {
    const claims: Claimed[] = [];
    while (claims.length < count) {
      const { claimed, session, owner: of } = (await this.#endpoint.next()).drive;
      this.id = session as SessionId;
      this.owner = (of ?? this.owner) as Owner;
      this.#sessions.set(claimed.fence, this.id);
      claims.push(claimed as Claimed);
    }
    return claims;
  }

  override held(claimed: Claimed): Held {
    return heldOf(claimed, { id: this.#sessions.get(claimed.fence) ?? this.id });
  }
}

export async function peer(
  harness: TransportHarness,
  owner: string = 'ann',
  as: CallerKind = 'worker',
): Promise<Peer> {
  const transport = await harness.transport(as);
  const { endpoint } = harness;
  const made =
    endpoint === undefined
      ? new Peer(transport, owner)
      : new CalledPeer(transport, owner, endpoint);
  assertKind(await made.request('openSession', made.opening), 'opened');
  return made;
}

/** A peer that owns the only execution. */
export async function owner(
  harness: TransportHarness,
): Promise<{ readonly ann: Peer; readonly held: Held; readonly id: ExecutionId }> {
  const ann = await peer(harness);
  const id = await mustSubmit(harness.store);
  return { ann, held: await ann.mustClaim(), id };
}

/** Ann's session has ended and Bob has her execution, with a newer fence. */
export async function takenOver(
  harness: TransportHarness,
): Promise<{ readonly ann: Peer; readonly bob: Peer; readonly hers: Held; readonly his: Held }> {
  const { ann, held: hers } = await owner(harness);
  const by = { kind: 'operator', actor: 'olga', reason: 'she is frozen' } as const;
  await harness.store.sessions.end({ id: ann.id, by });
  const bob = await peer(harness, 'bob');
  const his = await bob.mustClaim();
  assert.ok(his.fence > hers.fence, 'the fence of a takeover is newer');
  return { ann, bob, hers, his };
}

export function assertKind(
  result: { readonly kind: string; readonly why?: string },
  kind: string,
): void {
  assert.equal(result.kind, kind, `${kind}, not ${JSON.stringify(result)}`);
}

export function assertWhy(
  result: { readonly kind: string; readonly why?: string },
  ...whys: readonly string[]
): void {
  assert.equal(result.kind, 'refused', `refused, not ${JSON.stringify(result)}`);
  assert.ok(whys.includes(result.why ?? ''), `${whys.join(' or ')}, not ${result.why}`);
}
