// The knowledge of the owners in a program: their sessions, fences and requests. It uses the fences
// of the store under test; a renaming translates them for the model.

import {
  attemptOf,
  keyOf,
  ownerOf,
  requestOf,
  sessionIdOf,
} from '../../contract/lease/opened-session.ts';
import type { Fence } from '../../src/lease/fence.ts';
import type { AttemptId, LeaseKey, Owner, RequestId, SessionId } from '../../src/lease/names.ts';
import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { Acquire, LeaseInspection } from '../../src/lease/port.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { Command } from './command.ts';
import { NOTHING, type Observed } from './observe.ts';
import { KEYS, type KeyIndex, type Seat } from './step.ts';

/** Two of the seats are one owner: a name is not an identity. */
const OWNERS = ['ann', 'bob', 'cid', 'ann'] as const;

export interface Term {
  readonly fence: Fence;
  readonly session: SessionId;
}

export class World {
  readonly keys: readonly LeaseKey[];
  readonly policy: LeasePolicy;
  now: Instant;
  observed: Observed = NOTHING;
  /** Every granted fence, in order. */
  readonly fences: Fence[] = [];
  readonly #terms: Map<LeaseKey, Term[]> = new Map();
  readonly #generations: Map<Seat, number> = new Map();
  readonly #attempts: Map<string, AttemptId> = new Map();
  readonly #waiting: Map<AttemptId, boolean> = new Map();
  readonly #requests: Map<LeaseKey, RequestId> = new Map();
  /** Moments that only answers contain, and no record. */
  #freeAt: readonly number[] = [];
  #count = 0;

  constructor(policy: LeasePolicy, now: Instant) {
    this.policy = policy;
    this.now = now;
    this.keys = Array.from({ length: KEYS }, (_, index) => keyOf(`key ${index}`));
  }

  key(index: KeyIndex): LeaseKey {
    return this.keys[index % this.keys.length] ?? keyOf('key 0');
  }

  /** For steps that need a term: a key that has had one. The last key is used as it is. */
  usedKey(index: KeyIndex): LeaseKey {
    const key = this.key(index);
    if (index === KEYS - 1 || this.terms(key).length > 0) return key;
    return this.keys.find((each) => this.terms(each).length > 0) ?? key;
  }

  owner(seat: Seat): Owner {
    return ownerOf(OWNERS[seat % OWNERS.length] ?? 'ann');
  }

  session(seat: Seat): SessionId {
    return sessionIdOf(`${seat} ${this.#generations.get(seat) ?? 0}`);
  }

  lives(seat: Seat): boolean {
    const id = this.session(seat);
    return this.observed.sessions.some(
      ({ session, state }) => session.id === id && state !== 'ended' && state !== 'overdue',
    );
  }

  /** From now on this seat has a new session. */
  renew(seat: Seat): void {
    this.#generations.set(seat, (this.#generations.get(seat) ?? 0) + 1);
  }

  terms(key: LeaseKey): readonly Term[] {
    return this.#terms.get(key) ?? [];
  }

  inspection(key: LeaseKey): LeaseInspection | undefined {
    return this.observed.leases.find((each) => each.key === key);
  }

  attempt(seat: Seat, key: LeaseKey, choice: 'new' | 'own' | 'last'): AttemptId {
    const known = this.#attempts.get(choice === 'last' ? key : `${key} ${seat}`);
    const attempt = choice === 'new' || known === undefined ? attemptOf(`${this.#next()}`) : known;
    this.#attempts.set(key, attempt);
    this.#attempts.set(`${key} ${seat}`, attempt);
    return attempt;
  }

  /** A repeated attempt is the same call: it waits if the first did. */
  waits(attempt: AttemptId, wants: boolean): boolean {
    const known = this.#waiting.get(attempt) ?? wants;
    this.#waiting.set(attempt, known);
    return known;
  }

  request(key: LeaseKey, choice: 'new' | 'last'): RequestId {
    const known = this.#requests.get(key);
    const request = choice === 'new' || known === undefined ? requestOf(`${this.#next()}`) : known;
    this.#requests.set(key, request);
    return request;
  }

  /** Moments after now at which something may change, soonest first. */
  moments(): readonly number[] {
    const { retentionMs, breakerWindowMs } = this.policy;
    const found: (number | undefined)[] = [...this.#freeAt];
    for (const { session } of this.observed.sessions) {
      if (session.end === undefined) {
        found.push(session.expiresAt, session.expiresAt - session.graceMs);
      } else {
        found.push(session.end.at + retentionMs, session.end.at + breakerWindowMs);
      }
    }
    for (const { record } of this.observed.leases) {
      found.push(record?.hardDeadlineAt, record?.drain?.deadlineAt, record?.reservation?.until);
      if (record?.end?.exit === 'retired') found.push(record.end.at + retentionMs);
    }
    const later = found.filter((at) => at !== undefined).filter((at) => at > this.now);
    return [...new Set(later)].sort((a, b) => a - b);
  }

  learn(command: Command, answer: unknown): void {
    const { freeInMs } = refusalIn(answer);
    if (typeof freeInMs === 'number')
      this.#freeAt = [...this.#freeAt, this.now + freeInMs].slice(-4);
    const fence = newFence(answer);
    if (command.verb !== 'acquire' || fence === undefined) return;
    this.#remember(command.request, fence);
  }

  #remember({ key, session }: Acquire, fence: Fence): void {
    this.#terms.set(key, [...this.terms(key), { fence, session }]);
    this.fences.push(fence);
    this.fences.sort((a, b) => a - b);
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }
}

/** The fence of the newest grant. */
export function newFence(answer: unknown): Fence | undefined {
  const { kind, replayed, fence } = (answer ?? {}) as {
    kind?: string;
    replayed?: boolean;
    fence?: Fence;
  };
  return kind === 'granted' && replayed === false ? fence : undefined;
}

function refusalIn(answer: unknown): { readonly freeInMs?: unknown } {
  const { refusal } = (answer ?? {}) as { refusal?: object };
  return refusal ?? (answer as object | undefined) ?? {};
}
