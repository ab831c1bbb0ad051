// Writes that follow each other as fewer of them: one commit instead of many. What may be refused for news is not
// put together with what was done before it, which would be lost with it.

import type { WriteMessage } from '../messages/work.ts';

const BY_ITSELF: ReadonlySet<string> = new Set(['park', 'giveBack']);

export function merged(writes: readonly WriteMessage[]): readonly WriteMessage[] {
  const all: WriteMessage[] = [];
  for (const write of writes) {
    const before = all.at(-1);
    const follows = before?.verb === 'record' && before.seq + before.events.length === write.seq;
    if (before === undefined || !follows || BY_ITSELF.has(write.verb)) all.push(write);
    else all.splice(-1, 1, { ...write, ...together(before, write) });
  }
  return all;
}

type Content = Pick<WriteMessage, 'seq' | 'events'> &
  Partial<Pick<WriteMessage, 'children' | 'awaits' | 'attachments' | 'progress'>>;

function together(one: WriteMessage, other: WriteMessage): Content {
  const progress = other.progress ?? one.progress;
  const lists = (['children', 'awaits', 'attachments'] as const).flatMap((name) => {
    const items = [...(one[name] ?? []), ...(other[name] ?? [])];
    return items.length === 0 ? [] : [[name, items] as const];
  });
  return {
    seq: one.seq,
    events: [...one.events, ...other.events],
    ...Object.fromEntries(lists),
    ...(progress === undefined ? {} : { progress }),
  };
}
