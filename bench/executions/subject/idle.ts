import type { StoreLocation } from '../store-location.ts';
import { type Counted, counted, pause } from './counted.ts';
import { ORDER, stepsPipeline } from './open-subject.ts';

export interface IdleOrder {
  readonly quietMs: number;
  /** Without a worker, it counts the server's own work, such as checks for autovacuum. */
  readonly hasWorker: boolean;
}

/** The worker runs one execution first, and then has no work. */
export async function idle(
  location: StoreLocation,
  { quietMs, hasWorker }: IdleOrder,
): Promise<Counted> {
  const work = stepsPipeline(3);
  return counted(location, async ({ holdfast }) => {
    if (!hasWorker) return pause(quietMs);
    await holdfast.worker({ pipelines: [work] });
    await (await holdfast.submit(work, ORDER)).result();
    await pause(quietMs);
  });
}
