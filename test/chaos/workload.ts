// Submits orders through any coordinator that responds, and remembers every acknowledgement.

import { CallRefused } from '../../src/client/client.ts';
import type { OrderInput } from './order.ts';
import type { Stage } from './stage.ts';

/** At most this many open at once, so that a stall does not pile up work without end. */
const IN_FLIGHT_MAX = 40;

export interface Order extends OrderInput {
  readonly id: string;
}

export interface WorkloadOptions {
  /** A failover may lose acknowledged orders, so a missing order is no problem. */
  readonly mayLose: boolean;
  /** Coordinators of the build before this one refuse keys of signals. */
  readonly keysSignals: boolean;
}

export class Workload {
  readonly orders: Order[] = [];
  readonly problems: string[] = [];
  readonly #stage: Stage;
  readonly #how: WorkloadOptions;
  #isOver = false;
  #n = 0;
  #running: Promise<unknown> = Promise.resolve();

  constructor(stage: Stage, how: WorkloadOptions) {
    this.#stage = stage;
    this.#how = how;
  }

  start(): void {
    const clients = Array.from({ length: IN_FLIGHT_MAX }, () =>
      this.#client().catch((error: Error) => this.problems.push(error.message)),
    );
    this.#running = Promise.all(clients);
  }

  /** Returns when every order that was acknowledged has ended, or has not for `waitMs`. */
  async finish(waitMs: number): Promise<void> {
    this.#isOver = true;
    const late = new Promise((resolve) => setTimeout(resolve, waitMs, 'late').unref());
    await Promise.race([this.#running, late]);
  }

  async #client(): Promise<void> {
    while (!this.#isOver) {
      const n = this.#n++;
      const input: OrderInput = { n, naps: n % 3 === 0, waits: n % 5 === 0 };
      const key = this.#stage.plant === 'doubled-start' ? undefined : `order/${n}`;
      const { id } = await this.#stage.ask(({ executions }) =>
        executions.submit({ pipeline: 'order', input, ...(key !== undefined && { key }) }),
      );
      this.orders.push({ ...input, id });
      await this.#await({ ...input, id }).catch((error: unknown) => {
        const isMissing = error instanceof CallRefused && error.status === 404;
        if (!(isMissing && this.#how.mayLose)) throw error;
      });
    }
  }

  async #await({ id, n, waits }: Order): Promise<void> {
    // With a key, a signal whose reply was lost can be repeated.
    const go = { name: 'go', ...(this.#how.keysSignals && { key: `go/${n}` }) };
    if (waits) {
      const sent = this.#stage.ask(({ executions }) => executions.signal(id, go, n));
      await sent.catch((error: unknown) => {
        // Without a key, the order may have ended before the signal was repeated.
        const hasArrived = error instanceof CallRefused && error.code === 'already-ended';
        if (!hasArrived || this.#how.keysSignals) throw error;
      });
    }
    const result = await this.#stage.ask(({ executions }) => executions.result(id));
    if (result.output !== n) this.problems.push(`Order ${n} (${id}): ${JSON.stringify(result)}.`);
  }
}
