// What workers may claim, in the order in which it became ready: a heap per pipeline, lane and project.
// What ended or runs costs nothing here, however much of it there is.

import type { ExecutionRecord, Lane } from '../../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { comesBefore, type Due, Heap } from './heap.ts';

/** Where to look. */
export interface Wanted {
  readonly pipelines: readonly PipelineName[];
  readonly lane: Lane;
  /** Of all when undefined. */
  readonly project: ProjectName | undefined;
}

export class ReadyQueues {
  readonly #heaps: Map<string, Map<ProjectName, Heap>> = new Map();
  readonly #find: (id: ExecutionId) => ExecutionRecord | undefined;

  constructor(find: (id: ExecutionId) => ExecutionRecord | undefined) {
    this.#find = find;
  }

  /** To be called whenever `readyAt` was set or the last hold went. */
  add({ id, pipeline, lane, project, readyAt }: ExecutionRecord): void {
    if (readyAt === undefined) return;
    const name = heapName(pipeline, lane);
    const heaps = this.#heaps.get(name) ?? new Map<ProjectName, Heap>();
    const heap = heaps.get(project) ?? new Heap();
    heap.push({ at: readyAt, id });
    heaps.set(project, heap);
    this.#heaps.set(name, heaps);
  }

  /** Projects that have something ready now, the longest ready first. */
  projects(wanted: Wanted, now: Instant): readonly ProjectName[] {
    const first = new Map<ProjectName, Due>();
    for (const { project, due } of this.#heads(wanted)) {
      const known = first.get(project);
      if (due.at > now || (known !== undefined && comesBefore(known, due))) continue;
      first.set(project, due);
    }
    return [...first].sort(([, a], [, b]) => (comesBefore(a, b) ? -1 : 1)).map(([name]) => name);
  }

  /** Takes out the longest ready of a project. */
  take(wanted: Wanted, project: ProjectName, now: Instant): ExecutionId | undefined {
    let best: { readonly heap: Heap; readonly due: Due } | undefined;
    for (const head of this.#heads(wanted, project)) {
      if (head.due.at > now) continue;
      if (best === undefined || comesBefore(head.due, best.due)) best = head;
    }
    return best?.heap.pop()?.id;
  }

  /** When the first of them is ready, past or future. */
  firstAt(wanted: Wanted): Instant | undefined {
    let first: Instant | undefined;
    for (const { due } of this.#heads(wanted)) {
      if (first === undefined || due.at < first) first = due.at;
    }
    return first;
  }

  /** The first of each heap that still holds; what does not is dropped on the way. */
  *#heads(
    { pipelines, lane, project: asked }: Wanted,
    only: ProjectName | undefined = asked,
  ): Generator<{ readonly project: ProjectName; readonly heap: Heap; readonly due: Due }> {
    for (const pipeline of new Set(pipelines)) {
      const heaps = this.#heaps.get(heapName(pipeline, lane));
      if (heaps === undefined) continue;
      for (const project of only === undefined ? [...heaps.keys()] : [only]) {
        const heap = heaps.get(project);
        const due = heap === undefined ? undefined : this.#current(heap);
        if (heap === undefined || due === undefined) heaps.delete(project);
        else yield { project, heap, due };
      }
    }
  }

  #current(heap: Heap): Due | undefined {
    for (let due = heap.peek(); due !== undefined; due = heap.peek()) {
      const execution = this.#find(due.id);
      if (execution?.readyAt === due.at && execution.holds.length === 0) return due;
      heap.pop();
    }
    return undefined;
  }
}

function heapName(pipeline: PipelineName, lane: Lane): string {
  return `${lane}\0${pipeline}`;
}
