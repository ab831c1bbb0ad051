// The rules of executions. While the run lasts, every reply of the store is judged. At its end, every
// history is read back and judged as a whole.

import type { SubmitOptions } from '../../../src/engine/submission.ts';
import type {
  Claim,
  Claimed,
  ClaimResult,
  Finish,
  OwnerWrite,
  Recorded,
  Submit,
} from '../../../src/store/contract/execution-store.ts';
import type { Ledger } from '../ledger.ts';
import type { StoreCall } from '../link.ts';
import { MANUAL } from '../workloads/owner.ts';
import type { Input } from '../workloads/pipelines.ts';
import type { Checker, World } from '../world.ts';
import { judgeHistories } from './histories.ts';

/** An execution that the store has acknowledged. */
export interface Submitted {
  readonly id: string;
  readonly pipeline: string;
  readonly input: Input;
  readonly options: SubmitOptions;
  /** A client may have cancelled it. */
  wasDisturbed: boolean;
}

export interface Submissions {
  readonly known: Map<number, Submitted>;
  /** The number of letters sent; their values count up. */
  letters: number;
}

/** The checker's facts about one execution. */
interface Known {
  fence: number;
  session: string;
  isRunning: boolean;
  seq: number;
  end: string | undefined;
  startedAt: number | undefined;
  /** Messages that the row counted when its owner last wrote. */
  inboxCount: number;
  isPaused: boolean;
  delayMs: number;
}

interface State {
  readonly known: Map<string, Known>;
  readonly recorded: Map<string, number>;
  readonly starts: Map<string, number[]>;
}

export function executionRules(world: World, ledger: Ledger, submissions: Submissions): Checker {
  return new ExecutionRules(world, ledger, submissions);
}

/** Verbs that hold an execution back, or let it go on. */
const HOLDING: ReadonlySet<string> = new Set(['executions.pause', 'executions.resume']);

const OWNER_VERBS: Readonly<Record<string, string>> = {
  'executions.record': 'recorded',
  'executions.finish': 'finished',
  'executions.park': 'parked',
  'executions.giveBack': 'given-back',
};

/** The time that P4 allows beyond the ttl. The fair chance and the breaker may add theirs. */
const TAKEOVER_MS = 2_000;

/** */
function isAhead({ body }: { readonly body?: string }): boolean {
  return 'ahead' in (JSON.parse(body ?? '{}') as object);
}

class ExecutionRules implements Checker {
  readonly name = 'executions';
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #submissions: Submissions;
  #known: Map<string, Known> = new Map();
  /** Results of steps that the store has acknowledged, with their fences (P3). */
  #recorded: Map<string, number> = new Map();
  #starts: Map<string, number[]> = new Map();
  /** The last heartbeat of each session. */
  readonly #beats: Map<string, number> = new Map();
  #backup: State | undefined;

  constructor(world: World, ledger: Ledger, submissions: Submissions) {
    this.#world = world;
    this.#ledger = ledger;
    this.#submissions = submissions;
    ledger.recordedUnder = (execution, call) => this.#recorded.get(`${execution} ${call}`);
  }

  handled({ verb, request, reply }: StoreCall): void {
    const result = reply as { readonly kind?: string } | undefined;
    if (verb === 'executions.claim' && result?.kind === 'claimed') {
      for (const claimed of (reply as Extract<ClaimResult, { kind: 'claimed' }>).claims) {
        this.#mustServe(request as Claim, claimed);
        this.#claimed(claimed);
      }
    }
    if (verb in OWNER_VERBS && result?.kind === OWNER_VERBS[verb]) {
      this.#written(verb, request as OwnerWrite);
    }
    if (result?.kind === 'alive' || result?.kind === 'opened') {
      this.#beats.set((request as { readonly id: string }).id, this.#world.nowMs);
    }
    if (verb === 'executions.cancel' && result?.kind === 'done') this.#cancelled(request);
    if (verb === 'executions.submit' && result?.kind === 'submitted') {
      const { id, delayMs = 0 } = request as Submit;
      this.#of(id).delayMs = delayMs;
    }
    if (HOLDING.has(verb) && result?.kind === 'done') this.#noteHold(request);
    if (verb === 'executions.record' && result?.kind === 'recorded') {
      this.#mustCount(request as OwnerWrite, reply as Extract<Recorded, { kind: 'recorded' }>);
    }
  }

  backedUp(): void {
    const [known, recorded, starts] = [this.#known, this.#recorded, this.#starts];
    this.#backup = structuredClone({ known, recorded, starts });
  }

  /** A restore may lose writes that were acknowledged since the backup. */
  restored(): void {
    const { known, recorded, starts } = structuredClone(this.#backup) ?? {};
    this.#known = known ?? new Map();
    this.#recorded = recorded ?? new Map();
    this.#starts = starts ?? new Map();
    for (const [nth, { id }] of this.#submissions.known) {
      const found = this.#world.disk.rows('select 1 from execution where id = :id', { id });
      if (found.length === 0) this.#submissions.known.delete(nth);
    }
  }

  async ended(): Promise<void> {
    const acknowledged = new Map(
      [...this.#known].map(([id, { seq, end }]) => [id, { seq, end }] as const),
    );
    await judgeHistories(this.#world, {
      ledger: this.#ledger,
      submissions: this.#submissions,
      acknowledged,
    });
  }

  #of(id: string): Known {
    const known = this.#known.get(id) ?? {
      ...{ fence: 0, session: '', isRunning: false, seq: 0 },
      ...{ end: undefined, startedAt: undefined, inboxCount: 0, isPaused: false, delayMs: 0 },
    };
    this.#known.set(id, known);
    return known;
  }

  /** A claim names the project and the release of its worker. */
  #mustServe({ project, release }: Claim, { execution }: Claimed): void {
    const { id } = execution;
    if (project !== undefined && execution.project !== project) {
      this.#violate('X-14', id, `a worker of project ${project} claimed it`);
    }
    if (execution.release !== undefined && execution.release !== release) {
      this.#violate('RE-9', id, `a worker of release ${release} claimed it`);
    }
  }

  /** An operator paused it, or resumed it. While it runs, its owner does that later. */
  #noteHold(request: unknown): void {
    const { id } = request as { readonly id: string };
    const held = 'select 1 from execution where id = :id and hold & 1';
    this.#of(id).isPaused = this.#world.disk.rows(held, { id }).length > 0;
  }

  /** The owner learns of every message that came before its write. */
  #mustCount({ id }: OwnerWrite, { inboxCount }: { readonly inboxCount: number }): void {
    const known = this.#of(id);
    if (inboxCount < known.inboxCount) {
      this.#violate(
        'X-23',
        id,
        `${inboxCount} messages were reported, and it had ${known.inboxCount}`,
      );
    }
    const sql = 'select news as inboxCount from execution where id = :id';
    known.inboxCount =
      this.#world.disk.rows<{ inboxCount: number }>(sql, { id })[0]?.inboxCount ?? 0;
  }

  #claimed({ execution, fence, claimedAt }: Claimed): void {
    const { id, session, seq } = execution;
    const known = this.#of(id);
    // A claim whose reply was lost is returned again.
    if (fence === known.fence) return;
    if (known.end !== undefined) {
      this.#violate('X-2', id, `it had ended as ${known.end} and was claimed again`);
    }
    if (fence < known.fence) {
      this.#violate('X-6', id, `it was claimed with fence ${fence} after fence ${known.fence}`);
    }
    if (known.isPaused) this.#violate('X-18', id, 'it was claimed although it was paused');
    if (known.startedAt === undefined && claimedAt < execution.submittedAt + known.delayMs) {
      this.#violate('X-12', id, 'it was claimed before its delay was over');
    }
    if (known.isRunning && !this.#hasEnded(known.session)) {
      this.#violate('X-7', id, `it was claimed although session ${known.session} had not ended`);
    }
    if (known.isRunning) this.#tookOver(known, execution);
    this.#gated(id, known, { execution, claimedAt });
    Object.assign(known, { fence, session, isRunning: true, seq: Math.max(seq, known.seq) });
  }

  /** The work of a dead owner has a new one in time, counted from its last heartbeat (P4). */
  #tookOver(known: Known, { id, pipeline, claimsWithoutProgress }: Claimed['execution']): void {
    // Nothing polls for it.
    if (pipeline === MANUAL) return;
    const world = this.#world;
    const beatMs = this.#beats.get(known.session);
    // A suspect waits for its trial.
    if (beatMs === undefined || !world.isSteady || claimsWithoutProgress > 1) return;
    const lateMs = world.nowMs - Math.max(beatMs, world.disturbedUntilMs) - world.pace.ttlMs;
    const { recoveryGraceMs, breakerHoldMs } = world.policy;
    if (lateMs > TAKEOVER_MS + recoveryGraceMs + breakerHoldMs) {
      this.#violate('P4', id, `its new owner came ${Math.round(lateMs)} ms after the ttl`);
    }
  }

  /** Concurrency and rate keys, at the first claim of an execution. */
  #gated(id: string, known: Known, claim: Pick<Claimed, 'execution' | 'claimedAt'>): void {
    if (known.startedAt !== undefined) return;
    const { concurrency, rate } = claim.execution;
    known.startedAt = claim.claimedAt;
    if (concurrency !== undefined) {
      const taken = this.#started(claim.execution.project, concurrency.key);
      if (taken > concurrency.limit) {
        this.#violate(
          'X-63',
          id,
          `it started as number ${taken} of ${concurrency.limit} with key ${concurrency.key}`,
        );
      }
    }
    if (rate === undefined) return;
    const rateKey = `${claim.execution.project} ${rate.key}`;
    const starts = this.#starts.get(rateKey) ?? [];
    starts.push(claim.claimedAt);
    this.#starts.set(rateKey, starts);
    const within = starts.filter((at) => at > claim.claimedAt - rate.perMs).length;
    if (within > rate.limit) {
      this.#violate(
        'X-66',
        id,
        `${within} executions with rate key ${rate.key} started within ${rate.perMs} ms`,
      );
    }
  }

  #written(verb: string, write: OwnerWrite & Partial<Pick<Finish, 'status' | 'successor'>>): void {
    const { id, fence, session, seq, events, status, successor } = write;
    const known = this.#of(id);
    const last = seq + events.length - 1;
    const isReplay = events.length > 0 && last <= known.seq;
    if (!isReplay) this.#mustOwn(verb, known, { id, fence, session });
    if (isReplay) return;
    if (events.length > 0 && seq !== known.seq + 1) {
      this.#violate('X-4', id, `event ${seq} was appended after event ${known.seq}`);
    }
    known.seq = Math.max(known.seq, last);
    for (const { kind, body } of events) {
      if (kind !== 'step-completed') continue;
      const { key } = JSON.parse(body ?? '{}') as { readonly key: string };
      this.#recorded.set(`${id} ${key}`, fence);
    }
    if (verb !== 'executions.record') known.isRunning = false;
    if (verb !== 'executions.finish') return;
    known.end = status;
    // A successor takes over the cancel.
    const isLast = status !== 'cancelled' && successor === undefined;
    if (isLast && events.some(isAhead)) this.#mustKnowNoCancel(id);
  }

  /** Its code ran ahead, so its last result and its end are one write. */
  #mustKnowNoCancel(id: string): void {
    const sql = "select 1 from inbox where execution_id = :id and kind = 'cancel'";
    if (this.#world.disk.rows(sql, { id }).length === 0) return;
    this.#violate('X-101', id, 'its end overtook a cancel that came first');
  }

  #mustOwn(
    verb: string,
    known: Known,
    write: { id: string; fence: number; session: string },
  ): void {
    const { id, fence, session } = write;
    if (fence !== known.fence) {
      this.#violate(
        'X-1',
        id,
        `${verb} with fence ${fence} was accepted, and fence ${known.fence} is the newest`,
      );
    } else if (!known.isRunning) {
      this.#violate('X-1', id, `${verb} was accepted, and no claim was running`);
    } else if (session !== known.session) {
      this.#violate(
        'X-1',
        id,
        `${verb} was accepted from session ${session}, which does not own it`,
      );
    } else if (this.#hasEnded(session)) {
      this.#violate('X-1', id, `${verb} was accepted although its session had ended`);
    }
  }

  #cancelled(request: unknown): void {
    const { id } = request as { readonly id: string };
    const [row] = this.#world.disk.rows<{ status: number; seq: number }>(
      'select status, seq from execution where id = :id',
      { id },
    );
    const known = this.#of(id);
    if (row !== undefined) known.seq = Math.max(known.seq, row.seq);
    if (row !== undefined && row.status > 10) known.end = 'cancelled';
  }

  /** Executions with this concurrency key that were claimed and have not ended. */
  #started(project: string, key: string): number {
    const sql = `select count(*) as taken from execution
                  where project = :project and place_key = :key and claimed_at is not null and ended_at is null`;
    return this.#world.disk.rows<{ taken: number }>(sql, { project, key })[0]?.taken ?? 0;
  }

  /** As a stored fact. */
  #hasEnded(session: string): boolean {
    const [row] = this.#world.disk.rows<{ ended: number | null }>(
      'select ended_at as ended from session where id = :session',
      { session },
    );
    return row === undefined || row.ended !== null;
  }

  #violate(rule: string, id: string, text: string): void {
    this.#world.violate(rule, `Execution ${id}: ${text}.`);
  }
}
