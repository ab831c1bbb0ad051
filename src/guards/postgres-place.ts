// The place of one request inside a resource: a connection with an open transaction, whose row lock
// lasts exactly as long as the connection does. When the server ends the connection the place is
// gone, whatever the request is doing; all that is left then is to say so, loudly.

import { StoreUnavailable } from '../support/fault.ts';
import type { Timers } from '../support/timer.ts';
import { type Entered, PlaceLost } from './marks.ts';
import type { PostgresPool, PostgresPoolClient } from './postgres-connection.ts';

export class Place {
  readonly client: PostgresPoolClient;
  readonly #resource: string;
  readonly #lost: AbortController = new AbortController();
  #left: Promise<void> | undefined;
  /** Also keeps a connection that breaks while nobody queries it from ending the process. */
  readonly #onError = (error: Error): void => {
    this.#lost.abort(new PlaceLost(this.#resource, { cause: error }));
  };

  constructor(client: PostgresPoolClient, resource: string) {
    this.client = client;
    this.#resource = resource;
    client.on('error', this.#onError);
  }

  entered(): Entered {
    const leave = () => {
      this.#left ??= this.#leave();
      return this.#left;
    };
    return { kind: 'entered', lost: this.#lost.signal, leave };
  }

  giveBack(destroy: boolean): void {
    this.client.off('error', this.#onError);
    this.client.release(destroy || this.#lost.signal.aborted);
  }

  /** Rejects when the place did not last until now: a later holder may have been inside. */
  async #leave(): Promise<void> {
    try {
      this.#lost.signal.throwIfAborted();
      // Nothing was written; the transaction only held a lock.
      await this.client.query('rollback', []);
    } catch (error) {
      if (!this.#lost.signal.aborted) {
        this.#lost.abort(new PlaceLost(this.#resource, { cause: error }));
      }
      this.giveBack(true);
      throw this.#lost.signal.reason;
    }
    this.giveBack(false);
  }
}

/** A pool without a free connection must not make a new holder wait longer than it said. */
export async function connectWithin(
  pool: PostgresPool,
  limitMs: number,
  timers: Timers,
): Promise<PostgresPoolClient> {
  const connecting = pool.connect();
  const late = Promise.withResolvers<never>();
  let isLate = false;
  const cancel = timers.after(limitMs, () => {
    isLate = true;
    late.reject(
      new StoreUnavailable(
        `No connection of the pool came free within ${limitMs} ms; no mark was raised. Each ` +
          'request at work holds one: give postgresMarks a pool of its own, with one for each.',
      ),
    );
  });
  connecting.then(
    (client) => {
      if (isLate) client.release();
    },
    () => undefined,
  );
  try {
    return await Promise.race([connecting, late.promise]);
  } finally {
    cancel();
  }
}
