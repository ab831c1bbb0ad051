// Open requests, grouped by what they ask. Pure.

import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';

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
