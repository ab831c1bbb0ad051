import { pipeline } from '../../../src/engine/pipeline.ts';
import type { StoreLocation } from '../store-location.ts';
import { type Counted, counted, pause } from './counted.ts';
import { ORDER, openSubject, stepsPipeline } from './open-subject.ts';

export interface HeartbeatOrder {
  readonly rounds: number;
  readonly beats: number;
  readonly steps: number;
}

/** The time of each, in microseconds, one value per round. */
export interface HeartbeatCost {
  readonly beats: readonly number[];
  readonly steps: readonly number[];
}

/** One step that sends many heartbeats, and executions with many steps, in turn. */
export async function heartbeatCost(
  location: StoreLocation,
  order: HeartbeatOrder,
): Promise<HeartbeatCost> {
  const { holdfast, close } = await openSubject(location);
  const beating = pipeline<number, number>({
    name: 'beating',
    run: (ctx, beats) =>
      ctx.step('s', async (step) => {
        const startedAt = performance.now();
        for (let row = 1; row <= beats; row += 1) {
          step.heartbeat({ row });
          // A real step works in between.
          await null;
        }
        return performance.now() - startedAt;
      }),
  });
  const stepping = stepsPipeline(order.steps);
  await holdfast.worker({ pipelines: [beating, stepping] });
  const found: { beats: number[]; steps: number[] } = { beats: [], steps: [] };
  // The first round warms up.
  for (let round = 0; round <= order.rounds; round += 1) {
    const beatsMs = await (await holdfast.submit(beating, order.beats)).result();
    const startedAt = performance.now();
    await (await holdfast.submit(stepping, ORDER)).result();
    const stepsMs = performance.now() - startedAt;
    if (round === 0) continue;
    found.beats.push((beatsMs * 1_000) / order.beats);
    found.steps.push((stepsMs * 1_000) / order.steps);
  }
  await close();
  return found;
}

export interface HeartbeatWritesOrder {
  readonly executions: number;
  readonly forMs: number;
  readonly everyMs: number;
  readonly isSilent: boolean;
}

export async function heartbeatWrites(
  location: StoreLocation,
  { executions, forMs, everyMs, isSilent }: HeartbeatWritesOrder,
): Promise<Counted> {
  const long = pipeline<null, null>({
    name: 'long',
    run: (ctx) =>
      ctx.step('s', async (step) => {
        for (let row = 1; row <= forMs / everyMs; row += 1) {
          await pause(everyMs);
          if (!isSilent) step.heartbeat({ row });
        }
        return null;
      }),
  });
  return counted(location, async ({ holdfast }) => {
    const worker = await holdfast.worker({ pipelines: [long], concurrency: executions });
    const all = Array.from({ length: executions }, async () =>
      (await holdfast.submit(long, null)).result(),
    );
    await Promise.all(all);
    await worker.stop();
  });
}
