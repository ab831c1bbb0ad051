// A successor that arrives while the old holder's requests overlap, so that one is always inside.

import type { EnterResult, Marks } from '../../src/guards/http.ts';
import type { Fenced } from '../../src/guards/mark.ts';

/** Many times the time that raising a mark takes. */
const TURNS_MAX = 200;

export interface Traffic {
  /** The last answer to the old holder, and the number of its entries until then. */
  readonly old: EnterResult['kind'];
  readonly entries: number;
  readonly successor: EnterResult['kind'];
}

export async function underSteadyTraffic(
  marks: Marks,
  old: Fenced,
  successor: Fenced,
): Promise<Traffic> {
  let inside = await marks.enter(old);
  const coming = marks.enter(successor);
  let entries = 0;
  while (inside.kind === 'entered' && entries < TURNS_MAX) {
    const next = await marks.enter(old);
    await inside.leave();
    inside = next;
    entries += 1;
  }
  const { kind } = inside;
  if (inside.kind === 'entered') await inside.leave();
  const answer = await coming;
  if (answer.kind === 'entered') await answer.leave();
  return { old: kind, entries, successor: answer.kind };
}
