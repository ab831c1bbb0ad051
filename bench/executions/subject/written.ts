import type { Place } from '../place.ts';
import { type Counted, counted } from './counted.ts';
import { ORDER, stepsPipeline, TEXT } from './open-subject.ts';
import { runAll } from './throughput.ts';

export interface WrittenOrder {
  readonly steps: number;
  /** None: what opening and closing costs. */
  readonly executions: number;
  /** 1: each is submitted when the one before it has answered. */
  readonly inFlight: number;
}

export async function written(place: Place, order: WrittenOrder): Promise<Counted> {
  const work = stepsPipeline(order.steps);
  return counted(place, async (subject) => {
    if (order.inFlight > 1 && order.executions > 0) {
      await runAll(subject, work, order);
      return;
    }
    const worker = await subject.holdfast.worker({ pipelines: [work] });
    for (let n = 0; n < order.executions; n += 1) {
      const handle = await subject.holdfast.submit(work, ORDER);
      if ((await handle.result()) !== TEXT) throw new Error('Not measured: a result is wrong.');
    }
    await worker.stop();
  });
}
