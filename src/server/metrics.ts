// What a coordinator counts. prom-client is an optional peer: without it nothing is counted.

import type { Counter, Gauge, Histogram } from 'prom-client';

export interface ServerMetrics {
  /** One request that was answered. */
  answered(route: string, status: number, tookMs: number): void;
  /** How many requests are held open now. */
  held(count: number): void;
  read(): Promise<{ readonly type: string; readonly text: string }>;
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Undefined when prom-client is not installed. */
export async function openMetrics(): Promise<ServerMetrics | undefined> {
  const prom = await import('prom-client').catch(() => undefined);
  if (prom === undefined) return undefined;
  const registry = new prom.Registry();
  const registers = [registry];
  const requests: Counter = new prom.Counter({
    name: 'holdfast_http_requests_total',
    help: 'Requests that were answered, by route and status.',
    labelNames: ['route', 'status'],
    registers,
  });
  const seconds: Histogram = new prom.Histogram({
    name: 'holdfast_http_request_seconds',
    help: 'How long an answer took; what is held open on purpose included.',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers,
  });
  const open: Gauge = new prom.Gauge({
    name: 'holdfast_http_held',
    help: 'Long polls and streams that are held open now.',
    registers,
  });
  return {
    answered(route, status, tookMs) {
      requests.inc({ route, status: String(status) });
      seconds.observe({ route }, tookMs / 1_000);
    },
    held: (count) => open.set(count),
    read: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  };
}
