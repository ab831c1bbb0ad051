// Checks the invariants of the store continuously (Z-30). One worker does so at a time, the holder
// of the lease. It works beside the claims, so however much there is to check, no claim waits.

import type { EngineConfig } from '../../engine/config.ts';
import { sendReport } from '../../engine/observer.ts';
import { SingleDuty } from '../../engine/worker/single-duty.ts';
import type { Session } from '../../lease/live-session.ts';
import { toInstant } from '../../support/clock.ts';
import { type Plan, timesOf } from '../schedules/plan-api.ts';
import {
  describeFinding,
  type Finding,
  PARTS,
  type ReconcilePart,
  type StaleFinding,
} from './model.ts';

/** Only the holder of this lease checks. */
const RECONCILE_KEY = 'holdfast/reconcile';

const PAGE = 200;
/** The most pages of one part before the next part has its turn. */
const PAGES_MAX = 10;
export class Reconciler {
  readonly #config: EngineConfig;
  readonly #marks: Map<ReconcilePart, string> = new Map();
  readonly #duty: SingleDuty;
  #turn = 0;

  /** `session` returns the worker's current session. */
  constructor(config: EngineConfig, everyMs: number, session: () => Session) {
    this.#config = config;
    const run = (goesOn: () => boolean): Promise<void> => this.#run(goesOn);
    const duty = { key: RECONCILE_KEY, everyMs, trouble: 'store-not-checked', run } as const;
    this.#duty = new SingleDuty(config, duty, session);
  }

  /** Resolves when no round is under way. */
  stop(): Promise<void> {
    return this.#duty.stop();
  }

  /** Checks a part, from where the last round of it ended. */
  async #run(goesOn: () => boolean): Promise<void> {
    const part = PARTS[this.#turn % PARTS.length] as ReconcilePart;
    this.#turn += 1;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const after = this.#marks.get(part);
      const page = { part, limit: PAGE, ...(after === undefined ? {} : { after }) };
      const { found, next } = await this.#config.store.executions.reconcile(page);
      for (const finding of await describeOpen(this.#config, found)) {
        sendReport(this.#config.observer, { kind: 'stale', ...finding });
      }
      if (next === undefined) this.#marks.delete(part);
      else this.#marks.set(part, next);
      if (next === undefined || !goesOn()) return;
    }
  }
}

interface ReconcileLimits {
  readonly dryRun: boolean;
  /** The most findings that the caller wants. */
  readonly limit: number;
}

/** Checks everything now. */
export async function reconcileAll(
  config: EngineConfig,
  { dryRun, limit }: ReconcileLimits,
): Promise<readonly StaleFinding[]> {
  const all: StaleFinding[] = [];
  for (const part of PARTS) {
    for (let after: string | undefined; ; ) {
      const page = { part, limit: PAGE, dryRun, ...(after === undefined ? {} : { after }) };
      const { found, next } = await config.store.executions.reconcile(page);
      all.push(...(await describeOpen(config, found)));
      after = next;
      if (after === undefined || all.length >= limit) break;
    }
    if (all.length >= limit) break;
  }
  return all.slice(0, limit);
}

async function describeOpen(
  config: EngineConfig,
  found: readonly Finding[],
): Promise<readonly StaleFinding[]> {
  const real: StaleFinding[] = [];
  for (const finding of found) {
    if (!(await isOver(config, finding))) real.push(describeFinding(finding));
  }
  return real;
}

/** A schedule whose plan has no time left needs no next time (Z-24). */
async function isOver(config: EngineConfig, finding: Finding): Promise<boolean> {
  const { invariant, project, about } = finding;
  if (invariant !== 'schedule-without-time') return false;
  if (project === undefined || about === undefined) return false;
  const schedule = await config.store.executions.schedule({ project, id: about });
  if (schedule === undefined || schedule.nextAt !== undefined) return true;
  const times = await timesOf((JSON.parse(schedule.plan) as Plan).when);
  return times.after(toInstant(config.clock.wallMs())) === undefined;
}
