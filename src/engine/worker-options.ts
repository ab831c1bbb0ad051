import { hostname } from 'node:os';
import type { PipelineName } from '../execution/names.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions, shown, wholeNumber } from '../support/options.ts';
import type { AnyPipeline, Pipeline } from './pipeline.ts';

export interface WorkerOptions {
  // biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output, in one list
  readonly pipelines: readonly Pipeline<any, any>[];
  /** How many executions at once. Default 100. */
  readonly concurrency?: number;
  /** Who a person would say this is. Default: the host and the process id. */
  readonly owner?: string;
  /** Without a heartbeat for this long its work is taken over. Default 15 s. */
  readonly ttlMs?: number;
  /** How often it looks without being rung for. Default 1700. */
  readonly pollMs?: number;
  /** How long `stop` lets running steps finish before they are left. Default 10 s. */
  readonly stopGraceMs?: number;
}

export interface WorkerSettings {
  readonly pipelines: ReadonlyMap<PipelineName, AnyPipeline>;
  readonly owner: string;
  readonly ttlMs: number | undefined;
  /** How many executions at once. */
  readonly concurrency: number;
  readonly pollMs: number;
  /** How long `stop` lets running steps finish. */
  readonly stopGraceMs: number;
}

const NAMES: readonly (keyof WorkerOptions)[] = [
  'pipelines',
  'concurrency',
  'owner',
  'ttlMs',
  'pollMs',
  'stopGraceMs',
];

export function resolveWorkerOptions(options: WorkerOptions): WorkerSettings {
  rejectUnknownOptions('worker', options, NAMES);
  const { pipelines, owner, ttlMs } = options;
  if (!Array.isArray(pipelines) || pipelines.length === 0) {
    throw new InvalidInput(
      `worker: pipelines must be a list with at least one pipeline; got ${shown(pipelines)}.`,
    );
  }
  const byName = new Map<PipelineName, AnyPipeline>();
  for (const each of pipelines) {
    const isMade = typeof each?.run === 'function' && each.checkpoint !== undefined;
    if (!isMade || !Object.isFrozen(each)) {
      throw new InvalidInput('worker: each of pipelines is made by pipeline({ name, run }).');
    }
    if (byName.has(each.name)) {
      throw new InvalidInput(`worker: two pipelines are called "${each.name}".`);
    }
    byName.set(each.name, each);
  }
  return {
    pipelines: byName,
    owner: owner ?? `${hostname()}/${process.pid}`,
    ttlMs,
    concurrency: wholeNumber('concurrency', options.concurrency ?? 100, { min: 1, max: 100_000 }),
    pollMs: wholeNumber('pollMs', options.pollMs ?? 1_700, { min: 10, max: 31 * 86_400_000 }),
    stopGraceMs: wholeNumber('stopGraceMs', options.stopGraceMs ?? 10_000, {
      min: 0,
      max: 3_600_000,
    }),
  };
}
