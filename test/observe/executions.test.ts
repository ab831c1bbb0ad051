// The adapter for executions, fed with an engine's real reports.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { Registry } from 'prom-client';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/index.ts';
import { openTelemetryExecutionObserver } from '../../src/observe/opentelemetry.ts';
import { prometheusExecutionObserver } from '../../src/observe/prometheus.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

const flaky = pipeline({
  name: 'flaky',
  async run(ctx) {
    const retry = { attempts: 2, initialMs: 1 };
    await ctx.step(
      'charge',
      ({ attempt }) => {
        if (attempt === 1) throw new Error('again');
      },
      { retry },
    );
  },
});

test('attempts and claims are spans in the trace of the submit; metrics have no ids', async () => {
  const spans = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(spans)],
  }).getTracer('test');
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e8 });
  const provider = new MeterProvider({ readers: [reader] });
  const observer = openTelemetryExecutionObserver({ meter: provider.getMeter('test'), tracer });
  const store = openMemoryStore();
  await using holdfast = new Holdfast({ store, observer });
  await holdfast.worker({ pipelines: [flaky] });
  const traceparent = `00-${TRACE}-${SPAN}-01`;
  const handle = await holdfast.submit(flaky, undefined, { traceparent });
  await handle.result();
  const plain = await holdfast.submit(flaky, undefined);
  await plain.result();
  await holdfast.close();
  const all = spans.getFinishedSpans();
  const traced = all.filter((span) => span.spanContext().traceId === TRACE);
  assert.deepEqual(
    traced.map(({ name, status }) => [name, status.code]),
    [
      ['step charge', 2],
      ['step charge', 0],
      ['execution flaky', 0],
    ],
  );
  for (const span of traced) {
    assert.equal(span.parentSpanContext?.spanId, SPAN);
    assert.equal(span.attributes['holdfast.execution'], handle.id);
  }
  assert.equal(all.length, 6, 'an execution submitted without a trace has its own');
  await reader.forceFlush();
  const metrics = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics: each }) => each));
  const points = metrics.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => ({ name: descriptor.name, attributes, value })),
  );
  const counted = (name: string, attributes: object): unknown =>
    points.find(
      (point) =>
        point.name === `holdfast.execution.${name}` &&
        JSON.stringify(point.attributes) === JSON.stringify(attributes),
    )?.value;
  assert.equal(counted('claims', { previous: 'none' }), 2);
  assert.equal(counted('steps', { outcome: 'failed' }), 2);
  assert.equal(counted('steps', { outcome: 'completed' }), 2);
  assert.equal(counted('departures', { how: 'completed' }), 2);
  assert.equal(JSON.stringify(points).includes(handle.id), false);
  await provider.shutdown();
  await store.close();
});

test('an object that is not a meter is refused', () => {
  assert.throws(
    () => openTelemetryExecutionObserver({} as never),
    /openTelemetryExecutionObserver: meter is missing/,
  );
});

test('Prometheus: claims, steps and ends are counted by pipeline, without ids', async () => {
  const registry = new Registry();
  const observer = prometheusExecutionObserver({ registry });
  await using holdfast = new Holdfast({ store: openMemoryStore(), observer });
  await holdfast.worker({ pipelines: [flaky] });
  const { id } = await holdfast.submit(flaky, undefined);
  await holdfast.result(id);
  await holdfast.close();
  const text = await registry.metrics();
  for (const line of [
    'claims_total{pipeline="flaky",previous="none"} 1',
    'claim_wait_seconds_count{pipeline="flaky"} 1',
    'step_seconds_count{pipeline="flaky",outcome="failed"} 1',
    'step_seconds_count{pipeline="flaky",outcome="completed"} 1',
    'departures_total{pipeline="flaky",how="completed"} 1',
  ]) {
    assert.ok(text.includes(`holdfast_execution_${line}\n`), `${line} is in\n${text}`);
  }
  assert.equal(text.includes(id), false);
  const slip = { registri: registry } as unknown as { registry: Registry };
  assert.throws(() => prometheusExecutionObserver(slip), /Did you mean "registry"\?/);
  assert.throws(() => prometheusExecutionObserver({} as never), /registry is missing/);
});
