// Which pipelines the workers of a project have announced, for callers that submit to a name with a slip in it.

import type { ProjectName } from '../../execution/names.ts';
import type { ExecutionStore } from '../../store/contract/execution-store.ts';
import type { Clock } from '../../support/clock.ts';
import { nearestName } from '../../support/options.ts';
import type { SubmitWarning } from '../messages/execution.ts';

/** Workers are read again at most this often: a caller that repeats a wrong name costs nothing. */
const READ_MS = 1_000;
/** In a fleet that is larger, a name that was not found may still be known. */
const WORKERS_MAX = 1_000;
const PROJECTS_MAX = 1_000;

interface Seen {
  /** What was announced once stays: workers that are replaced are away for a moment. */
  readonly names: Set<string>;
  isWhole: boolean;
  readAt: number;
}

export class AnnouncedPipelines {
  readonly #executions: Pick<ExecutionStore, 'workers'>;
  readonly #clock: Clock;
  readonly #seen: Map<ProjectName, Seen> = new Map();

  constructor(executions: Pick<ExecutionStore, 'workers'>, clock: Clock) {
    this.#executions = executions;
    this.#clock = clock;
  }

  /** Undefined when a worker has announced it, or where that cannot be said. */
  async warningFor(project: ProjectName, pipeline: string): Promise<SubmitWarning | undefined> {
    const seen = this.#seenOf(project);
    if (seen.names.has(pipeline)) return undefined;
    await this.#read(project, seen);
    if (!seen.isWhole || seen.names.has(pipeline)) return undefined;
    const nearest = nearestName(pipeline, [...seen.names]);
    const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    const detail = `No worker has announced pipeline "${pipeline}".${hint} The execution waits until one does.`;
    return { code: 'pipeline-unknown', detail };
  }

  #seenOf(project: ProjectName): Seen {
    if (this.#seen.size >= PROJECTS_MAX) this.#seen.clear();
    const seen = this.#seen.get(project) ?? { names: new Set(), isWhole: false, readAt: -READ_MS };
    this.#seen.set(project, seen);
    return seen;
  }

  /** The submission is stored already: that workers cannot be read must not fail it. */
  async #read(project: ProjectName, seen: Seen): Promise<void> {
    const now = this.#clock.monotonicMs();
    if (now - seen.readAt < READ_MS) return;
    seen.readAt = now;
    const workers = await this.#executions.workers({ project, limit: WORKERS_MAX }).catch(() => []);
    seen.isWhole = workers.length < WORKERS_MAX;
    for (const { pipelines } of workers) for (const name of pipelines) seen.names.add(name);
  }
}
