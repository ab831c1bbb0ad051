// Shared code of the subjects. A subject is one engine or queue in its own process:
//
//   submitMany(shape, count)  stores work in the fastest way that the engine offers
//   work()                    starts the worker
//   finished(count)           resolves when so many have ended, by the word of the store if it tells
//   run(shape)                submits one and waits for its result
//   pickupMs()                from a submit until the first line of its code, in milliseconds
//   wakeMs()                  from a signal until the next line of the code that awaits it
//   fanOut(children)          runs one execution that starts so many and waits for all
//   submitLater(count)        stores work that is due in a day
//   close()
//
// `one` and `three` are executions with one and with three durable steps. Queues without steps use a
// chain of jobs.

export const BATCH = 500;

/** Calls `store` with the numbers of one batch after the other. */
export async function inBatches(count, store) {
  for (let from = 0; from < count; from += BATCH) {
    await store(Array.from({ length: Math.min(BATCH, count - from) }, (_, nth) => from + nth));
  }
}

export async function inFlight(count, width, operation) {
  let next = 0;
  const loop = async () => {
    while (next < count) await operation(next++);
  };
  await Promise.all(Array.from({ length: width }, loop));
}

export const DAY_MS = 86_400_000;

/** So long after its start, code that waits for a signal is asleep. */
export const ASLEEP_MS = 100;

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when `left` returns 0. */
export async function untilNoneLeft(left) {
  while ((await left()) > 0) await pause(2);
}

/** Lets callers wait for an id that a worker reports. */
export class Ends {
  #waiting = new Map();

  wait(id) {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  ended(id) {
    this.#waiting.get(id)?.();
    this.#waiting.delete(id);
  }
}
