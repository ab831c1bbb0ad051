import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import {
  planSimulation,
  shrinkWatched,
  simulateWatched,
} from '../../contract/simulator/simulate.ts';
import { coverageTable } from './coverage.ts';
import { judgedRules } from './judged-rules.ts';
import { watchLeaseModel } from './lease-model.ts';
import { huntPlanted, plantedTable } from './planted.ts';
import { recordedSeeds, recordRun } from './recorded-runs.ts';
import { runSeeds, withBug } from './run-seeds.ts';
import { writeSection } from './verification.ts';

const HELP = `npm run simulate -- [--seeds 1000] [--seed <first>] [--processes 2] [--nightly] [--record] [--write]
npm run simulate -- --planted [--only <part of a name>] [--seeds 20] [--write]

Simulates coordinators, workers and a store under faults, one run for each seed, and checks every rule.

  --seeds <count>      Seeds to run (default 1000)
  --seed <number>      First seed (default random)
  --processes <count>  Processes to run them in (default 2)
  --planted            Plant each known bug and count the seeds until one finds it
  --only <text>        With --planted: only bugs whose name has this text
  --plant <name>       Plant one bug
  --nightly            Print which faults met which states
  --record             Add the run to runs.jsonl
  --write              Write the figures into docs/verification.md`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    processes: { type: 'string', default: '2' },
    planted: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    plant: { type: 'string' },
    nightly: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(HELP);
  process.exit();
}

/** Enough to see a pattern. */
const FAILURES_MAX = 20;

const first = values.seed === undefined ? randomInt(2 ** 30) : Number(values.seed);
const count = Number(values.seeds);
if (values.planted) {
  await huntPlanted({
    ...{ first, seedsMax: count, only: values.only, processes: Number(values.processes) },
    onVerdict: ({ id, by, seeds }) =>
      console.log(`${id}: ${by === undefined ? 'not found' : by}, ${seeds} seeds`),
  });
  if (values.write) writeSection('planted', plantedTable());
  process.exit();
}

const coverage = new Map<string, number>();
const failing: { readonly seed: number; readonly rule: string; readonly text: string }[] = [];
const total = { seeds: 0, operations: 0, faults: 0, cpuMs: 0, least: Number.POSITIVE_INFINITY };
const startedAt = performance.now();

await runSeeds({
  ...{ first, count, processes: Number(values.processes) },
  ...(values.plant !== undefined && withBug(values.plant)),
  onReport(report) {
    total.seeds += 1;
    total.operations += report.operations;
    total.faults += report.faults;
    total.cpuMs += report.cpuMs;
    total.least = Math.min(total.least, report.operations);
    for (const [pair, times] of report.coverage)
      coverage.set(pair, (coverage.get(pair) ?? 0) + times);
    const [violation] = report.violations;
    if (violation !== undefined) failing.push({ seed: report.seed, ...violation });
    return failing.length >= FAILURES_MAX;
  },
});

const seconds = (performance.now() - startedAt) / 1_000;
const summary =
  `${total.seeds} seeds from ${first}: ${total.operations} operations (${total.least} at least), ` +
  `${total.faults} faults, ${seconds.toFixed(0)} s, ` +
  `${(total.cpuMs / Math.max(1, total.seeds)).toFixed(0)} CPU-ms per seed, ${failing.length} failed.`;
console.log(summary);
if (values.record) recordRun({ first, seeds: total.seeds, failed: failing.length });
if (values.write) {
  const parts = [summary, recordedSeeds(), judgedRules(), coverageTable(coverage)];
  writeSection('simulator', parts.join('\n\n'));
}
if (values.nightly) console.log(coverageTable(coverage));
for (const { seed, rule, text } of failing) console.log(`seed ${seed}: ${rule}: ${text}`);
const [worst] = failing;
if (worst !== undefined) {
  process.exitCode = 1;
  console.log(await explainFailure(worst.seed, worst.rule));
}

/** The shortest plan with the same failure, and what happens in it. */
async function explainFailure(seed: number, rule: string): Promise<string> {
  const plan = await shrinkWatched(planSimulation(seed), rule, watchLeaseModel);
  const { trace } = await simulateWatched({ seed, plan }, watchLeaseModel);
  return [
    `Seed ${seed} breaks ${rule} with ${plan.operations.length} operations and ${plan.faults.length} faults:`,
    ...trace,
    `To keep it, add this line to test/simulate/kept-plans.jsonl, with its reason:`,
    JSON.stringify({ why: '', plan }),
  ].join('\n');
}
