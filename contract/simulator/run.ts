// Runs one plan.

import type { SimulatedDisk } from './disk.ts';
import { injectFault, planFaults } from './faults.ts';
import type { Plan, Workload } from './plan.ts';
import { streamOf } from './process.ts';
import { type Checker, type Violation, World } from './world.ts';

/** After the faults, a run lasts until it is quiet, within these numbers of rounds. */
const ROUND_MS = 500;
const ROUNDS_MIN = 4;
const ROUNDS_MAX = 1_200;

function isQuiet(world: World): boolean {
  const [open] = world.disk.rows<{ n: number }>(
    'select count(*) as n from execution where ended_at is null',
  );
  return open?.n === 0;
}

/** The result of one run. */
export interface SimulationResult {
  /** The seed of the run. */
  readonly seed: number;
  /** Broken promises and rules. */
  readonly violations: readonly Violation[];
  /** Calls of Holdfast that clients, holders and pipelines made. */
  readonly operations: number;
  /** Faults of the plan. */
  readonly faults: number;
  /** Events that the scheduler ran. */
  readonly events: number;
  /** The run in plain words, one line for each event of interest. */
  readonly trace: readonly string[];
  /** The number of times that a fault met a state, such as `crash × lease held`. */
  readonly coverage: ReadonlyMap<string, number>;
}

export function planOf(seed: number, workloads: readonly Workload[]): Plan {
  const random = streamOf(seed, 'plan');
  const operations = workloads
    .flatMap((workload) => workload.plan(random))
    .sort((a, b) => a.atMs - b.atMs);
  return { seed, operations, faults: planFaults(random) };
}

interface Stage {
  readonly workloads: readonly Workload[];
  readonly disk: SimulatedDisk;
  readonly watch?: (world: World) => Checker;
}

export async function runPlan(
  plan: Plan,
  { workloads, disk, watch }: Stage,
): Promise<SimulationResult> {
  const world = new World(plan.seed, disk);
  if (watch !== undefined) world.checkers.push(watch(world));
  const performs = new Map(workloads.map((workload) => [workload.name, workload.open(world)]));
  for (const actor of world.actors.values()) actor.revive();
  for (const operation of plan.operations) {
    world.scheduler.after(operation.atMs, undefined, () => {
      world.note(`${operation.what}.`);
      performs.get(operation.of)?.(operation);
    });
  }
  for (const fault of plan.faults) {
    world.scheduler.after(fault.atMs, undefined, () => injectFault(world, fault));
  }
  const lastMs = Math.max(
    0,
    ...plan.operations.map(({ atMs }) => atMs),
    ...plan.faults.map(({ atMs, forMs }) => atMs + forMs),
  );
  await world.scheduler.runUntil(lastMs);
  world.note('All faults end.');
  world.calm();
  for (let round = 1; round <= ROUNDS_MAX && !(round > ROUNDS_MIN && isQuiet(world)); round += 1) {
    world.finishAll();
    await world.scheduler.runUntil(lastMs + round * ROUND_MS);
  }
  for (const checker of world.checkers) await checker.ended?.();
  const { violations, operations, trace, coverage } = world;
  const { events } = world.scheduler;
  return {
    seed: plan.seed,
    violations,
    operations,
    faults: plan.faults.length,
    events,
    trace,
    coverage,
  };
}
