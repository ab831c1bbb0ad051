// What a worker does with executions, as metrics in a registry of prom-client.

import { Counter, Histogram, type Registry } from 'prom-client';
import type { ExecutionObserver, ExecutionReport } from '../execution/report.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { type PrometheusOptions, registryOf } from './prometheus-registry.ts';

const SECOND_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 60, 300, 1_800, 3_600];

/**
 * Registers the metrics of executions and returns the observer that feeds them. Call it once for each registry.
 * Pipelines are a label: a worker runs those that its code has.
 *
 * @throws InvalidInput if `registry` is missing.
 *
 * @example
 * const observer = prometheusExecutionObserver({ registry });
 * const holdfast = await openHoldfast({ store: './holdfast.db', observer });
 */
export function prometheusExecutionObserver(options: PrometheusOptions): ExecutionObserver {
  const what = 'prometheusExecutionObserver';
  rejectUnknownOptions(what, options, ['registry']);
  const feed = new Feed(registryOf(what, options));
  return { report: (report) => feed.take(report) };
}

class Feed {
  readonly #claims: Counter;
  readonly #waits: Histogram;
  readonly #steps: Histogram;
  readonly #departures: Counter;

  constructor(registry: Registry) {
    const about = (name: string, help: string, ...labels: readonly string[]) => ({
      ...{ name: `holdfast_execution_${name}`, help, registers: [registry] },
      labelNames: ['pipeline', ...labels],
    });
    const claims = 'Claims, by how the one before ended; lost is a takeover.';
    this.#claims = new Counter(about('claims_total', claims, 'previous'));
    this.#waits = new Histogram({
      ...about('claim_wait_seconds', 'From being ready to being claimed.'),
      buckets: SECOND_BUCKETS,
    });
    this.#steps = new Histogram({
      ...about('step_seconds', 'Attempts of steps and how long they took.', 'outcome'),
      buckets: SECOND_BUCKETS,
    });
    const left = 'How executions left this process: parked, given back, lost, or their status.';
    this.#departures = new Counter(about('departures_total', left, 'how'));
  }

  take(report: ExecutionReport): void {
    switch (report.kind) {
      case 'claimed': {
        const { pipeline, previous, waitedMs } = report;
        this.#claims.inc({ pipeline, previous });
        this.#waits.observe({ pipeline }, waitedMs / 1_000);
        return;
      }
      case 'step': {
        const { pipeline, failure, tookMs } = report;
        const outcome = failure === undefined ? 'completed' : 'failed';
        this.#steps.observe({ pipeline, outcome }, tookMs / 1_000);
        return;
      }
      case 'parked':
      case 'given-back':
      case 'blocked':
      case 'ended':
      case 'lost': {
        const how = report.kind === 'ended' ? report.status : report.kind;
        this.#departures.inc({ pipeline: report.pipeline, how });
        return;
      }
      default:
    }
  }
}
