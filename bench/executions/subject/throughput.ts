import type { Handle } from '../../../src/engine/holdfast.ts';
import type { Pipeline } from '../../../src/engine/pipeline.ts';
import type { Round } from '../../measure.ts';
import type { StoreLocation } from '../store-location.ts';
import { copyEnded } from './copies.ts';
import { type Order, openSubject, type Subject, stepsPipeline, TEXT } from './open-subject.ts';

export interface ThroughputOrder {
  readonly steps: number;
  readonly executions: number;
  readonly inFlight: number;
  /** Executions before the measurement, so that V8 has compiled the code. */
  readonly warmUp: number;
  /** Characters of the input, of each step's result and of the output. Default 184. */
  readonly characters?: number;
  /** Spread over so many projects. Default 1. */
  readonly projects?: number;
  /** Ended executions that are in the store before. Default 0. */
  readonly ended?: number;
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
  const { ended: copies = 0 } = order;
  if (copies > 0) await copyEnded(subject.holdfast, { location, copies });
  if (order.warmUp > 0) await runAll(subject, work, { ...order, executions: order.warmUp });
  const measured = await runAll(subject, work, order);
  await subject.close();
  return measured;
}

export async function runAll(
  { holdfast, watch }: Subject,
  work: Pipeline<Order, string>,
  {
    executions,
    inFlight,
    steps,
    characters = TEXT.length,
    projects = 1,
  }: Omit<ThroughputOrder, 'warmUp'>,
): Promise<Throughput> {
  const handles: Handle<string>[] = [];
  const text = 'a'.repeat(characters);
  const startedAt = performance.now();
  while (handles.length < executions) {
    const count = Math.min(SUBMITTED_TOGETHER, executions - handles.length);
    const submits = Array.from({ length: count }, (_, nth) =>
      holdfast.submit(work, { text }, { project: `project-${nth % projects}` }),
    );
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
    if ((await handle?.result()) !== text) throw new Error('Not measured: a result is wrong.');
  }
  await worker.stop();
  return { ...round, submittedPerSecond };
}
