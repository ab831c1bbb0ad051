// holdfast/observe/opentelemetry: turns the library's reports into metrics of a meter. With a
// tracer, it also creates one span per call to the store. Names are those of the Prometheus adapter
// without their suffixes, with dots: `holdfast.lease.operations`.

import {
  type Attributes,
  type Context,
  type Meter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type ExecutionObserver,
  howLeft,
  isLeaving,
  type ReportAbout,
} from '../execution/report.ts';
import type { LeaseObserver, OperationReport } from '../lease/observer.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { METRICS, type Measure, type MetricName, measureReport } from './metric-names.ts';

/** Options of `openTelemetryObserver`. */
export interface OpenTelemetryOptions {
  /** The meter that gets the metrics. */
  readonly meter: Meter;
  /**
   * The tracer that gets a span for each call to the store. Spans have keys and fences. By default
   * there are none.
   */
  readonly tracer?: Tracer;
}

/**
 * Makes an observer of leases that feeds OpenTelemetry. Throws `InvalidInput` if `meter` is
 * missing.
 *
 * @example
 * import { metrics, trace } from '@opentelemetry/api';
 * import { openSession } from 'holdfast';
 *
 * const observer = openTelemetryObserver({ meter: metrics.getMeter('app'), tracer: trace.getTracer('app') });
 * await using session = await openSession({ store, owner: 'billing@host-3', observer });
 */
export function openTelemetryObserver(options: OpenTelemetryOptions): LeaseObserver {
  const { meter, tracer } = checked('openTelemetryObserver', options);
  const names = Object.keys(METRICS) as MetricName[];
  const feeds = new Map(names.map((name) => [name, instrument(meter, name)]));
  const measure: Measure = (name, value, labels = {}) => feeds.get(name)?.(value, labels);
  return {
    report: (report) => {
      measureReport(report, measure);
      if (report.kind === 'operation') operationSpan(tracer, report);
    },
  };
}

function checked<Options extends OpenTelemetryOptions>(what: string, options: Options): Options {
  rejectUnknownOptions(what, options, ['meter', 'tracer']);
  if (typeof options.meter?.createCounter === 'function') return options;
  throw new InvalidInput(
    `${what}: meter is missing; pass one, such as metrics.getMeter("holdfast").`,
  );
}

/**
 * Returns the OpenTelemetry name of a metric: `holdfast_lease_operations_total` is
 * `holdfast.lease.operations`.
 *
 * @example
 * console.log(instrumentName('holdfast_lease_operations_total'));
 */
export function instrumentName(name: MetricName): string {
  const bare = name.replace(/_total$/, '').replace(/_(?:seconds|bytes)$/, '');
  return bare.replace(/^holdfast_lease_/, 'holdfast.lease.');
}

function instrument(
  meter: Meter,
  name: MetricName,
): (value: number, attributes: Attributes) => void {
  const { kind, help, unit } = METRICS[name];
  const options = { description: help, ...(unit === '' ? {} : { unit }) };
  const called = instrumentName(name);
  if (kind === 'counter') {
    const counter = meter.createCounter(called, options);
    return (value, attributes) => counter.add(value, attributes);
  }
  const recorder =
    kind === 'gauge' ? meter.createGauge(called, options) : meter.createHistogram(called, options);
  return (value, attributes) => recorder.record(value, attributes);
}

const NOT_WELL: ReadonlySet<string> = new Set(['unknown', 'unavailable']);

/** Reports come after the fact, so the span is created complete, with its original times. */
function operationSpan(
  tracer: Tracer | undefined,
  report: OperationReport & { readonly at: number },
): void {
  if (tracer === undefined) return;
  const span = tracer.startSpan(`holdfast.lease.${report.operation}`, {
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

// Turns the engine's reports of executions into spans and metrics: one span per attempt of a step
// and one per claim, both in the trace of the submit. Reports come after the fact, so a span is
// created complete, with its original times.

/** Options of `openTelemetryExecutionObserver`. */
export interface ExecutionTelemetryOptions {
  /** The meter that gets the metrics. */
  readonly meter: Meter;
  /**
   * The tracer that gets a span for each claim and step. Spans have ids and fences. By default
   * there are none.
   */
  readonly tracer?: Tracer;
}

/**
 * Makes an observer of executions that feeds OpenTelemetry. Throws `InvalidInput` if `meter` is
 * missing.
 *
 * @example
 * import { metrics } from '@opentelemetry/api';
 * import { openHoldfast } from 'holdfast';
 *
 * const observer = openTelemetryExecutionObserver({ meter: metrics.getMeter('app') });
 * await using holdfast = await openHoldfast({ store: './holdfast.db', observer });
 */
export function openTelemetryExecutionObserver(
  options: ExecutionTelemetryOptions,
): ExecutionObserver {
  const { meter, tracer } = checked('openTelemetryExecutionObserver', options);
  const counter = (name: string, description: string) =>
    meter.createCounter(`holdfast.execution.${name}`, { description });
  const seconds = (name: string, description: string) =>
    meter.createHistogram(`holdfast.execution.${name}`, { unit: 's', description });
  const claims = counter('claims', 'Claims, by how the one before ended; `lost` is a takeover.');
  const waits = seconds('claim_wait', 'The time from ready to claimed.');
  const steps = counter('steps', 'Attempts of steps, by outcome.');
  const stepSeconds = seconds('step', 'How long attempts of steps took.');
  const left =
    'Executions that left this process, by reason: parked, given back, lost, or their status.';
  const departures = counter('departures', left);
  /** Since when; as many as this process has claimed now. */
  const claimed = new Map<string, number>();
  return {
    report(report) {
      const now = systemClock.wallMs();
      if (report.kind === 'claimed') {
        claims.add(1, { previous: report.previous });
        waits.record(report.waitedMs / 1_000);
        claimed.set(`${report.execution} ${report.fence}`, now);
      } else if (report.kind === 'step') {
        const outcome = report.failure === undefined ? 'completed' : 'failed';
        steps.add(1, { outcome });
        stepSeconds.record(report.tookMs / 1_000, { outcome });
        executionSpan(tracer, report, {
          ...{ name: `step ${report.step}`, from: now - report.tookMs, to: now },
          failure: report.failure?.message,
          attributes: {
            'holdfast.step': report.step,
            'holdfast.attempt': report.attempt,
            'holdfast.may_have_run': report.mayHaveRun,
          },
        });
      } else if (isLeaving(report)) {
        const how = howLeft(report);
        departures.add(1, { how });
        const key = `${report.execution} ${report.fence}`;
        executionSpan(tracer, report, {
          ...{ name: `execution ${report.pipeline}`, from: claimed.get(key) ?? now, to: now },
          failure: report.kind === 'ended' ? report.failure?.message : undefined,
          attributes: { 'holdfast.how': how },
        });
        claimed.delete(key);
      }
    },
  };
}

interface SpanParts {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly failure: string | undefined;
  readonly attributes: Attributes;
}

function executionSpan(
  tracer: Tracer | undefined,
  report: ReportAbout,
  { name, from, to, failure, attributes }: SpanParts,
): void {
  if (tracer === undefined) return;
  const options = {
    kind: SpanKind.INTERNAL,
    startTime: from,
    attributes: {
      'holdfast.execution': report.execution,
      'holdfast.pipeline': report.pipeline,
      'holdfast.fence': report.fence,
      ...attributes,
    },
  };
  const span = tracer.startSpan(name, options, contextOf(report.traceparent));
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end(to);
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

/** Starts a new trace if there is none. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags = '00'] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16);
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
