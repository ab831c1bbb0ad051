// The slots of questions with a concurrency key (W-17, W-18). An open question takes a slot, so the slots
// are counted from the questions and no counter can be wrong. Every transaction that adds or ends
// such questions ends with `admitNext`. It locks the row of the key, counts, and opens those that
// wait longest.

import type { ConcurrencyKey } from '../../execution/execution.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { AwaitUnit } from '../../features/awaits/model.ts';
import { INTERACTION_CODES } from '../../features/awaits/rows.ts';
import { assert } from '../../support/assert.ts';
import { all, one, type Script, sql } from './script.ts';

const OPEN = INTERACTION_CODES.open;
const QUEUED = INTERACTION_CODES.queued;

// The newest await with the key sets its limit. Others only lock the row, or make it.
const LOCK = sql(`
  insert into hf.question_limit as l (project, key, slots)
  values (:project, :key, :limit)
      on conflict (project, key) do update
     set slots = case when :isNew::boolean then excluded.slots else l.slots end
  returning slots`);

// A separate statement sees everything committed before the lock.
const TAKEN = sql(`
  select count(*) as n
    from (select 1 as one
            from hf.interaction as i indexed by interaction_slots
           where i.project = :project
             and i.concurrency_key = :key
             and i.status = ${OPEN}
           limit :slots) as taken`);

// A skipped row is one that another transaction answers or closes. That one admits after it.
const NEXT = sql(`
  select i.id
    from hf.interaction as i indexed by interaction_queue
   where i.project = :project
     and i.concurrency_key = :key
     and i.status = ${QUEUED}
   order by i.since, i.execution_id, i.item, i.id
   limit :free
     for no key update of i skip locked`);

const ADMIT = sql(`
  update hf.interaction
     set status = ${OPEN},
         since  = hf_now()
   where id = any (:ids)`);

const FORGET = sql(`
  delete from hf.question_limit
   where project = :project
     and key = :key`);

/**
 * Opens queued questions of the keys of these units, as far as slots are free. `isNew`: the units
 * were just opened, so the last of a key sets its limit.
 */
export function* admitNext(
  units: readonly Pick<AwaitUnit, 'project' | 'concurrency'>[],
  isNew: boolean,
): Script<void> {
  const keys = new Map<string, SlotKey>();
  for (const { project, concurrency } of units) {
    if (concurrency === undefined) continue;
    keys.set(JSON.stringify([project, concurrency.key]), { project, ...concurrency, isNew });
  }
  // Every transaction locks keys in this order.
  const inOrder = [...keys].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, key] of inOrder) yield* admit(key);
}

interface SlotKey extends ConcurrencyKey {
  readonly project: ProjectName;
  readonly isNew: boolean;
}

/** Returns the number of questions that it opened. */
export function* admit(of: SlotKey): Script<number> {
  const { project, key } = of;
  const row = yield* one<{ readonly slots: number }>(LOCK, of);
  assert(row !== undefined, 'W-17: a key in use has a limit');
  const { slots } = row;
  const taken = (yield* one<{ readonly n: number }>(TAKEN, { project, key, slots }))?.n ?? 0;
  const free = Math.max(0, slots - taken);
  const next = free === 0 ? [] : yield* all<{ readonly id: string }>(NEXT, { project, key, free });
  if (next.length > 0) yield* all(ADMIT, { ids: next.map(({ id }) => id) });
  else if (taken === 0) yield* all(FORGET, { project, key });
  return next.length;
}
