// The pipelines that a project's workers have announced, to warn callers that submit to a misspelt
// name.

import type { ProjectName } from '../../execution/names.ts';
import { workerPages } from '../../features/releases/port.ts';
import type { ExecutionStore } from '../../store/contract/execution-store.ts';
import type { Clock } from '../../support/clock.ts';
import { nearestName } from '../../support/options.ts';
import type { SubmitWarning } from '../messages/submission.ts';

/**
 * The shortest time between two reads of the workers, and between two searches for the nearest name,
 * so that a caller that sends wrong names costs nothing.
 */
const READ_MS = 1_000;
/** In a larger fleet, or with more names, a name that is not found may still exist. */
const WORKERS_MAX = 1_000;
const NAMES_MAX = 500;
const PROJECTS_MAX = 1_000;

interface Seen {
  /** Announced names stay, because a worker that is being replaced is away for a moment. */
  readonly names: Set<string>;
  isComplete: boolean;
  readAt: number;
  /** The last search for the nearest name. */
  nearest: { readonly of: string; readonly name: string | undefined; readonly at: number };
}

export class AnnouncedPipelines {
  readonly #executions: Pick<ExecutionStore, 'workers'>;
  readonly #clock: Clock;
  readonly #seen: Map<ProjectName, Seen> = new Map();

  constructor(executions: Pick<ExecutionStore, 'workers'>, clock: Clock) {
    this.#executions = executions;
    this.#clock = clock;
  }

  /** Undefined if a worker announced the pipeline, or if that is not certain. */
  async warningFor(project: ProjectName, pipeline: string): Promise<SubmitWarning | undefined> {
    const seen = this.#seenOf(project);
    if (seen.names.has(pipeline)) return undefined;
    await this.#read(project, seen);
    if (!seen.isComplete || seen.names.has(pipeline)) return undefined;
    const nearest = this.#nearest(seen, pipeline);
    const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    const detail = `No worker has announced pipeline "${pipeline}".${hint} The execution was submitted, and waits until one does.`;
    return { code: 'pipeline-unknown', detail };
  }

  #seenOf(project: ProjectName): Seen {
    if (this.#seen.size >= PROJECTS_MAX) this.#seen.clear();
    const seen = this.#seen.get(project) ?? {
      names: new Set(),
      isComplete: false,
      readAt: -READ_MS,
      nearest: { of: '', name: undefined, at: -READ_MS },
    };
    this.#seen.set(project, seen);
    return seen;
  }

  /** A comparison with every name takes milliseconds, so it does not happen for every submit. */
  #nearest(seen: Seen, pipeline: string): string | undefined {
    const at = this.#clock.monotonicMs();
    if (seen.nearest.of !== pipeline) {
      if (at - seen.nearest.at < READ_MS) return undefined;
      seen.nearest = { of: pipeline, name: nearestName(pipeline, [...seen.names]), at };
    }
    return seen.nearest.name;
  }

  /** The submission is already stored, so a failed read of the workers must not fail it. */
  async #read(project: ProjectName, seen: Seen): Promise<void> {
    const now = this.#clock.monotonicMs();
    if (now - seen.readAt < READ_MS || seen.names.size > NAMES_MAX) return;
    seen.readAt = now;
    let workers = 0;
    try {
      for await (const page of workerPages(this.#executions, project)) {
        for (const { pipelines } of page) for (const name of pipelines) seen.names.add(name);
        workers += page.length;
        if (workers >= WORKERS_MAX || seen.names.size > NAMES_MAX) break;
      }
    } catch {
      return;
    }
    seen.isComplete = workers < WORKERS_MAX && seen.names.size <= NAMES_MAX;
  }
}
