import { type Round, roundOf } from '../../measure.ts';
import type { StoreLocation } from '../store-location.ts';
import { ORDER, openSubject, stepsPipeline, TEXT } from './open-subject.ts';

export interface OneAtATimeOrder {
  readonly steps: number;
  readonly executions: number;
  readonly warmUp: number;
}

export interface OneAtATime {
  /** From the claim to the end, measured by the worker. */
  readonly claimed: Round;
  /** From `submit` to `result`, measured by the caller. */
  readonly submitted: Round;
}

/** Submits each execution after the result of the previous one. */
export async function oneAtATime(
  location: StoreLocation,
  order: OneAtATimeOrder,
): Promise<OneAtATime> {
  const { holdfast, watch, close } = await openSubject(location);
  const work = stepsPipeline(order.steps);
  await holdfast.worker({ pipelines: [work] });
  const drive = async (executions: number): Promise<OneAtATime> => {
    watch.expect(executions);
    const latencies: number[] = [];
    const startedAt = performance.now();
    for (let before = startedAt; latencies.length < executions; before = performance.now()) {
      const handle = await holdfast.submit(work, ORDER);
      if ((await handle.result()) !== TEXT) throw new Error('Not measured: a result is wrong.');
      latencies.push(performance.now() - before);
    }
    const submitted = roundOf(latencies, performance.now() - startedAt);
    return { claimed: await watch.measured(), submitted };
  };
  await drive(order.warmUp);
  const measured = await drive(order.executions);
  await close();
  return measured;
}
