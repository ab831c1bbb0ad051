import { hostname } from 'node:os';
import type { PipelineName } from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import { parseOwner, type SessionId } from '../../lease/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import { boundedText, integerOption, readOptions, wordsIn } from '../../support/options.ts';
import { type AnyPipeline, type Pipelines, pipelinesByName } from '../pipeline.ts';

/** Options of a worker. */
export interface WorkerOptions {
  /** The pipelines that it runs, at least one. */
  readonly pipelines: Pipelines;
  /** Executions whose code runs at once, 1 to 100,000. Default 100. */
  readonly concurrency?: number;
  /** The name that operators see. Default: host name and process id. */
  readonly owner?: string;
  /**
   * Milliseconds without a heartbeat until other workers take over its executions. Default 15,000.
   */
  readonly ttlMs?: number;
  /** Milliseconds between polls if no wakeup arrives, at least 10. Default 1,700. */
  readonly pollMs?: number;
  /** Milliseconds that `stop` gives running steps to finish. Default 10,000; at most an hour. */
  readonly stopGraceMs?: number;
  /** The release that it runs. It claims executions that are pinned to this release, or to none. */
  readonly release?: WorkerRelease;
  /**
   * Milliseconds between reports that it takes work. After two missed reports it counts as stuck.
   * Default 5,000, or 60,000 if it has the store itself and no release.
   */
  readonly probeMs?: number;
  /** Milliseconds between checks of the store's invariants, one part at a time. Default 30,000. */
  readonly reconcileMs?: number;
}

/** The release that a worker runs. */
export interface WorkerRelease {
  /** The name of the release. */
  readonly name: string;
  /**
   * The digest of the artifact that runs here, at most 256 bytes. If the registered release has
   * another, the worker is refused.
   */
  readonly digest: string;
}

type Defaulted = 'owner' | 'concurrency' | 'pollMs' | 'stopGraceMs' | 'reconcileMs';

/** The checked options, completed with defaults. */
export interface WorkerSettings extends Required<Pick<WorkerOptions, Defaulted>> {
  readonly pipelines: ReadonlyMap<PipelineName, AnyPipeline>;
  /** The shortest time between two claims, however often it is woken. */
  readonly claimEveryMs: number;
  readonly ttlMs: number | undefined;
  readonly release: WorkerRelease | undefined;
  readonly probeMs: number | undefined;
}

const NAMES: readonly (keyof WorkerOptions)[] = wordsIn(
  'pipelines concurrency owner ttlMs pollMs stopGraceMs reconcileMs release probeMs',
);

/** A coarse bound; the store's policy sets a tighter one. */
const TTL_MS_MAX = 366 * 86_400_000;

/** Options of a worker without pipelines. */
export type MaintenanceOptions = Omit<WorkerOptions, 'pipelines' | 'release'>;

export function resolveWorkerOptions(given: WorkerOptions): WorkerSettings {
  const options = readOptions('worker', given, NAMES);
  const pipelines = pipelinesByName('worker', options.pipelines);
  if (pipelines.size === 0) {
    throw new InvalidInput('worker: pipelines must have at least one pipeline.');
  }
  return { pipelines, claimEveryMs: 0, ...resolveRest(options) };
}

/** A process that only does maintenance claims bulk jobs, of all projects. Nearly all wakeups are about other work. */
const MAINTENANCE_CLAIM_EVERY_MS = 100;

export function resolveMaintenanceOptions(given: MaintenanceOptions): WorkerSettings {
  const names = NAMES.filter((name) => name !== 'pipelines' && name !== 'release');
  const options = readOptions('maintain', given, names);
  return {
    pipelines: new Map(),
    claimEveryMs: MAINTENANCE_CLAIM_EVERY_MS,
    ...resolveRest(options),
  };
}

function checkedRelease(given: WorkerRelease): WorkerRelease {
  const { name, digest } = readOptions('release', given, ['name', 'digest']);
  return {
    name: parseReleaseName(name),
    digest: boundedText('release: digest', digest, DIGEST_BYTES_MAX),
  };
}

const DIGEST_BYTES_MAX = 256;

function resolveRest(
  options: Omit<WorkerOptions, 'pipelines'>,
): Omit<WorkerSettings, 'pipelines' | 'claimEveryMs'> {
  const { owner, ttlMs, concurrency = 100, pollMs = 1_700, stopGraceMs = 10_000 } = options;
  const { reconcileMs = 30_000, probeMs, release } = options;
  return {
    owner: owner === undefined ? `${hostname()}/${process.pid}` : parseOwner(owner),
    ttlMs:
      ttlMs === undefined ? undefined : integerOption('ttlMs', ttlMs, { min: 1, max: TTL_MS_MAX }),
    concurrency: integerOption('concurrency', concurrency, { min: 1, max: 100_000 }),
    pollMs: integerOption('pollMs', pollMs, { min: 10, max: 31 * 86_400_000 }),
    stopGraceMs: integerOption('stopGraceMs', stopGraceMs, { min: 0, max: 3_600_000 }),
    release: release === undefined ? undefined : checkedRelease(release),
    probeMs:
      probeMs === undefined
        ? undefined
        : integerOption('probeMs', probeMs, { min: 10, max: 86_400_000 }),
    reconcileMs: integerOption('reconcileMs', reconcileMs, { min: 10, max: 31 * 86_400_000 }),
  };
}

/**
 * How a worker ended.
 *
 * - `stopped`: by `stop`.
 * - `crashed`: by `crash`.
 * - `denied`: the coordinator refused its access key for longer than its ttl; `code` and `why` are
 *   the reason.
 */
export type WorkerEnd =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'crashed' }
  | { readonly kind: 'denied'; readonly code: string; readonly why: string };

/**
 * A running worker.
 *
 * @example
 * const worker = await holdfast.worker({ pipelines: [order] });
 * process.once('SIGTERM', () => void worker.stop());
 */
export interface Worker {
  /** The session that carries its claims now. */
  readonly session: SessionId;
  /** How many executions it runs now. */
  readonly running: number;
  /** Resolves when the worker has ended, and never rejects. */
  readonly ended: Promise<WorkerEnd>;
  /**
   * Stops claiming, gives running steps `stopGraceMs` to finish, gives its executions back and ends
   * its session.
   */
  stop(): Promise<void>;
  /** For tests: behaves as if the process had died. Writes nothing and gives nothing back. */
  crash(): void;
  [Symbol.asyncDispose](): Promise<void>;
}
