// Renders the reference of all Prometheus metrics that the package registers.

import { type Metric, Registry } from 'prom-client';
import type { METRICS } from '../../src/observe/metric-names.ts';
import { instrumentName } from '../../src/observe/opentelemetry.ts';
import {
  prometheusBacklog,
  prometheusExecutionObserver,
  prometheusObserver,
} from '../../src/observe/prometheus.ts';
import { openMetrics } from '../../src/server/metrics.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { pageText, plain, tableOf, wrapped } from './markdown.ts';

const INTRODUCTION = `Holdfast exports these metrics in the Prometheus format. A histogram has the series \`_bucket\`,
\`_sum\` and \`_count\`. Labels have few values: a key, an id or a session is never a label.`;

const COORDINATOR = `A coordinator serves these metrics at \`/metrics\`. An access key of a project reads the metrics of
its executions; a key of all projects also reads those of HTTP requests. Set \`publicMetrics\` to serve all of them without a key.`;

const EXECUTIONS = `\`prometheusExecutionObserver\` from \`holdfast/observe/prometheus\` registers these metrics in a
process that runs executions.`;

const STORE = `\`prometheusBacklog\` from \`holdfast/observe/prometheus\` registers these metrics in a process that
embeds the engine. A coordinator serves them too.`;

const LEASES = `\`prometheusObserver\` from \`holdfast/observe/prometheus\` registers these metrics. The OpenTelemetry
observer reports the same ones under the names in the last column.`;

interface Registered {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

export async function metricsPage(): Promise<string> {
  const coordinator = await registeredBy(() => openMetrics());
  const executions = await registeredBy((registry) => prometheusExecutionObserver({ registry }));
  const backlog = await registeredBy((registry) =>
    prometheusBacklog({ registry, store: openMemoryStore() }),
  );
  const leases = await registeredBy((registry) => prometheusObserver({ registry }));
  const leaseRows = rowsOf(leases).map((row, at) => [
    ...row,
    at === 0
      ? 'OpenTelemetry'
      : `\`${instrumentName(leases[at - 1]?.name as keyof typeof METRICS)}\``,
  ]);
  return pageText({ title: 'Metrics', order: 700 }, 'the metrics that src registers', [
    '# Metrics',
    wrapped(INTRODUCTION),
    '## Coordinator',
    wrapped(COORDINATOR),
    tableOf(rowsOf(coordinator)),
    '## Executions in your process',
    wrapped(EXECUTIONS),
    tableOf(rowsOf(executions)),
    '## The store of your process',
    wrapped(STORE),
    tableOf(rowsOf(backlog)),
    '## Leases',
    wrapped(LEASES),
    tableOf(leaseRows),
  ]);
}

function rowsOf(metrics: readonly Registered[]): readonly (readonly string[])[] {
  const rows = metrics.map(({ name, help, type, labelNames }) => [
    `\`${name}\``,
    type,
    labelNames.map((label) => `\`${label}\``).join(', '),
    plain(help),
  ]);
  return [['Metric', 'Type', 'Labels', 'Description'], ...rows];
}

/** Each metric once, in the order in which it registers; a coordinator has a registry per project. */
async function registeredBy(
  register: (registry: Registry) => unknown,
): Promise<readonly Registered[]> {
  const found = new Map<string, Registered>();
  const { registerMetric } = Registry.prototype;
  Registry.prototype.registerMetric = function (this: Registry, metric: Metric): void {
    const { name, help, labelNames } = metric as unknown as Registered;
    found.set(name, { name, help, labelNames, type: metric.constructor.name.toLowerCase() });
    registerMetric.call(this, metric as Metric<string>);
  };
  try {
    await register(new Registry());
  } finally {
    Registry.prototype.registerMetric = registerMetric;
  }
  return [...found.values()];
}
