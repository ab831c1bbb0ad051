// What the engine reports of executions, as spans and metrics: a span for each attempt of a step and one for each
// claim, both in the trace that the execution was submitted in. Reports come after the fact, so that a span is
// made whole, with the times it had.

import {
  type Attributes,
  type Context,
  type Counter,
  type Histogram,
  type Meter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { ExecutionObserver, ExecutionReport } from '../execution/report.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions } from '../support/options.ts';

export interface ExecutionTelemetryOptions {
  readonly meter: Meter;
  /** Spans carry ids, names of steps and fences, metrics do not. */
  readonly tracer?: Tracer;
}

/** For `openHoldfast({ observer })` and `openWorker({ observer })`. */
export function openTelemetryExecutionObserver(
  options: ExecutionTelemetryOptions,
): ExecutionObserver {
  const what = 'openTelemetryExecutionObserver';
  rejectUnknownOptions(what, options, ['meter', 'tracer']);
  if (typeof options.meter?.createCounter !== 'function') {
    throw new InvalidInput(
      `${what}: meter is missing; pass one, such as metrics.getMeter("holdfast").`,
    );
  }
  const feed = new Feed(options);
  return { report: (report) => feed.take(report) };
}

type Of<Kind extends ExecutionReport['kind']> = Extract<ExecutionReport, { readonly kind: Kind }>;
type Leaving = Of<'parked' | 'given-back' | 'blocked' | 'ended' | 'lost'>;

class Feed {
  readonly #tracer: Tracer | undefined;
  readonly #claims: Counter;
  readonly #waits: Histogram;
  readonly #steps: Counter;
  readonly #stepSeconds: Histogram;
  readonly #departures: Counter;
  /** Since when; as many as this process has claimed now. */
  readonly #claimed: Map<string, number> = new Map();

  constructor({ meter, tracer }: ExecutionTelemetryOptions) {
    this.#tracer = tracer;
    const of = (name: string): string => `holdfast.execution.${name}`;
    const seconds = { unit: 's' };
    this.#claims = meter.createCounter(of('claims'), {
      description: 'Claims, by how the one before ended; `lost` is a takeover.',
    });
    this.#waits = meter.createHistogram(of('claim_wait'), {
      ...seconds,
      description: 'From being ready to being claimed.',
    });
    this.#steps = meter.createCounter(of('steps'), {
      description: 'Attempts of steps, by what came of them.',
    });
    this.#stepSeconds = meter.createHistogram(of('step'), {
      ...seconds,
      description: 'How long attempts of steps took.',
    });
    this.#departures = meter.createCounter(of('departures'), {
      description: 'How executions left this process: parked, given back, lost, or their status.',
    });
  }

  take(report: ExecutionReport): void {
    switch (report.kind) {
      case 'claimed':
        this.#claims.add(1, { previous: report.previous });
        this.#waits.record(report.waitedMs / 1_000);
        this.#claimed.set(`${report.execution} ${report.fence}`, systemClock.wallMs());
        return;
      case 'step':
        this.#step(report);
        return;
      case 'parked':
      case 'given-back':
      case 'blocked':
      case 'ended':
      case 'lost':
        this.#left(report);
        return;
      default:
    }
  }

  #step(report: Of<'step'>): void {
    const outcome = report.failure === undefined ? 'completed' : 'failed';
    this.#steps.add(1, { outcome });
    this.#stepSeconds.record(report.tookMs / 1_000, { outcome });
    const now = systemClock.wallMs();
    this.#span(`step ${report.step}`, report, {
      ...{ from: now - report.tookMs, to: now, failure: report.failure?.message },
      attributes: {
        'holdfast.step': report.step,
        'holdfast.attempt': report.attempt,
        'holdfast.may_have_run': report.mayHaveRun,
      },
    });
  }

  #left(report: Leaving): void {
    const how = report.kind === 'ended' ? report.status : report.kind;
    this.#departures.add(1, { how });
    const key = `${report.execution} ${report.fence}`;
    const to = systemClock.wallMs();
    const from = this.#claimed.get(key) ?? to;
    this.#claimed.delete(key);
    const failure = report.kind === 'ended' ? report.failure?.message : undefined;
    const attributes = { 'holdfast.how': how };
    this.#span(`execution ${report.pipeline}`, report, { from, to, failure, attributes });
  }

  #span(
    name: string,
    report: Of<'step'> | Leaving,
    told: {
      readonly from: number;
      readonly to: number;
      readonly failure: string | undefined;
      readonly attributes: Attributes;
    },
  ): void {
    if (this.#tracer === undefined) return;
    const options = {
      kind: SpanKind.INTERNAL,
      startTime: told.from,
      attributes: {
        'holdfast.execution': report.execution,
        'holdfast.pipeline': report.pipeline,
        'holdfast.fence': report.fence,
        ...told.attributes,
      },
    };
    const span = this.#tracer.startSpan(name, options, contextOf(report.traceparent));
    if (told.failure !== undefined) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: told.failure });
    }
    span.end(told.to);
  }
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

/** A trace of its own where there is none. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags = '00'] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16);
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
