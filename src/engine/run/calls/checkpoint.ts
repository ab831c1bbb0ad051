// A checkpoint of the user's own: its state replaces everything recorded before it.

import type { Payload } from '../../../execution/names.ts';
import { InvalidInput } from '../../../support/fault.ts';
import { CHECKPOINT } from '../../values/place.ts';
import type { Run } from '../run.ts';

/** Durable when it resolves. Nothing else of the execution may be under way. */
export async function checkpoint(run: Run, state: unknown): Promise<void> {
  if (run.calls.size > 0 || run.activeSteps > 0) {
    throw new InvalidInput(
      `ctx.checkpoint: ${[...run.calls.keys()].join(', ') || 'a step'} is still under way. Await everything first: what is not settled would be lost.`,
    );
  }
  run.saga.assertMayForget();
  const { unasked } = run;
  if (unasked !== undefined) {
    // What the code has not asked for yet would be forgotten.
    run.events.drifted({ ...unasked, found: 'ctx.checkpoint' });
    return new Promise<never>(() => undefined);
  }
  run.pipeline.validateCheckpoint?.(state);
  const payload = await run.payloads.encode('A checkpoint', state, run.placeOf(CHECKPOINT));
  if (run.cancelled !== undefined) throw run.cancelled;
  const { promise, resolve } = Promise.withResolvers<void>();
  run.active(1);
  run.journal.record({
    event: { kind: 'checkpointed', body: `{"state":${payload}}` as Payload },
    stored: (at) => {
      run.beginEra(at);
      run.active(-1);
      resolve();
    },
  });
  await promise;
}
