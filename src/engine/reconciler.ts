// Looks for what cannot be, all the time (Z-30). Every worker may; the one that has the lease does. It goes on
// beside claims, so that however much there is to look at, nobody waits for it.

import type { Finding, Part, Told } from '../execution/invariants.ts';
import { PARTS, tellFinding } from '../execution/invariants.ts';
import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import { toInstant } from '../support/clock.ts';
import { jittered } from '../support/random.ts';
import type { EngineConfig } from './config.ts';
import { tell } from './observer.ts';
import type { Plan } from './schedule-plan.ts';
import { timesOf } from './schedule-times.ts';

export type { Told } from '../execution/invariants.ts';

/** Whoever has it looks, and nobody else. */
export const RECONCILE_KEY = 'holdfast/reconcile';

const PAGE = 200;
/** So many pages of a part are looked at before it is another's turn. */
const PAGES_MAX = 10;
const SPREAD = 0.1;

export class Reconciler {
  readonly #config: EngineConfig;
  readonly #everyMs: number;
  readonly #session: () => Session;
  readonly #marks: Map<Part, string> = new Map();
  #lease: HeldLease | undefined;
  #turn = 0;
  #isOver = false;
  #looking: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;

  /** `session` is the one that the worker has now. */
  constructor(config: EngineConfig, everyMs: number, session: () => Session) {
    this.#config = config;
    this.#everyMs = everyMs;
    this.#session = session;
    // Somebody else does.
    if (config.store.executions.isTended !== true) this.#wait();
  }

  /** Resolves when nothing of it is under way. */
  stop(): Promise<void> {
    this.#isOver = true;
    this.#cancel();
    return this.#looking;
  }

  #wait(): void {
    if (this.#isOver) return;
    const { timers, random } = this.#config;
    this.#cancel = timers.after(jittered(random, this.#everyMs, SPREAD), () => {
      this.#looking = this.#look().finally(() => this.#wait());
    });
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    try {
      if (!(await this.#isMine())) return;
      const part = PARTS[this.#turn % PARTS.length] as Part;
      this.#turn += 1;
      await this.#lookAt(part);
    } catch (fault) {
      const cause = fault instanceof Error ? fault.message : String(fault);
      const what = 'What is stored could not be looked at';
      tell(this.#config.observer, { kind: 'trouble', what, cause });
    }
  }

  async #isMine(): Promise<boolean> {
    if (this.#lease?.signal.aborted === false) return true;
    // After a lapse the term may go on; who holds a key cannot acquire it.
    const rejoined = await this.#lease?.rejoin();
    if (rejoined?.kind === 'rejoined') {
      this.#lease = rejoined.lease;
      return true;
    }
    const outcome = await this.#session().acquire(RECONCILE_KEY);
    this.#lease = outcome.kind === 'acquired' ? outcome.lease : undefined;
    return this.#lease !== undefined;
  }

  /** From where it ended the last time. */
  async #lookAt(part: Part): Promise<void> {
    for (let pages = 0; pages < PAGES_MAX && !this.#isOver; pages += 1) {
      const after = this.#marks.get(part);
      const page = { part, limit: PAGE, ...(after === undefined ? {} : { after }) };
      const { found, next } = await this.#config.store.executions.reconcile(page);
      for (const finding of await told(this.#config, found)) {
        tell(this.#config.observer, { kind: 'stale', ...finding });
      }
      if (next === undefined) this.#marks.delete(part);
      else this.#marks.set(part, next);
      if (next === undefined || this.#lease?.signal.aborted !== false) return;
    }
  }
}

export interface Looking {
  readonly dryRun: boolean;
  /** No more than these are wanted. */
  readonly limit: number;
}

/** All that there is, now. */
export async function reconcileAll(
  config: EngineConfig,
  { dryRun, limit }: Looking,
): Promise<readonly Told[]> {
  const all: Told[] = [];
  for (const part of PARTS) {
    for (let after: string | undefined; ; ) {
      const page = { part, limit: PAGE, dryRun, ...(after === undefined ? {} : { after }) };
      const { found, next } = await config.store.executions.reconcile(page);
      all.push(...(await told(config, found)));
      after = next;
      if (after === undefined || all.length >= limit) break;
    }
    if (all.length >= limit) break;
  }
  return all.slice(0, limit);
}

async function told(config: EngineConfig, found: readonly Finding[]): Promise<readonly Told[]> {
  const real: Told[] = [];
  for (const finding of found) {
    if (!(await isOver(config, finding))) real.push(tellFinding(finding));
  }
  return real;
}

/** Z-24: a schedule whose plan has no time left needs none. */
async function isOver(config: EngineConfig, finding: Finding): Promise<boolean> {
  const { invariant, project, about } = finding;
  if (invariant !== 'schedule-without-time') return false;
  if (project === undefined || about === undefined) return false;
  const schedule = await config.store.executions.schedule({ project, id: about });
  if (schedule === undefined || schedule.nextAt !== undefined) return true;
  const times = await timesOf((JSON.parse(schedule.plan) as Plan).when);
  return times.after(toInstant(config.clock.wallMs())) === undefined;
}
