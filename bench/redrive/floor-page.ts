// What a floor of re-drives reads and writes for each letter, and how many at once.

import { roundOf } from '../measure.ts';

export interface FloorLetters {
  /** Letters with a history of so many events each. */
  fill(letters: number): Promise<void>;
  /** One transaction: reads the next page with its history, makes an execution of each, marks it. */
  page(): Promise<number>;
  close(): Promise<void>;
}

export const PAGE = 200;
/** Of a letter: submitted, claimed, a step, a step that failed, failed. */
export const EVENTS = 5;
/** Of what is made of it: submitted, the step that is reused. */
export const REUSED = 2;
export const PAYLOAD: string = 'a'.repeat(200);

/** Prints a round as JSON. */
export async function runFloor(floor: FloorLetters, letters: number): Promise<void> {
  await floor.fill(letters);
  const latencies: number[] = [];
  const startedAt = performance.now();
  for (let done = 0; done < letters; ) {
    const askedAt = performance.now();
    const size = await floor.page();
    if (size === 0) throw new Error(`Not measured: ${done} of ${letters} letters were found.`);
    const ms = performance.now() - askedAt;
    for (let nth = 0; nth < size; nth += 1) latencies.push(ms);
    done += size;
  }
  console.log(JSON.stringify(roundOf(latencies, performance.now() - startedAt)));
  await floor.close();
}
