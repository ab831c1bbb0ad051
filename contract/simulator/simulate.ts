// `simulate` runs one seed and returns its violations. `shrinkPlan` finds a smaller plan with the
// same failure.

import { threadId } from 'node:worker_threads';
import { SimulatedDisk } from './disk.ts';
import type { Plan, Workload } from './plan.ts';
import { planOf, runPlan, type SimulationResult } from './run.ts';
import { channels } from './workloads/channels.ts';
import { executions } from './workloads/executions.ts';
import { forger } from './workloads/forger.ts';
import { hostile } from './workloads/hostile.ts';
import { intruder } from './workloads/intruder.ts';
import { leases } from './workloads/leases.ts';
import { owner } from './workloads/owner.ts';
import { prober } from './workloads/prober.ts';
import { schedules } from './workloads/schedules.ts';
import type { Checker, World } from './world.ts';

/** Options of `simulate`. */
export interface SimulateOptions {
  /** Decides everything that happens. The same seed gives the same run. */
  readonly seed: number;
  /** The operations and faults. Default: the seed decides. */
  readonly plan?: Plan;
}

/** Adds a judge of the run. */
export type Watch = (world: World) => Checker;

/** All on one store. */
const WORKLOADS: readonly Workload[] = [
  leases,
  executions,
  hostile,
  schedules,
  forger,
  prober,
  intruder,
  owner,
  channels,
];

/**
 * Returns the plan that `simulate` makes from a seed.
 *
 * @example
 * const { operations, faults } = planSimulation(17);
 */
export function planSimulation(seed: number): Plan {
  return planOf(seed, WORKLOADS);
}

const idle: SimulatedDisk[] = [];
let opened = 0;

/**
 * Runs coordinators, workers, holders and clients on one simulated store, with faults, in virtual
 * time. Returns every broken promise or rule as a violation.
 *
 * @example
 * const { violations, trace } = await simulate({ seed: 17 });
 * if (violations.length > 0) console.log(trace.join('\n'));
 */
export function simulate(options: SimulateOptions): Promise<SimulationResult> {
  return simulateWatched(options);
}

export async function simulateWatched(
  { seed, plan = planSimulation(seed) }: SimulateOptions,
  watch?: Watch,
): Promise<SimulationResult> {
  const disk = idle.pop() ?? openDisk();
  try {
    return await runPlan(plan, { workloads: WORKLOADS, disk, ...(watch && { watch }) });
  } finally {
    idle.push(disk);
  }
}

function openDisk(): SimulatedDisk {
  opened += 1;
  return new SimulatedDisk(`holdfast-simulated-${threadId}-${opened}`);
}

/** More runs would rarely make the plan shorter. */
const RUNS_MAX = 250;

/**
 * Returns a plan with fewer operations and faults that still breaks the same rule.
 *
 * @example
 * const { violations } = await simulate({ seed: 17 });
 * const rule = violations[0]?.rule;
 * if (rule !== undefined) console.log(await shrinkPlan(planSimulation(17), rule));
 */
export function shrinkPlan(plan: Plan, rule: string): Promise<Plan> {
  return shrinkWatched(plan, rule);
}

export async function shrinkWatched(plan: Plan, rule: string, watch?: Watch): Promise<Plan> {
  let runs = 0;
  const fails = async (candidate: Plan): Promise<boolean> => {
    runs += 1;
    const { violations } = await simulateWatched({ seed: plan.seed, plan: candidate }, watch);
    return violations.some((each) => each.rule === rule);
  };
  let best = plan;
  for (const part of ['faults', 'operations'] as const) {
    for (let size = Math.ceil(best[part].length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < best[part].length && runs < RUNS_MAX; ) {
        const candidate = { ...best, [part]: best[part].toSpliced(at, size) };
        if (await fails(candidate)) best = candidate;
        else at += size;
      }
    }
  }
  return best;
}
