// holdfast/observe/prometheus: turns the library's reports into metrics in a prom-client registry.
// The names are stable; docs/operate/lease-metrics.md lists them and the Grafana dashboard uses exactly
// these.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { parseProject } from '../execution/names.ts';
import { type ExecutionObserver, howLeft, isLeaving } from '../execution/report.ts';
import type { LeaseObserver } from '../lease/observer.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions, requireMethods } from '../support/options.ts';
import { readingsOf, registerBacklog } from './backlog-metrics.ts';
import { METRICS, type Measure, type MetricName, measureReport } from './metric-names.ts';

const SECOND_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const BUCKETS: Partial<Record<MetricName, number[]>> = {
  holdfast_lease_operation_seconds: SECOND_BUCKETS,
  holdfast_lease_renewal_slack_seconds: [0, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300],
  holdfast_lease_renewal_attempts: [1, 2, 3, 4, 5, 7, 10, 15, 20],
  holdfast_lease_event_loop_lag_seconds: SECOND_BUCKETS,
  holdfast_lease_checkpoint_bytes: [0, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144],
  holdfast_lease_checkpoint_interval_seconds: [
    ...[0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600],
  ],
  holdfast_lease_overrun_seconds: SECOND_BUCKETS,
};

/** Options of the Prometheus observers. */
export interface PrometheusOptions {
  /** The registry of `prom-client` that gets the metrics. */
  readonly registry: Registry;
}

/**
 * Registers metrics of leases and returns the observer that feeds them. Call it once per registry.
 *
 * Throws `InvalidInput` if `registry` is missing.
 *
 * @example
 * import { openSession } from 'holdfast';
 * import { register } from 'prom-client';
 *
 * const observer = prometheusObserver({ registry: register });
 * await using session = await openSession({ store, owner: 'billing@host-3', observer });
 */
export function prometheusObserver(options: PrometheusOptions): LeaseObserver {
  const registry = registryOf('prometheusObserver', options);
  const names = Object.keys(METRICS) as MetricName[];
  const metrics = new Map(names.map((name) => [name, register(registry, name)]));
  const measure: Measure = (name, value, labels = {}) => metrics.get(name)?.(labels, value);
  return { report: (report) => measureReport(report, measure) };
}

type Feed = (labels: Readonly<Record<string, string>>, value: number) => void;

function register(registry: Registry, name: MetricName): Feed {
  const { kind, help, labels } = METRICS[name];
  const about = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'counter') {
    const counter = new Counter(about);
    return (of, value) => counter.inc(of, value);
  }
  if (kind === 'gauge') {
    const gauge = new Gauge(about);
    return (of, value) => gauge.set(of, value);
  }
  const histogram = new Histogram({ ...about, buckets: BUCKETS[name] ?? SECOND_BUCKETS });
  return (of, value) => histogram.observe(of, value);
}

function registryOf(what: string, options: PrometheusOptions): Registry {
  rejectUnknownOptions(what, options, ['registry']);
  const { registry } = options;
  if (typeof registry?.registerMetric === 'function') return registry;
  throw new InvalidInput(`${what}: registry is missing; pass a Registry of prom-client.`);
}

// Metrics of a worker's executions, in a prom-client registry.

const EXECUTION_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 60, 300, 1_800, 3_600];

/**
 * Registers metrics of executions and returns the observer that feeds them. Call it once per
 * registry.
 *
 * Pipelines are a label. Throws `InvalidInput` if `registry` is missing.
 *
 * @example
 * import { openHoldfast } from 'holdfast';
 * import { register } from 'prom-client';
 *
 * const observer = prometheusExecutionObserver({ registry: register });
 * await using holdfast = await openHoldfast({ store: './holdfast.db', observer });
 */
export function prometheusExecutionObserver(options: PrometheusOptions): ExecutionObserver {
  const registry = registryOf('prometheusExecutionObserver', options);
  const about = (name: string, help: string, ...labels: readonly string[]) => ({
    ...{ name: `holdfast_execution_${name}`, help, registers: [registry] },
    labelNames: ['pipeline', ...labels],
  });
  const seconds = (name: string, help: string, ...labels: readonly string[]) =>
    new Histogram({ ...about(name, help, ...labels), buckets: EXECUTION_BUCKETS });
  const help = 'Claims, by the end of the previous claim. The end "lost" is a takeover.';
  const claims = new Counter(about('claims_total', help, 'previous'));
  const waits = seconds('claim_wait_seconds', 'The time from ready to claimed.');
  const steps = seconds('step_seconds', 'The duration of attempts of steps.', 'outcome');
  const left =
    'Executions that left this process, by reason: parked, given back, lost, or their status.';
  const departures = new Counter(about('departures_total', left, 'how'));
  const running = new Gauge(
    about('running', 'Taken slots: executions that run in this process now.'),
  );
  return {
    report(report) {
      if (report.kind === 'claimed') {
        const { pipeline, previous, waitedMs } = report;
        claims.inc({ pipeline, previous });
        running.inc({ pipeline });
        waits.observe({ pipeline }, waitedMs / 1_000);
      } else if (report.kind === 'step') {
        const { pipeline, failure, tookMs } = report;
        const outcome = failure === undefined ? 'completed' : 'failed';
        steps.observe({ pipeline, outcome }, tookMs / 1_000);
      } else if (isLeaving(report)) {
        const { pipeline } = report;
        departures.inc({ pipeline, how: howLeft(report) });
        running.dec({ pipeline });
      }
    },
  };
}

// Metrics of the store that an embedded engine uses.

/** Options of `prometheusBacklog`. */
export interface PrometheusBacklogOptions extends PrometheusOptions {
  /** The store to read, such as `holdfast.store`. */
  readonly store: CoordinatorStore;
  /** Reads this project only. Default: all projects. */
  readonly project?: string;
}

/** More pipelines than this share the label `(other)`. */
const PIPELINES_MAX = 1_000;

/**
 * Registers gauges of what waits in a store: the age of each queue, open questions, dead letters,
 * live workers and their free slots. A coordinator serves the same gauges itself.
 *
 * Call it once per registry, in one process per store. Each scrape reads the store, at most every
 * five seconds. Throws `InvalidInput` if `registry` or `store` is missing.
 *
 * @example
 * import { openHoldfast } from 'holdfast';
 * import { register } from 'prom-client';
 *
 * await using holdfast = await openHoldfast({ store: './holdfast.db' });
 * prometheusBacklog({ registry: register, store: holdfast.store });
 */
export function prometheusBacklog(options: PrometheusBacklogOptions): void {
  rejectUnknownOptions('prometheusBacklog', options, ['registry', 'store', 'project']);
  const { store, project, ...rest } = options;
  const registry = registryOf('prometheusBacklog', rest);
  requireMethods('prometheusBacklog: store.executions', store?.executions, ['backlog', 'workers']);
  const of = project === undefined ? {} : { project: parseProject(project) };
  const read = readingsOf(store.executions, systemClock, of);
  registerBacklog({ Gauge }, { registry, read, pipelinesMax: PIPELINES_MAX });
}
