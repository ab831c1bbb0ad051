import type { Place } from '../place.ts';
import { type Counted, counted, pause } from './counted.ts';
import { ORDER, stepsPipeline } from './open-subject.ts';

export interface IdleOrder {
  readonly quietMs: number;
}

/** A worker that has had something to do and has nothing to do now. */
export async function idle(place: Place, { quietMs }: IdleOrder): Promise<Counted> {
  const work = stepsPipeline(3);
  return counted(place, async ({ holdfast }) => {
    await holdfast.worker({ pipelines: [work] });
    await (await holdfast.submit(work, ORDER)).result();
    await pause(quietMs);
  });
}
