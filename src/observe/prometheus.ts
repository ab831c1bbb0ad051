// holdfast/observe/prometheus: what the library reports, as metrics in a registry of prom-client. The
// names are stable; docs/guide/observe.md lists them and the Grafana dashboard uses exactly these.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { LeaseObserver, LeaseReport, OperationReport } from '../lease/observer.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { METRICS, type MetricName } from './metric-names.ts';
import { type PrometheusOptions, registryOf } from './prometheus-registry.ts';

export { prometheusExecutionObserver } from './prometheus-executions.ts';
export type { PrometheusOptions } from './prometheus-registry.ts';

const SECOND_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const AUTHORITY_BUCKETS = [0, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300];
const ATTEMPT_BUCKETS = [1, 2, 3, 4, 5, 7, 10, 15, 20];
const BYTE_BUCKETS = [0, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144];
const WORK_BUCKETS = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** Registers the metrics and answers with the observer that feeds them. Once for each registry. */
export function prometheusObserver(options: PrometheusOptions): LeaseObserver {
  rejectUnknownOptions('prometheusObserver', options, ['registry']);
  const feed = new Feed(registryOf('prometheusObserver', options));
  return { report: (report) => feed.take(report) };
}

class Feed {
  readonly #operations: Counter;
  readonly #latency: Histogram;
  readonly #remaining: Histogram;
  readonly #attempts: Histogram;
  readonly #lag: Histogram;
  readonly #suspended: Counter;
  readonly #losses: Counter;
  readonly #bytes: Histogram;
  readonly #work: Histogram;
  readonly #overrun: Histogram;
  readonly #grants: Counter;
  readonly #ttl: Gauge;
  readonly #heartbeat: Gauge;
  readonly #grace: Gauge;
  readonly #dropped: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = (name: MetricName): Counter =>
      new Counter({
        name,
        help: METRICS[name].help,
        labelNames: [...METRICS[name].labels],
        registers,
      });
    const gauge = (name: MetricName): Gauge =>
      new Gauge({
        name,
        help: METRICS[name].help,
        labelNames: [...METRICS[name].labels],
        registers,
      });
    const histogram = (name: MetricName, buckets: number[]): Histogram =>
      new Histogram({
        name,
        help: METRICS[name].help,
        labelNames: [...METRICS[name].labels],
        buckets,
        registers,
      });
    this.#operations = counter('holdfast_lease_operations_total');
    this.#latency = histogram('holdfast_lease_operation_seconds', SECOND_BUCKETS);
    this.#remaining = histogram('holdfast_lease_renewal_slack_seconds', AUTHORITY_BUCKETS);
    this.#attempts = histogram('holdfast_lease_renewal_attempts', ATTEMPT_BUCKETS);
    this.#lag = histogram('holdfast_lease_event_loop_lag_seconds', SECOND_BUCKETS);
    this.#suspended = counter('holdfast_lease_suspended_seconds_total');
    this.#losses = counter('holdfast_lease_session_changes_total');
    this.#bytes = histogram('holdfast_lease_checkpoint_bytes', BYTE_BUCKETS);
    this.#work = histogram('holdfast_lease_checkpoint_interval_seconds', WORK_BUCKETS);
    this.#overrun = histogram('holdfast_lease_overrun_seconds', SECOND_BUCKETS);
    this.#grants = counter('holdfast_lease_grants_total');
    this.#ttl = gauge('holdfast_lease_ttl_seconds');
    this.#heartbeat = gauge('holdfast_lease_heartbeat_seconds');
    this.#grace = gauge('holdfast_lease_grace_seconds');
    this.#dropped = counter('holdfast_lease_reports_dropped_total');
  }

  take(report: LeaseReport): void {
    switch (report.kind) {
      case 'operation':
        this.#takeOperation(report);
        return;
      case 'settings':
        this.#ttl.set({ owner: report.owner }, report.ttlMs / 1_000);
        this.#heartbeat.set({ owner: report.owner }, report.heartbeatMs / 1_000);
        this.#grace.set({ owner: report.owner }, report.graceMs / 1_000);
        return;
      case 'overrun':
        if (report.stillRunning) this.#losses.inc({ change: 'overrunning' });
        else this.#overrun.observe(report.overrunMs / 1_000);
        return;
      case 'dropped':
        this.#dropped.inc(report.count);
        return;
      case 'lapsed':
      case 'rejoined':
      case 'lost':
      case 'troubled':
        this.#losses.inc({ change: report.kind });
        return;
    }
  }

  #takeOperation(report: OperationReport): void {
    const { operation, outcome } = report;
    this.#operations.inc({ operation, outcome });
    this.#latency.observe({ operation }, report.latencyMs / 1_000);
    this.#lag.observe(Math.max(0, report.loopLagMs) / 1_000);
    if (report.suspendedMs > 0) this.#suspended.inc(report.suspendedMs / 1_000);
    if (report.granted !== undefined) {
      this.#grants.inc({ predecessor: report.granted.predecessor.exit });
    }
    if (outcome !== 'ok') return;
    if (operation === 'heartbeat') {
      const slackMs = report.remainingAtSendMs - report.latencyMs;
      this.#remaining.observe(Math.max(0, slackMs) / 1_000);
      this.#attempts.observe(report.attempt ?? 1);
    }
    if (operation === 'checkpoint') {
      this.#bytes.observe(report.bytes ?? 0);
      const since = report.saved?.sinceLastMs;
      if (since !== undefined) this.#work.observe(since / 1_000);
    }
  }
}
