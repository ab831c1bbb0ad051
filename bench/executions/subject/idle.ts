import type { Place } from '../place.ts';
import { type Counted, counted, pause } from './counted.ts';
import { ORDER, stepsPipeline } from './open-subject.ts';

export interface IdleOrder {
  readonly quietMs: number;
  /** Without one: what a server does by itself, such as looking whether there is something to vacuum. */
  readonly hasWorker: boolean;
}

/** A worker that has had something to do and has nothing to do now. */
export async function idle(place: Place, { quietMs, hasWorker }: IdleOrder): Promise<Counted> {
  const work = stepsPipeline(3);
  return counted(place, async ({ holdfast }) => {
    if (!hasWorker) return pause(quietMs);
    await holdfast.worker({ pipelines: [work] });
    await (await holdfast.submit(work, ORDER)).result();
    await pause(quietMs);
  });
}
