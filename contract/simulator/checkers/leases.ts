// The rules of leases that can be checked from the store's replies alone.

import type {
  Acquire,
  AcquireResult,
  BeginIntent,
  CheckpointResult,
  EndSession,
  FenceVerified,
  HeartbeatResult,
  IntentBegun,
  OpenSession,
  Released,
  ReleaseLease,
  Revoke,
  Revoked,
  SaveCheckpoint,
  SessionEnded,
  SettleIntent,
  Swept,
  Verify,
} from '../../../src/lease/port.ts';
import type { Ledger } from '../ledger.ts';
import type { StoreCall } from '../link.ts';
import type { Checker, World } from '../world.ts';

interface KeyState {
  fence: number;
  session: string;
  /** The exit of the term, once the store has confirmed one. */
  exit: string | undefined;
  checkpoint: { readonly seq: number; readonly text: string } | undefined;
  readonly intents: Set<string>;
}

export function leaseRules(world: World, ledger: Ledger): Checker {
  return new LeaseRules(world, ledger);
}

type Judge = (call: { readonly request: never; readonly reply: never }) => void;

class LeaseRules implements Checker {
  readonly name = 'leases';
  readonly #world: World;
  readonly #ledger: Ledger;
  #keys: Map<string, KeyState> = new Map();
  #endedSessions: Map<string, string> = new Map();
  #newestFence = 0;
  readonly #parents: Map<string, string> = new Map();
  #backup: { keys: Map<string, KeyState>; ended: Map<string, string> } | undefined;

  readonly #judges: Readonly<Record<string, Judge>> = {
    'leases.acquire': ({ request, reply }) => this.#acquired(request, reply),
    'leases.checkpoint': ({ request, reply }) => this.#saved(request, reply),
    'leases.beginIntent': ({ request, reply }) => this.#begun(request, reply),
    'leases.settleIntent': ({ request }) => this.#settled(request),
    'leases.release': ({ request, reply }) => this.#released(request, reply),
    'leases.revoke': ({ request, reply }) => this.#revoked(request, reply),
    'leases.verify': ({ request, reply }) => this.#verified(request, reply),
    'sessions.open': ({ request }) => this.#opened(request),
    'sessions.heartbeat': ({ request, reply }) => this.#beat(request, reply),
    'sessions.end': ({ request, reply }) => this.#sessionEnded(request, reply),
    'sessions.sweep': ({ reply }) => this.#swept(reply),
    'executions.claim': ({ reply }) => this.#claimed(reply),
  };

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  handled({ verb, request, reply }: StoreCall): void {
    const judge = this.#judges[verb];
    judge?.({ request, reply } as { request: never; reply: never });
  }

  backedUp(): void {
    this.#backup = {
      keys: structuredClone(this.#keys),
      ended: structuredClone(this.#endedSessions),
    };
  }

  restored(): void {
    this.#keys = structuredClone(this.#backup?.keys) ?? new Map();
    this.#endedSessions = structuredClone(this.#backup?.ended) ?? new Map();
  }

  #acquired({ key, session, fromCheckpointBefore }: Acquire, result: AcquireResult): void {
    if (result.kind !== 'granted') return;
    const { fence, checkpoint, intents, replayed, predecessor } = result;
    const known = this.#keys.get(key);
    if (replayed) return;
    // Retention deletes a retired key with everything that it had (L-6).
    const isForgotten = known?.exit === 'retired' && predecessor.exit === 'none';
    const before = isForgotten ? undefined : known;
    this.#minted(fence, `the grant of ${key}`);
    if (before !== undefined) {
      const declared = before.exit ?? this.#exitOf(before.session);
      if (predecessor.exit === 'finished' && declared !== 'finished') {
        this.#world.violate(
          'A-2',
          `${key}: the predecessor ended as finished, which no holder declared.`,
        );
      }
      const restored =
        checkpoint === undefined ? undefined : new TextDecoder().decode(checkpoint.bytes);
      const isBack = fromCheckpointBefore === true;
      if (!isBack && before.checkpoint !== undefined && restored !== before.checkpoint.text) {
        this.#world.violate(
          'K-1',
          `${key}: fence ${fence} got checkpoint ${restored}, but the store had confirmed ${before.checkpoint.text}.`,
        );
      }
      const open = new Set<string>(intents.map(({ effect }) => effect));
      for (const effect of before.intents) {
        if (!open.has(effect))
          this.#world.violate('K-6', `${key}: the open effect ${effect} is lost.`);
      }
    }
    this.#keys.set(key, {
      ...{ fence, session, exit: undefined },
      checkpoint: checkpoint && {
        seq: checkpoint.seq,
        text: new TextDecoder().decode(checkpoint.bytes),
      },
      intents: new Set(before?.intents),
    });
  }

  #claimed(reply: {
    readonly kind: string;
    readonly claims?: readonly { readonly fence: number }[];
  }): void {
    for (const { fence } of reply.claims ?? []) {
      // A claim whose first reply was lost is returned again.
      if (fence > this.#newestFence) this.#minted(fence, 'a claim');
    }
  }

  #minted(fence: number, by: string): void {
    if (fence <= this.#newestFence) {
      this.#world.violate(
        'T-2',
        `${by} got fence ${fence}, although fence ${this.#newestFence} was issued before.`,
      );
    }
    this.#newestFence = Math.max(fence, this.#newestFence);
  }

  /** The term that a write names, if the store was right to accept it. */
  #term(
    rule: string,
    { key, fence, session }: ReleaseLease | SaveCheckpoint | BeginIntent,
  ): KeyState | undefined {
    const state = this.#keys.get(key);
    if (state === undefined) return undefined;
    if (fence !== state.fence) {
      this.#world.violate(
        'P1',
        `${key}: the store accepted a write with fence ${fence} after it had granted ${state.fence} (${rule}).`,
      );
    } else if (session !== state.session) {
      this.#world.violate(
        'T-6',
        `${key}: the store accepted a write of session ${session}, which does not hold the lease (${rule}).`,
      );
    }
    return state;
  }

  #saved(request: SaveCheckpoint, result: CheckpointResult): void {
    if (result.kind !== 'saved' || result.replayed) return;
    const { key, seq, bytes } = request;
    const state = this.#term('K-1', request);
    if (state === undefined) return;
    this.#mustBeOpen(state, request, 'K-1');
    if (state.checkpoint !== undefined && seq <= state.checkpoint.seq) {
      this.#world.violate(
        'K-2',
        `${key}: checkpoint ${seq} was accepted after ${state.checkpoint.seq}.`,
      );
    }
    state.checkpoint = { seq, text: new TextDecoder().decode(bytes) };
  }

  #begun(request: BeginIntent, result: IntentBegun): void {
    if (result.kind !== 'begun' || result.replayed) return;
    const state = this.#term('K-6', request);
    if (state === undefined) return;
    this.#mustBeOpen(state, request, 'K-6');
    state.intents.add(request.effect);
  }

  #settled({ key, effect }: SettleIntent): void {
    this.#keys.get(key)?.intents.delete(effect);
  }

  #released(request: ReleaseLease, result: Released): void {
    if (result.kind !== 'released' || result.replayed) return;
    const state = this.#term('L-2', request);
    if (state !== undefined) state.exit = request.exit;
  }

  #revoked({ key, fence }: Revoke, { kind }: Revoked): void {
    this.#ledger.forced(fence);
    if (kind !== 'revoked') return;
    this.#ledger.revoked(fence);
    const state = this.#keys.get(key);
    if (state?.fence === fence) state.exit ??= 'revoked';
  }

  /** Only the fence of a term that has not ended is current. */
  #verified({ key, fence }: Verify, { kind }: FenceVerified): void {
    const state = this.#keys.get(key);
    if (state === undefined || kind !== 'current') return;
    const end = state.exit ?? this.#exitOf(state.session);
    if (fence === state.fence && end === undefined) return;
    this.#world.violate(
      'T-7',
      `${key}: fence ${fence} was called current, and fence ${state.fence} is the newest (${end ?? 'open'}).`,
    );
  }

  #mustBeOpen(state: KeyState, { key }: { readonly key: string }, rule: string): void {
    const end = state.exit ?? this.#exitOf(state.session);
    if (end !== undefined) {
      this.#world.violate(
        rule,
        `${key}: the store accepted a write after the term had ended (${end}).`,
      );
    }
  }

  #opened({ id, parent }: OpenSession): void {
    if (parent !== undefined) this.#parents.set(id, parent);
  }

  #beat({ id }: { readonly id: string }, result: HeartbeatResult): void {
    if (result.kind === 'alive' && this.#endedSessions.has(id)) {
      this.#world.violate('S-4', `Session ${id} had ended, and its heartbeat was accepted.`);
    }
  }

  #sessionEnded({ id, by }: EndSession, result: SessionEnded): void {
    if (result.kind !== 'ended') return;
    if (!result.replayed && this.#endedSessions.has(id)) {
      this.#world.violate('E-3', `Session ${id} ended twice.`);
    }
    this.#noteEnd(id, by.kind === 'owner' ? by.exit : 'revoked');
    this.#forceAll(id);
  }

  /** An operator does not wait for the holder. A holder that closes its session gives its keys up. */
  #forceAll(session: string): void {
    for (const state of this.#keys.values()) {
      if (this.#isUnder(state.session, session)) this.#ledger.forced(state.fence);
    }
    const claims = 'select fence from execution where session_id = :session';
    for (const { fence } of this.#world.disk.rows<{ fence: number }>(claims, { session })) {
      this.#ledger.forced(fence);
    }
  }

  #exitOf(session: string | undefined): string | undefined {
    if (session === undefined) return undefined;
    return this.#endedSessions.get(session) ?? this.#exitOf(this.#parents.get(session));
  }

  /** A session ends with its parent (H-1). */
  #isUnder(id: string | undefined, ancestor: string): boolean {
    if (id === undefined) return false;
    return id === ancestor || this.#isUnder(this.#parents.get(id), ancestor);
  }

  #swept({ expired }: Swept): void {
    for (const id of expired) {
      if (this.#endedSessions.has(id)) this.#world.violate('E-3', `Session ${id} ended twice.`);
      this.#noteEnd(id, 'expired');
    }
  }

  /** The terms of a session whose ancestor ended before have ended with the ancestor (H-1). */
  #noteEnd(id: string, exit: string): void {
    this.#endedSessions.set(id, this.#exitOf(id) ?? exit);
  }
}
