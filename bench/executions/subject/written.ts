import type { StoreLocation } from '../store-location.ts';
import { type Counted, counted } from './counted.ts';
import { ORDER, stepsPipeline, TEXT } from './open-subject.ts';
import { runAll } from './throughput.ts';

export interface WrittenOrder {
  readonly steps: number;
  /** 0 measures only opening and closing. */
  readonly executions: number;
  /** With 1, each execution is submitted after the result of the previous one. */
  readonly inFlight: number;
}

export async function written(location: StoreLocation, order: WrittenOrder): Promise<Counted> {
  const work = stepsPipeline(order.steps);
  return counted(location, async (subject) => {
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
