import type { Handle } from '../../../src/engine/holdfast.ts';
import type { Pipeline } from '../../../src/engine/pipeline.ts';
import type { Round } from '../../measure.ts';
import type { StoreLocation } from '../store-location.ts';
import {
  ORDER,
  type Order,
  openSubject,
  type Subject,
  stepsPipeline,
  TEXT,
} from './open-subject.ts';

export interface ThroughputOrder {
  readonly steps: number;
  readonly executions: number;
  readonly inFlight: number;
  /** Executions before the measurement, so that V8 has compiled the code. */
  readonly warmUp: number;
}

export interface Throughput extends Round {
  readonly submittedPerSecond: number;
}

const SUBMITTED_TOGETHER = 500;

/** Submits all executions, then measures from the start of a worker to the last end. */
export async function throughput(
  location: StoreLocation,
  order: ThroughputOrder,
): Promise<Throughput> {
  const subject = await openSubject(location);
  const work = stepsPipeline(order.steps);
  if (order.warmUp > 0) await runAll(subject, work, { ...order, executions: order.warmUp });
  const measured = await runAll(subject, work, order);
  await subject.close();
  return measured;
}

export async function runAll(
  { holdfast, watch }: Subject,
  work: Pipeline<Order, string>,
  { executions, inFlight, steps }: Omit<ThroughputOrder, 'warmUp'>,
): Promise<Throughput> {
  const handles: Handle<string>[] = [];
  const startedAt = performance.now();
  while (handles.length < executions) {
    const count = Math.min(SUBMITTED_TOGETHER, executions - handles.length);
    const submits = Array.from({ length: count }, () => holdfast.submit(work, ORDER));
    handles.push(...(await Promise.all(submits)));
  }
  const submittedPerSecond = (executions / (performance.now() - startedAt)) * 1_000;
  watch.expect(executions);
  const worker = await holdfast.worker({ pipelines: [work], concurrency: inFlight });
  const round = await watch.measured();
  if (watch.steps !== executions * steps) {
    throw new Error(`Not measured: ${watch.steps} steps ran for ${executions} executions.`);
  }
  for (const handle of [handles[0], handles.at(-1)]) {
    if ((await handle?.result()) !== TEXT) throw new Error('Not measured: a result is wrong.');
  }
  await worker.stop();
  return { ...round, submittedPerSecond };
}
