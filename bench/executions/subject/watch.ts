import type { ExecutionObserver, ExecutionReport } from '../../../src/execution/report.ts';
import { type Round, roundOf } from '../../measure.ts';

/** An observer that counts steps and measures each execution from its claim to its end. */
export class Watch implements ExecutionObserver {
  readonly #claimedAt: Map<string, number> = new Map();
  #latencies: number[] = [];
  #steps = 0;
  #startedAt = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #done: PromiseWithResolvers<void> = Promise.withResolvers();

  /** Resets all counts and starts a measurement. */
  expect(executions: number): void {
    this.#latencies = [];
    this.#steps = 0;
    this.#wanted = executions;
    this.#done = Promise.withResolvers();
    this.#startedAt = performance.now();
  }

  get steps(): number {
    return this.#steps;
  }

  get ended(): number {
    return this.#latencies.length;
  }

  /** Waits until the expected number of executions has completed. */
  async measured(): Promise<Round> {
    await this.#done.promise;
    return roundOf(this.#latencies, performance.now() - this.#startedAt);
  }

  report(report: ExecutionReport): void {
    switch (report.kind) {
      case 'claimed':
        this.#claimedAt.set(report.execution, performance.now());
        return;
      case 'step':
        this.#steps += 1;
        return;
      case 'ended':
        this.#end(report);
        return;
      case 'trouble':
        console.error(`${report.what}: ${report.cause}`);
        return;
      default:
        return;
    }
  }

  #end({ execution, status, failure }: Extract<ExecutionReport, { kind: 'ended' }>): void {
    if (status !== 'completed') {
      this.#done.reject(new Error(`An execution ended as ${status}: ${JSON.stringify(failure)}.`));
      return;
    }
    const claimedAt = this.#claimedAt.get(execution);
    this.#claimedAt.delete(execution);
    if (claimedAt !== undefined) this.#latencies.push(performance.now() - claimedAt);
    if (this.#latencies.length === this.#wanted) this.#done.resolve();
  }
}
