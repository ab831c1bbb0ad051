// The slots of questions with a concurrency key, counted after each transaction (W-17, W-18).

import { INTERACTION_CODES } from '../../../src/features/awaits/rows.ts';
import { PANEL } from '../workloads/pipelines.ts';
import type { Checker, World } from '../world.ts';

const { open, queued } = INTERACTION_CODES;

const COUNT = `
  select sum(status = ${open}) as open, sum(status = ${queued}) as queued
    from interaction
   where concurrency_key = :key
     and status in (${open}, ${queued})`;

export function slotRules(world: World): Checker {
  let isWrong = false;
  const count = (): void => {
    const { key, limit } = PANEL;
    const [row] = world.disk.rows<{ open: number | null; queued: number | null }>(COUNT, { key });
    const { open, queued } = { open: row?.open ?? 0, queued: row?.queued ?? 0 };
    const isOver = open > limit;
    const isLeft = queued > 0 && open < limit;
    // One violation for each time that it becomes wrong.
    if (!isWrong && isOver) world.violate('W-17', `${open} questions of "${key}" are open.`);
    if (!isWrong && isLeft) world.violate('W-18', `${queued} questions wait beside a free slot.`);
    isWrong = isOver || isLeft;
  };
  return { name: 'slots', settled: count, ended: async () => count() };
}
