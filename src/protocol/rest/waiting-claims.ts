// Claims that wait at the coordinator until something is ready. So an idle worker gets an execution
// with the first message after its submit, without a wakeup and a claim in between.

import type { PipelineName, ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';
import type {
  Claim,
  ClaimResult,
  CoordinatorStore,
  Submit,
} from '../../store/contract/execution-store.ts';
import type { Timers } from '../../support/timer.ts';
import { type Coordinator, projectShare, weightOf } from './route.ts';
import { claimFor } from './work-writes.ts';

type OwnClaim = Claim & Required<Pick<Claim, 'project'>>;

interface Waiting {
  readonly waitMs: number;
  /** Aborts when the caller is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** The functions that end the waiting claims of a session. */
const waiting: WeakMap<CoordinatorStore, Map<SessionId, Set<() => void>>> = new WeakMap();

/** Ends them without a claim, because the worker takes nothing more. */
export function endWaitingClaims({ store }: Pick<Coordinator, 'store'>, session: SessionId): void {
  for (const end of waiting.get(store)?.get(session) ?? []) end();
}

/** Claims as often as something may have become ready, until it has a claim or the time is over. */
export async function claimWithin(
  coordinator: Coordinator,
  claim: OwnClaim,
  { waitMs, signal }: Waiting,
): Promise<ClaimResult> {
  if (waitMs === 0) return claimInTurn(coordinator, claim);
  const { clock, shares } = coordinator;
  const untilMs = clock.monotonicMs() + waitMs;
  const pause = new ClaimPause(coordinator, claim, signal);
  const nothing = Nothing.of(coordinator.store);
  try {
    await pause.for(nothing.lastsFor(claim, clock.monotonicMs(), waitMs));
    while (!pause.isOver) {
      pause.begin();
      const beganMs = clock.monotonicMs();
      const result = await claimEitherLane(coordinator, claim);
      if (result.kind === 'refused') return result;
      if (result.claims.length > 0 || result.more) {
        if (!result.more && !pause.isWoken) nothing.found(coordinator, claim, { beganMs, result });
        return result;
      }
      const leftMs = untilMs - clock.monotonicMs();
      const readyInMs = Math.max(1, result.nextReadyInMs ?? Infinity);
      await pause.for(Math.min(leftMs, readyInMs));
      // The worker claims again at once when the time is over.
      if (pause.isOver || (!pause.isWoken && leftMs <= readyInMs)) return result;
      await shares.begin(projectShare(claim.project), WEIGHT);
    }
    return { kind: 'claimed', claims: [], more: false, overdue: false };
  } finally {
    pause.close();
  }
}

const WEIGHT = weightOf({ name: 'claimExecutions' });

function claimInTurn(coordinator: Coordinator, claim: OwnClaim): Promise<ClaimResult> {
  return coordinator.claimTurns.take(claim.project, () => claimFor(coordinator, claim));
}

/**
 * A worker with few free slots asks for one lane at a time, in turns. While its claim waits, the
 * other lane may get something first.
 */
async function claimEitherLane(coordinator: Coordinator, claim: OwnClaim): Promise<ClaimResult> {
  const result = await claimInTurn(coordinator, claim);
  const isEmpty = result.kind === 'claimed' && result.claims.length === 0 && !result.more;
  const limit = Math.max(0, ...claim.shares.map((share) => share.limit));
  const others = claim.shares.filter((share) => share.limit === 0);
  if (!isEmpty || others.length === 0 || limit === 0) return result;
  const shares = others.map(({ lane }) => ({ lane, limit }));
  const other = await claimInTurn(coordinator, { ...claim, shares });
  if (other.kind === 'refused') return other;
  const nextReadyInMs = Math.min(result.nextReadyInMs ?? Infinity, other.nextReadyInMs ?? Infinity);
  return { ...other, ...(nextReadyInMs < Infinity && { nextReadyInMs }) };
}

/**
 * Remembers that a session's last claim left nothing ready, until the next wakeup. So its next claim
 * waits for that wakeup instead of looking for the same again.
 */
class Nothing {
  static readonly #ofStores: WeakMap<CoordinatorStore, Nothing> = new WeakMap();
  readonly #sessions: Map<SessionId, NothingLeft> = new Map();

  static of(store: CoordinatorStore): Nothing {
    const known = Nothing.#ofStores.get(store) ?? new Nothing();
    Nothing.#ofStores.set(store, known);
    return known;
  }

  found(
    { readiness }: Coordinator,
    claim: OwnClaim,
    { beganMs, result }: { readonly beganMs: number; readonly result: Claims },
  ): void {
    const { session, project, shares } = claim;
    // It did not look at a lane without a limit.
    if (shares.some(({ limit }) => limit === 0)) return;
    const { nextReadyInMs = Infinity } = result;
    this.#sessions.get(session)?.forget();
    const forget = readiness.listen(project, () => {
      forget();
      this.#sessions.delete(session);
    });
    this.#sessions.set(session, {
      ...{ scope: scopeOf(claim), beganMs, readyAtMs: beganMs + nextReadyInMs, forget },
    });
  }

  /** How long a new claim need not look. At most `pollMs` after the last look. */
  lastsFor(claim: OwnClaim, nowMs: number, pollMs: number): number {
    const left = this.#sessions.get(claim.session);
    this.#sessions.delete(claim.session);
    left?.forget();
    if (left?.scope !== scopeOf(claim)) return 0;
    return Math.min(left.beganMs + pollMs, left.readyAtMs) - nowMs;
  }
}

type Claims = Extract<ClaimResult, { readonly kind: 'claimed' }>;

interface NothingLeft {
  /** The pipelines and the release of the claim. */
  readonly scope: string;
  readonly beganMs: number;
  readonly readyAtMs: number;
  readonly forget: () => void;
}

function scopeOf({ pipelines, release = '' }: OwnClaim): string {
  return [release, ...pipelines].join(' ');
}

/** Waits for a wakeup. One that comes during a claim counts too. */
class ClaimPause {
  readonly #timers: Coordinator['timers'];
  readonly #behind: () => () => void;
  readonly #leave: () => void;
  #isWoken = false;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(coordinator: Coordinator, claim: OwnClaim, signal: AbortSignal) {
    const { store, readiness, timers, claimsBehind } = coordinator;
    const { project, pipelines } = claim;
    this.#timers = timers;
    const wake = (): void => {
      this.#isWoken = true;
      this.#wake?.();
    };
    const end = (): void => {
      this.#isOver = true;
      this.#wake?.();
    };
    this.#behind = () => claimsBehind.listen(project, { pipelines, wake });
    const unlisten = readiness.listen(project, wake);
    const forget = remember(store, claim.session, end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    this.#leave = () => {
      unlisten();
      forget();
      signal.removeEventListener('abort', end);
    };
  }

  /** The session ends, the caller is gone, or the coordinator stops. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** There was a wakeup since `begin`. */
  get isWoken(): boolean {
    return this.#isWoken;
  }

  begin(): void {
    this.#isWoken = false;
  }

  /** Resolves with the next wakeup, the end, or the time. */
  async for(ms: number): Promise<void> {
    if (this.#isWoken || this.#isOver || ms <= 0) return;
    const leave = this.#behind();
    await new Promise<void>((resolve) => {
      const cancel = this.#timers.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
    leave();
    this.#wake = undefined;
  }

  close(): void {
    this.#leave();
  }
}

function remember(store: CoordinatorStore, session: SessionId, end: () => void): () => void {
  const sessions = waiting.get(store) ?? new Map<SessionId, Set<() => void>>();
  waiting.set(store, sessions);
  const ends = sessions.get(session) ?? new Set();
  sessions.set(session, ends);
  ends.add(end);
  return () => {
    ends.delete(end);
    if (ends.size === 0 && sessions.get(session) === ends) sessions.delete(session);
  };
}

// Claims that wait at this coordinator while it submits. The first that fits wakes in the turn of the
// submit, so that the store can run both in one transaction.

interface WaitingClaim {
  readonly pipelines: readonly PipelineName[];
  readonly wake: () => void;
}

export class ClaimsBehind {
  readonly #timers: Pick<Timers, 'soon'>;
  /** A claim wakes in this turn. It is enough for all submits of the turn. */
  #isWoken = false;
  readonly #waiting: Map<ProjectName, Set<WaitingClaim>> = new Map();

  constructor(timers: Pick<Timers, 'soon'>) {
    this.#timers = timers;
  }

  /** Returns the function that ends the wait. */
  listen(project: ProjectName, waiting: WaitingClaim): () => void {
    const own = this.#waiting.get(project) ?? new Set();
    this.#waiting.set(project, own);
    own.add(waiting);
    return () => {
      own.delete(waiting);
      if (own.size === 0 && this.#waiting.get(project) === own) this.#waiting.delete(project);
    };
  }

  /** The store has the submit, and sends it at the end of this turn of the event loop. */
  submitted({ project, pipeline, delayMs = 0 }: Submit): void {
    if (delayMs > 0 || this.#isWoken) return;
    for (const { pipelines, wake } of this.#waiting.get(project) ?? []) {
      if (!pipelines.includes(pipeline)) continue;
      this.#isWoken = true;
      this.#timers.soon(() => {
        this.#isWoken = false;
      });
      wake();
      return;
    }
  }
}

/** Wakes a waiting claim with each submit. */
export function joiningStore(store: CoordinatorStore, behind: ClaimsBehind): CoordinatorStore {
  const { executions } = store;
  if (executions.claimsJoinSubmits !== true) return store;
  const submit: typeof executions.submit = (request) => {
    const result = executions.submit(request);
    behind.submitted(request);
    return result;
  };
  return { ...store, executions: { ...executions, submit } };
}
