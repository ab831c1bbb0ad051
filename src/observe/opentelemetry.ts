// holdfast/observe/opentelemetry: what the library reports, as metrics of a meter and, when a tracer is
// given, one span for each call to the store. Names are those of the Prometheus adapter without their
// suffixes, with dots: `holdfast.lease.operations`.

import {
  type Attributes,
  type Counter,
  type Gauge,
  type Histogram,
  type Meter,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api';
import type { LeaseObserver, LeaseReport, OperationReport } from '../lease/observer.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { METRICS, type MetricName } from './metric-names.ts';

export {
  type ExecutionTelemetryOptions,
  openTelemetryExecutionObserver,
} from './opentelemetry-executions.ts';

export interface OpenTelemetryOptions {
  readonly meter: Meter;
  /** Spans carry keys and fences, metrics do not. */
  readonly tracer?: Tracer;
}

export function openTelemetryObserver(options: OpenTelemetryOptions): LeaseObserver {
  rejectUnknownOptions('openTelemetryObserver', options, ['meter', 'tracer']);
  if (typeof options.meter?.createCounter !== 'function') {
    throw new InvalidInput(
      'openTelemetryObserver: meter is missing; pass one, such as metrics.getMeter("holdfast").',
    );
  }
  const feed = new Feed(options);
  return { report: (report) => feed.take(report) };
}

/** `holdfast_lease_operations_total` is `holdfast.lease.operations` here: the unit says the rest. */
export function instrumentName(name: MetricName): string {
  const bare = name.replace(/_total$/, '').replace(/_(?:seconds|bytes)$/, '');
  return bare.replace(/^holdfast_lease_/, 'holdfast.lease.');
}

const NOT_WELL: ReadonlySet<string> = new Set(['unknown', 'unavailable']);

class Feed {
  readonly #meter: Meter;
  readonly #tracer: Tracer | undefined;
  readonly #counters: Map<MetricName, Counter> = new Map();
  readonly #histograms: Map<MetricName, Histogram> = new Map();
  readonly #gauges: Map<MetricName, Gauge> = new Map();

  constructor(options: OpenTelemetryOptions) {
    this.#meter = options.meter;
    this.#tracer = options.tracer;
    for (const name of Object.keys(METRICS) as MetricName[]) this.#make(name);
  }

  #make(name: MetricName): void {
    const { kind, help, unit } = METRICS[name];
    const options = { description: help, ...(unit === '' ? {} : { unit }) };
    const instrument = instrumentName(name);
    if (kind === 'counter')
      this.#counters.set(name, this.#meter.createCounter(instrument, options));
    else if (kind === 'gauge') this.#gauges.set(name, this.#meter.createGauge(instrument, options));
    else this.#histograms.set(name, this.#meter.createHistogram(instrument, options));
  }

  take(report: LeaseReport): void {
    switch (report.kind) {
      case 'operation':
        this.#takeOperation(report);
        this.#span(report);
        return;
      case 'settings': {
        const owner = { owner: report.owner };
        this.#gauges.get('holdfast_lease_ttl_seconds')?.record(report.ttlMs / 1_000, owner);
        this.#gauges
          .get('holdfast_lease_heartbeat_seconds')
          ?.record(report.heartbeatMs / 1_000, owner);
        this.#gauges.get('holdfast_lease_grace_seconds')?.record(report.graceMs / 1_000, owner);
        return;
      }
      case 'overrun':
        if (report.stillRunning) {
          this.#add('holdfast_lease_session_changes_total', 1, { change: 'overrunning' });
        } else this.#record('holdfast_lease_overrun_seconds', report.overrunMs / 1_000);
        return;
      case 'dropped':
        this.#add('holdfast_lease_reports_dropped_total', report.count);
        return;
      case 'lapsed':
      case 'rejoined':
      case 'lost':
      case 'troubled':
        this.#add('holdfast_lease_session_changes_total', 1, { change: report.kind });
        return;
    }
  }

  #add(name: MetricName, value: number, attributes: Attributes = {}): void {
    this.#counters.get(name)?.add(value, attributes);
  }

  #record(name: MetricName, value: number, attributes: Attributes = {}): void {
    this.#histograms.get(name)?.record(Math.max(0, value), attributes);
  }

  #takeOperation(report: OperationReport): void {
    const { operation, outcome } = report;
    this.#add('holdfast_lease_operations_total', 1, { operation, outcome });
    this.#record('holdfast_lease_operation_seconds', report.latencyMs / 1_000, { operation });
    this.#record('holdfast_lease_event_loop_lag_seconds', report.loopLagMs / 1_000);
    if (report.suspendedMs > 0) {
      this.#add('holdfast_lease_suspended_seconds_total', report.suspendedMs / 1_000);
    }
    if (report.granted !== undefined) {
      const predecessor = report.granted.predecessor.exit;
      this.#add('holdfast_lease_grants_total', 1, { predecessor });
    }
    if (outcome !== 'ok') return;
    if (operation === 'heartbeat') {
      const slackMs = report.remainingAtSendMs - report.latencyMs;
      this.#record('holdfast_lease_renewal_slack_seconds', slackMs / 1_000);
      this.#record('holdfast_lease_renewal_attempts', report.attempt ?? 1);
    }
    if (operation === 'checkpoint') {
      this.#record('holdfast_lease_checkpoint_bytes', report.bytes ?? 0);
      const since = report.saved?.sinceLastMs;
      if (since !== undefined) {
        this.#record('holdfast_lease_checkpoint_interval_seconds', since / 1_000);
      }
    }
  }

  /** Reports come after the fact, so that the span is made whole, with the times it had. */
  #span(report: OperationReport & { readonly at: number }): void {
    if (this.#tracer === undefined) return;
    const span = this.#tracer.startSpan(`holdfast.lease.${report.operation}`, {
      kind: SpanKind.CLIENT,
      startTime: report.at - report.latencyMs,
      attributes: {
        'holdfast.outcome': report.outcome,
        'holdfast.session': report.session,
        'holdfast.remaining_at_send_ms': report.remainingAtSendMs,
        'holdfast.remaining_at_reply_ms': report.remainingAtReplyMs,
        'holdfast.event_loop_lag_ms': report.loopLagMs,
        ...(report.key === undefined ? {} : { 'holdfast.key': report.key }),
        ...(report.fence === undefined ? {} : { 'holdfast.fence': report.fence }),
        ...(report.attempt === undefined ? {} : { 'holdfast.attempt': report.attempt }),
        ...(report.bytes === undefined ? {} : { 'holdfast.bytes': report.bytes }),
      },
    });
    if (NOT_WELL.has(report.outcome)) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: report.cause ?? report.outcome });
    }
    span.end(report.at);
  }
}
