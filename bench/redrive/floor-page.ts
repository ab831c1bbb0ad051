// Drives a floor of re-drives: pages of dead letters, until all are re-driven.

import { roundOf } from '../measure.ts';

export interface FloorLetters {
  /** Writes dead letters, each with a history of `EVENTS` events. */
  fill(letters: number): Promise<void>;
  /** One transaction: reads the next page with histories, creates the new executions, marks the letters. */
  page(): Promise<number>;
  close(): Promise<void>;
}

export const PAGE = 200;
/** The history of a letter: submitted, claimed, a step, a failed step, failed. */
export const EVENTS = 5;
/** The history of the new execution: submitted, and the reused step. */
export const REUSED = 2;
export const PAYLOAD: string = 'a'.repeat(200);

/** Prints the round as JSON. */
export async function runFloor(floor: FloorLetters, letters: number): Promise<void> {
  await floor.fill(letters);
  const latencies: number[] = [];
  const startedAt = performance.now();
  for (let done = 0; done < letters; ) {
    const pageStartedAt = performance.now();
    const size = await floor.page();
    if (size === 0) throw new Error(`Not measured: ${done} of ${letters} letters were found.`);
    const ms = performance.now() - pageStartedAt;
    for (let nth = 0; nth < size; nth += 1) latencies.push(ms);
    done += size;
  }
  console.log(JSON.stringify(roundOf(latencies, performance.now() - startedAt)));
  await floor.close();
}
