// One of everything that the verbs can create.

import {
  answering,
  answeringEarly,
  interactionId,
  mustOpen,
  parkedOn,
} from '../../contract/execution/awaits/awaiting.ts';
import { ended, letter, mustRedrive, undoing } from '../../contract/execution/repair/repairing.ts';
import { putting } from '../../contract/execution/scheduling/schedules.ts';
import {
  childOf,
  claimAll,
  commanding,
  heldOf,
  later,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRecord,
  mustSubmit,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  parking,
  payload,
  running,
  signalling,
  submitting,
  worker,
  writing,
} from '../../contract/execution/worker.ts';
import type { Park } from '../../src/store/contract/execution-store.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { World } from './worlds.ts';

/** Records the wait as the engine does. */
export function parkedFor(...calls: readonly string[]): Pick<Park, 'events'> {
  return { events: [{ kind: 'parked', body: payload({ for: calls }) }] };
}

/** A claim for pipeline `orders` takes none of these afterwards. */
export async function fillWithLife({ store, now }: World): Promise<void> {
  const { executions } = store;
  const zoe = await worker(store, 'zoe');
  await running(store, zoe);
  await mustRecord(store, await running(store, zoe));
  // Waiting: for a signal, a time, an answer, a child, and a child that continues as another.
  await mustPark(store, await running(store, zoe), parkedFor('signal:go#1'));
  await mustPark(store, await running(store, zoe), {
    ...parkedFor('sleep:night#1'),
    wakeInMs: 86_400_000,
  });
  await parkedOn(store, zoe, { items: 2, needed: 1 });
  const half = await parkedOn(store, zoe, { items: 2, needed: 2, timeoutMs: 86_400_000 });
  await executions.answer(answering(interactionId(half.id)));
  await parentOf(store, zoe);
  // Answered, notified, and parked again.
  const answered = await mustOpen(store, await running(store, zoe));
  await executions.answer(answering(interactionId(answered.id)));
  await mustPark(store, answered, { ...parkedFor('signal:go#1'), inboxSeen: 1 });
  await executions.answer(answeringEarly((await running(store, zoe)).id));
  // Ended in every way.
  for (const status of ['completed', 'cancelled', 'compensated'] as const) {
    await ended(store, zoe, { status });
  }
  const failed = await ended(store, zoe, { deadLetter: letter() });
  await ended(store, zoe, { status: 'quarantined', deadLetter: letter() });
  await mustRedrive(store, failed);
  await mustClaim(store, zoe);
  const asked = await parkedOn(store, zoe);
  await executions.cancel(commanding(asked.id));
  await undoing(store, zoe);
  // Paused, delayed, blocked; without a free slot; in another project.
  await executions.pause(commanding(await mustSubmit(store)));
  await mustSubmit(store, { delayMs: 86_400_000 });
  await mustSubmit(store, { project: OTHER_PROJECT, delayMs: 86_400_000 });
  const concurrency = { key: 'busy', limit: 1 };
  await running(store, zoe, { concurrency });
  await mustSubmit(store, { concurrency });
  const signalled = await running(store, zoe);
  await executions.signal(signalling(signalled.id));
  await executions.putSchedule(putting((now() + 86_400_000) as Instant));
  await executions.putSchedule(putting((now() + 86_400_000) as Instant, { id: 'paused' }));
  await executions.pauseSchedule({ project: submitting().project, id: 'paused' });
  await mustGiveBack(store, await running(store, zoe));
  await mustClaim(store, zoe);
}

async function parentOf(
  store: World['store'],
  who: Awaited<ReturnType<typeof worker>>,
): Promise<void> {
  const { executions } = store;
  const parent = await running(store, who);
  const children = ['child:a#1', 'child:b#1', 'child:c#1'].map((call) => childOf(parent.id, call));
  await executions.record({ ...writing(parent), children });
  await executions.park({ ...parking(later(parent), parkedFor('result:a#1')), wakeAfter: 3 });
  const claims = await claimAll(store, who, { pipelines: [OTHER_PIPELINE] });
  const [a, b, c] = claims.map((claimed) => heldOf(claimed, who));
  if (a === undefined || b === undefined || c === undefined) throw new Error('three children');
  await mustFinish(store, a, { outcome: payload({ status: 'completed' }) });
  const successor = childOf(parent.id, 'child:b#1', { delayMs: 86_400_000 });
  const body = payload({ continuedAs: successor.id });
  const goesOn = { ...writing(b, { kind: 'completed', body }), status: 'completed' } as const;
  await executions.finish({ ...goesOn, successor });
  await mustPark(store, c, parkedFor('signal:go#1'));
}
