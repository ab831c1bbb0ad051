import { type Round, roundOf } from '../../measure.ts';
import type { Place } from '../place.ts';
import { ORDER, openSubject, stepsPipeline, TEXT } from './open-subject.ts';

export interface OneAtATimeOrder {
  readonly steps: number;
  readonly executions: number;
  readonly warmUp: number;
}

export interface OneAtATime {
  /** From the claim to the end, as the worker sees it. */
  readonly claimed: Round;
  /** From before `submit` to after `result`, as a caller sees it. */
  readonly submitted: Round;
}

/** Each is submitted when the one before it has answered. */
export async function oneAtATime(place: Place, order: OneAtATimeOrder): Promise<OneAtATime> {
  const { holdfast, watch, close } = await openSubject(place);
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
