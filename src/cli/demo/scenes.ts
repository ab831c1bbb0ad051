// What is played: a worker that is frozen in its work, and a payment that fails.

import type { ExecutionRecord } from '../../execution/execution.ts';
import { isTerminal } from '../../execution/execution.ts';
import { formatFence } from '../../lease/fence.ts';
import { systemTimers } from '../../support/timer.ts';
import type { Cook, Crew } from './crew.ts';
import { PIPELINE } from './restaurant.ts';

const LOOK_MS = 100;
/** After so long a scene is over, whatever came of it. */
const LOOKS_MAX = 400;
/** A worker that wakes writes at once, or not at all. */
const LATE_WRITE_LOOKS_MAX = 50;

/** Until it is so; undefined when it does not come. */
async function until<Found>(
  crew: Crew,
  look: () => Promise<Found | undefined>,
  looksMax: number = LOOKS_MAX,
): Promise<Found | undefined> {
  for (let looks = 0; looks < looksMax && !crew.isStopped; looks += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await systemTimers.pause(LOOK_MS);
  }
  return undefined;
}

interface Cooking {
  readonly id: ExecutionRecord['id'];
  readonly fence: number;
  readonly cook: Cook;
}

/** An order that somebody must approve. */
export async function playAsk(crew: Crew): Promise<void> {
  const { id } = await crew.holdfast.submit(PIPELINE, { dish: 'soup', guest: 'ann', ask: true });
  const asked = await until(crew, async () => {
    const { items } = await crew.holdfast.awaits.list({ execution: id });
    return items[0];
  });
  if (asked === undefined) return;
  crew.tell('A soup was ordered and charged. It waits until somebody approves it.', id);
  crew.awaitAnswer(id);
}

const ANSWER_LOOK_MS = 300;

/** For as long as it takes; not when it was answered before anybody looked. */
export async function tellAnswer(crew: Crew, id: ExecutionRecord['id']): Promise<void> {
  const isSettled = async (): Promise<boolean> =>
    (await crew.holdfast.history(id, { limit: 1_000 })).some(
      ({ kind }) => kind === 'await-settled',
    );
  if (await isSettled()) return;
  while (!crew.isStopped) {
    await systemTimers.pause(ANSWER_LOOK_MS);
    if (!(await isSettled())) continue;
    crew.tell('The soup was answered for, and goes on where it waited: see its steps run.', id);
    return;
  }
}

/** A worker that wakes may learn that it was replaced before it writes. Then there is nothing to refuse: once more. */
export async function playFreeze(crew: Crew): Promise<void> {
  for (let times = 0; times < ORDERS_MAX && !crew.isStopped; times += 1) {
    if (await freezeOnce(crew)) return;
  }
}

/** Whether a late write was refused. */
async function freezeOnce(crew: Crew): Promise<boolean> {
  const cooking = await frozenWhileCooking(crew);
  if (cooking === undefined) return false;
  const { id, cook, fence } = cooking;
  const { name, child } = cook;
  try {
    crew.tell(
      `${name} is frozen (SIGSTOP to ${child.pid}) while it cooks, under fence ${shown(fence)}. It has no idea.`,
      id,
    );
    const taken = await until(crew, async () => {
      const now = await crew.holdfast.read(id);
      return now?.fence !== undefined && now.fence !== fence && now.session !== cook.session
        ? now.fence
        : undefined;
    });
    if (taken === undefined) return false;
    crew.tell(
      `Its heartbeats stopped, so its lease lapsed: another took over under fence ${shown(taken)}, and cooks.`,
      id,
    );
    await until(crew, async () => ((await stepsOf(crew, id)).includes('cook') ? true : undefined));
  } finally {
    crew.thaw(cook);
  }
  crew.tell(`${name} is let go. It believes that it has just cooked, and writes that down …`, id);
  const refused = await until(
    crew,
    async () => {
      const { items } = await crew.holdfast.refusals({ execution: id });
      return items.find((each) => each.fence === fence);
    },
    LATE_WRITE_LOOKS_MAX,
  );
  crew.tell(
    refused === undefined
      ? `… but ${name} learned first that it was replaced, and wrote nothing. Another stew is ordered.`
      : `… and is refused: ${refused.verb} under the old fence ${shown(fence)}. What is on record was cooked once.`,
    id,
  );
  return refused !== undefined;
}

export async function playFailedPayment(crew: Crew): Promise<void> {
  const guest = 'carol';
  crew.failPayment(guest);
  const { id } = await crew.holdfast.submit(PIPELINE, { dish: 'cake', guest });
  crew.tell('A cake was ordered. Its payment will fail after it is made.', id);
  const undoing = await until(crew, async () => {
    const now = await crew.holdfast.read(id);
    return now?.compensating === true ? true : undefined;
  });
  if (undoing === undefined) return;
  crew.tell('The payment failed: what was done is undone, the last step first.', id);
  const ended = await until(crew, async () => {
    const now = await crew.holdfast.read(id);
    return now !== undefined && isTerminal(now.status) ? now.status : undefined;
  });
  if (ended !== 'quarantined') return;
  crew.tell(
    'The bank would not pay back. That is a dead letter now: re-drive it, and the bank is open.',
    id,
  );
}

const ORDERS_MAX = 3;

/**
 * An order, and the worker that was frozen in the middle of its step. On a busy machine the signal may come after the
 * step: then that worker has no late write, and another order is placed.
 */
async function frozenWhileCooking(crew: Crew): Promise<Cooking | undefined> {
  for (let orders = 0; orders < ORDERS_MAX; orders += 1) {
    const { id } = await crew.holdfast.submit(PIPELINE, { dish: 'stew', guest: 'fred' });
    crew.freezeWhoCooks(id);
    crew.tell('A stew was ordered. The process that cooks it is frozen.', id);
    const cook = await until(crew, async () => crew.cooks.find(({ isFrozen }) => isFrozen));
    if (cook === undefined) return undefined;
    const now = await crew.holdfast.read(id);
    const isTooLate = (await stepsOf(crew, id)).includes('cook');
    if (!isTooLate && now?.fence !== undefined) return { id, fence: now.fence, cook };
    crew.thaw(cook);
  }
  return undefined;
}

async function stepsOf(crew: Crew, id: ExecutionRecord['id']): Promise<readonly string[]> {
  const history = await crew.holdfast.history(id, { limit: 1_000 });
  return history.flatMap(({ kind, name }) =>
    kind === 'step-completed' && name !== undefined ? [name] : [],
  );
}

function shown(fence: number): string {
  return formatFence(fence as Parameters<typeof formatFence>[0]);
}
