import { hostname } from 'node:os';
import type { PipelineName } from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import { parseOwner, type SessionId } from '../../lease/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import { boundedText, integerOption, readOptions } from '../../support/options.ts';
import { type AnyPipeline, type Pipelines, pipelinesByName } from '../pipeline.ts';

export interface WorkerOptions {
  readonly pipelines: Pipelines;
  /** The code of how many executions runs at once. Default 100. */
  readonly concurrency?: number;
  /** Its name for people. Default: the host and the process id. */
  readonly owner?: string;
  /** Without a heartbeat for this long its work is taken over. Default 15 s. */
  readonly ttlMs?: number;
  /** How often the worker polls without a wakeup, in milliseconds. Default 1700. */
  readonly pollMs?: number;
  /** How long `stop` lets running steps finish before they are left. Default 10 s. */
  readonly stopGraceMs?: number;
  /** The build that this is: it gets what is pinned to it, and what is pinned to nothing. */
  readonly release?: WorkerRelease;
  /**
   * How often it says that it takes work; it is called stuck after two. Default 5 s, and a minute where it has
   * the store itself and no release.
   */
  readonly probeMs?: number;
  /** How often it looks at one of the parts of the store for what cannot be. Default 30 s. */
  readonly reconcileMs?: number;
}

export interface WorkerRelease {
  readonly name: string;
  /** The digest of the artifact that runs here. The worker is refused if the release has another. */
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

const NAMES: readonly (keyof WorkerOptions)[] = [
  'pipelines',
  'concurrency',
  'owner',
  'ttlMs',
  'pollMs',
  'stopGraceMs',
  'reconcileMs',
  'release',
  'probeMs',
];

/** A coarse bound; the store's policy sets a tighter one. */
const TTL_MS_MAX = 366 * 86_400_000;

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
  const rest = resolveRest(readOptions('maintain', given, names));
  return { pipelines: new Map(), claimEveryMs: MAINTENANCE_CLAIM_EVERY_MS, ...rest };
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

/** How a worker ended. */
export type WorkerEnd =
  | { readonly kind: 'stopped' }
  /** By `crash`. */
  | { readonly kind: 'crashed' }
  /** The coordinator did not let it in for longer than its ttl. */
  | { readonly kind: 'denied'; readonly code: string; readonly why: string };

export interface Worker {
  /** The session that carries its claims now. */
  readonly session: SessionId;
  /** How many executions it has now. */
  readonly running: number;
  /** How it ended, once it has: stopped, or not let in any more. Never rejects. */
  readonly ended: Promise<WorkerEnd>;
  /** Yields its executions, ends its session; resolves when nothing of it is left. */
  stop(): Promise<void>;
  /** For tests: as if the process had died. Nothing is written, nothing is given back. */
  crash(): void;
  [Symbol.asyncDispose](): Promise<void>;
}
