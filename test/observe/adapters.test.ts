// Feeds both adapters with the real reports of a session.

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
import { faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import {
  type LeaseObserver,
  type LeaseReport,
  openSession,
  parseFence,
  parseLeaseKey,
  parseSessionId,
} from '../../src/index.ts';
import { METRICS, type MetricName } from '../../src/observe/metric-names.ts';
import { instrumentName, openTelemetryObserver } from '../../src/observe/opentelemetry.ts';
import { prometheusObserver } from '../../src/observe/prometheus.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const NAMES = Object.keys(METRICS) as MetricName[];

/** A session that acquires, saves, renews, is suspended and lost, and reports all of it. */
async function liveUnder(observer: LeaseObserver): Promise<void> {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  const session = await openSession({
    store: faulty.store,
    owner: 'ann',
    ttlMs: 9_000,
    clock,
    timers: clock.timers,
    observer,
  });
  const got = await session.acquire('invoice/7');
  assert.ok(got.kind === 'acquired');
  await got.lease.checkpoint('forty-two');
  faulty.fail('sessions.heartbeat', 'unavailable');
  await clock.advance(9_000);
  clock.suspend(9_000);
  // Another process ends the overdue session: until then a late heartbeat is a rejoin.
  const { expired } = await faulty.store.sessions.sweep({ limit: 10 });
  assert.deepEqual(expired, [session.id]);
  await clock.advance(9_000);
  await session.close();
  await clock.settle();
  for (const report of madeUp()) observer.report(report);
}

/** Reports that nothing in this test causes. */
function madeUp(): readonly LeaseReport[] {
  const session = parseSessionId('00000000-0000-4000-8000-000000000000');
  const key = parseLeaseKey('invoice/7');
  return [
    { kind: 'overrun', session, key, fence: parseFence(2 ** 40 + 1), overrunMs: 40, at: 1 },
    {
      ...{ kind: 'overrun', session, key, fence: parseFence(2 ** 40 + 2), overrunMs: 9, at: 1 },
      stillRunning: true,
    },
    { kind: 'dropped', count: 3, at: 1 },
  ];
}

test('Prometheus: every metric of the table is registered and has a value', async () => {
  const registry = new Registry();
  await liveUnder(prometheusObserver({ registry }));
  const metrics = await registry.getMetricsAsJSON();
  assert.deepEqual(metrics.map(({ name }) => name).sort(), [...NAMES].sort());
  for (const { name, type, help, values } of metrics) {
    const known = METRICS[name as MetricName];
    assert.deepEqual({ type: String(type), help }, { type: known.kind, help: known.help });
    assert.ok(values.length > 0, `${name} has seen nothing`);
  }
  const text = await registry.metrics();
  assert.match(
    text,
    /holdfast_lease_operations_total\{operation="heartbeat",outcome="unavailable"\} 1/,
  );
  assert.match(text, /holdfast_lease_session_changes_total\{change="lost"\} 1/);
  assert.match(text, /holdfast_lease_session_changes_total\{change="overrunning"\} 1/);
  assert.match(text, /holdfast_lease_overrun_seconds_count 1/, 'only work that has stopped');
  assert.match(text, /holdfast_lease_grants_total\{predecessor="none"\} 1/);
  assert.match(text, /holdfast_lease_ttl_seconds\{owner="ann"\} 9\n/);
  assert.match(text, /holdfast_lease_reports_dropped_total 3/);
  assert.match(text, /holdfast_lease_suspended_seconds_total 9\n/);
  assert.doesNotMatch(text, /invoice|session=/, 'keys and sessions are no labels');
});

test('adapters refuse impossible options, by name', () => {
  const registry = new Registry();
  const slip = { registri: registry } as unknown as { registry: Registry };
  assert.throws(() => prometheusObserver(slip), /Did you mean "registry"\?/);
  assert.throws(() => prometheusObserver({} as never), /registry is missing/);
  assert.throws(() => openTelemetryObserver({} as never), /meter is missing/);
});

test('OpenTelemetry: the same metrics, and one span for each call with its times', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meters = new MeterProvider({ readers: [reader] });
  const spans = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  await liveUnder(
    openTelemetryObserver({
      meter: meters.getMeter('holdfast'),
      tracer: tracers.getTracer('holdfast'),
    }),
  );
  await meters.forceFlush();
  const seen = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics }) => metrics);
  assert.deepEqual(
    seen.map(({ descriptor }) => descriptor.name).sort(),
    NAMES.map(instrumentName).sort(),
  );
  const checkpoint = spans
    .getFinishedSpans()
    .find(({ name }) => name === 'holdfast.lease.checkpoint');
  assert.equal(checkpoint?.attributes['holdfast.key'], 'invoice/7');
  assert.equal(checkpoint?.attributes['holdfast.outcome'], 'ok');
  assert.equal(checkpoint?.attributes['holdfast.bytes'], 9);
  const failed = spans.getFinishedSpans().filter(({ status }) => status.code !== 0);
  assert.deepEqual(
    failed.map(({ name }) => name),
    ['holdfast.lease.heartbeat'],
  );
  await Promise.all([meters.shutdown(), tracers.shutdown()]);
});
