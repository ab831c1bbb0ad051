// What workers may claim, in the order in which it became ready: a heap per route, lane and project.
// What ended or runs costs nothing here, however much of it there is.

import type { ExecutionRecord, Lane } from '../../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../../execution/names.ts';
import { routeOf } from '../../../execution/route.ts';
import type { Instant } from '../../../support/clock.ts';
import { comesBefore, type Due, Heap } from './heap.ts';

/** Where to look. */
export interface Wanted {
  readonly routes: readonly PipelineName[];
  /** Not everything of a route is for everybody (RE-9). */
  admits(at: { readonly project: ProjectName; readonly route: PipelineName }): boolean;
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
  add(execution: ExecutionRecord): void {
    const { id, lane, project, readyAt } = execution;
    if (readyAt === undefined) return;
    const name = heapName(routeOf(execution), lane);
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
    { routes, lane, project: asked, admits }: Wanted,
    only: ProjectName | undefined = asked,
  ): Generator<{ readonly project: ProjectName; readonly heap: Heap; readonly due: Due }> {
    for (const route of new Set(routes)) {
      const heaps = this.#heaps.get(heapName(route, lane));
      if (heaps === undefined) continue;
      for (const project of only === undefined ? [...heaps.keys()] : [only]) {
        if (!admits({ project, route })) continue;
        const heap = heaps.get(project);
        const due = heap === undefined ? undefined : this.#current(heap, route);
        if (heap === undefined || due === undefined) heaps.delete(project);
        else yield { project, heap, due };
      }
    }
  }

  #current(heap: Heap, route: PipelineName): Due | undefined {
    for (let due = heap.peek(); due !== undefined; due = heap.peek()) {
      const execution = this.#find(due.id);
      const isReady = execution?.readyAt === due.at && execution.holds.length === 0;
      if (isReady && routeOf(execution) === route) return due;
      heap.pop();
    }
    return undefined;
  }
}

function heapName(route: PipelineName, lane: Lane): string {
  return `${lane}\0${route}`;
}
