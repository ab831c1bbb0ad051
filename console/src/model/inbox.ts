// Open requests in the order in which they are due, grouped by what they ask. Pure.

import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';

function dueMs({ unit }: InteractionMessage): number {
  return unit?.dueAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(unit.dueAt);
}

/** The first one is due next; those without a limit come last, the oldest first. */
export function byDue(items: readonly InteractionMessage[]): readonly InteractionMessage[] {
  const openedMs = ({ unit }: InteractionMessage): number => Date.parse(unit?.openedAt ?? '') || 0;
  return items.toSorted((one, other) => {
    const [a, b] = [dueMs(one), dueMs(other)];
    return a === b ? openedMs(one) - openedMs(other) : a < b ? -1 : 1;
  });
}

export interface RequestGroup {
  readonly key: string;
  readonly name: string;
  readonly pipeline: string;
  readonly items: readonly InteractionMessage[];
}

/** Requests of one question of one pipeline. They take the same answers. */
export function groupsOf(items: readonly InteractionMessage[]): readonly RequestGroup[] {
  const groups = Map.groupBy(items, ({ unit, call }) =>
    JSON.stringify([unit?.pipeline ?? '', unit?.name ?? call]),
  );
  return [...groups].map(([key, each]) => {
    const [pipeline, name] = JSON.parse(key) as [string, string];
    return { key, name, pipeline, items: each };
  });
}
