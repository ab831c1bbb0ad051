import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../server/coordinator.ts';
import { waitedForCpuMs } from '../services/recovery-bound.ts';
import { type Choose, type Fault, faultsFor, UPGRADE } from './faults.ts';
import { type Injected, judge, type Verdict } from './judge.ts';
import { Stage, type StageOptions, TTL_MS } from './stage.ts';
import { Workload } from './workload.ts';

export interface ChaosOptions extends StageOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly faults?: readonly Fault[];
  /** Called when a fault begins. */
  readonly onFault?: (name: string) => void;
}

/** The last ends come within the bound of a takeover, or not at all. */
const LAST_ENDS_MS = 60_000;

export async function runChaos(options: ChaosOptions): Promise<Verdict> {
  const stage = await Stage.open(options);
  try {
    const mayLose = options.patroni === 'asynchronous';
    const keysSignals = options.faults?.includes(UPGRADE) !== true;
    const workload = new Workload(stage, { mayLose, keysSignals });
    workload.start();
    const injected = await injectAll(stage, options);
    await workload.finish(LAST_ENDS_MS);
    return await judge({ stage, workload, injected, mayLose });
  } finally {
    await stage.close();
  }
}

/** One fault after the other until the time is over, each once before one happens again. */
async function injectAll(stage: Stage, options: ChaosOptions): Promise<readonly Injected[]> {
  const { faults = faultsFor(options.patroni), seed, minutes, onFault } = options;
  const choose = seededChoice(seed);
  const possible = faults.filter(({ needsDisk }) => stage.hasDisk || needsDisk === undefined);
  if (possible.length < faults.length) onFault?.('disk full: left out, this user may not mount');
  const endMs = Date.now() + minutes * 60_000;
  const injected: Injected[] = [];
  let left: readonly Fault[] = [];
  await pause(TTL_MS);
  while (Date.now() < endMs) {
    if (left.length === 0) left = possible;
    const fault = choose(left);
    left = left.filter((each) => each !== fault);
    onFault?.(fault.name);
    const [atMs, waitedBeforeMs] = [Date.now(), waitedForCpuMs()];
    await fault.run(stage, choose);
    const overMs = Date.now();
    if (fault.isOfStore) {
      const responds = () => stage.servers.query('create temporary table writable ()');
      await until(() => responds().catch(() => undefined));
    }
    const countsFromMs = fault.isOfStore ? Date.now() : atMs;
    await fault.repair?.(stage);
    // So that each takeover can be told apart from those of the next fault.
    await pause(TTL_MS);
    const waitedMs = waitedForCpuMs() - waitedBeforeMs;
    injected.push({ name: fault.name, atMs, countsFromMs, overMs, waitedMs });
  }
  return injected;
}

/** A small generator with a seed (mulberry32). */
function seededChoice(seed: number): Choose {
  let state = seed >>> 0;
  return (items) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    const item = items[((mixed ^ (mixed >>> 14)) >>> 0) % items.length];
    if (item === undefined) throw new Error('There is nothing to choose from.');
    return item;
  };
}
