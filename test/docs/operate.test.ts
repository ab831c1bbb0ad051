// The pages for operators name limits, quotas, alerts and metrics that exist, with their values.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { QUOTAS } from '../../src/features/access/model.ts';
import { METRICS } from '../../src/observe/metric-names.ts';
import { prometheusExecutionObserver } from '../../src/observe/prometheus.ts';
import { openMetrics } from '../../src/server/metrics.ts';
import { DEFAULT_HTTP_LIMITS } from '../../src/server/server-options.ts';

const ROOT = join(import.meta.dirname, '../..');
const SIZES: Readonly<Record<string, number>> = { MiB: 1024 ** 2, GiB: 1024 ** 3 };

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The number in the last cell or the second one of a table's row. */
function numberIn(cell: string): number {
  const [count = '', unit = ''] = cell.split(' ');
  return Number(count) * (SIZES[unit] ?? 1);
}

function rowsOf(text: string): readonly (readonly string[])[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test('the table of limits has every limit with its default', () => {
  const rows = rowsOf(read('docs/operate/configure.md').split('## Limits')[1] ?? '');
  const shown = rows.map(([name = '', value = '']) => [
    name.replaceAll('`', '').replace('limits.', ''),
    numberIn(value),
  ]);
  assert.deepEqual(Object.fromEntries(shown), DEFAULT_HTTP_LIMITS);
});

test('the table of quotas has every quota with its default', () => {
  const rows = rowsOf(read('docs/operate/projects.md').split('## Quotas')[1] ?? '');
  const shown = rows.map(([name = '', , value = '']) => [
    name.replaceAll('`', ''),
    numberIn(value),
  ]);
  const quotas = Object.entries(QUOTAS).map(([name, { default: usual }]) => [name, usual]);
  assert.deepEqual(Object.fromEntries(shown), Object.fromEntries(quotas));
});

test('the page on sizing names the limits, and the resources of the Kubernetes example', () => {
  const { openMax, connectionsPerAddressMax } = DEFAULT_HTTP_LIMITS;
  const sizing = read('docs/operate/sizing.md');
  for (const limit of [openMax / 4, connectionsPerAddressMax]) {
    assert.ok(sizing.includes(`more than ${limit.toLocaleString('en')} `), String(limit));
  }
  const manifest = read('deploy/kubernetes/holdfast.yaml');
  assert.match(manifest, /requests: \{ cpu: 250m, memory: 256Mi \}/);
  assert.match(manifest, /limits: \{ memory: 1Gi \}/);
  assert.match(sizing.replaceAll(/\s+/g, ' '), /250m CPU and 256 MiB/);
});

const RULES = read('deploy/prometheus/holdfast.rules.yml');

test('the runbook has an entry for each alert, and for no other', () => {
  const alerts = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  assert.ok(alerts.length > 10);
  const entries = [...read('docs/operate/runbook.md').matchAll(/^## (\w+)$/gm)];
  assert.deepEqual(
    entries.map(([, name]) => name),
    alerts,
  );
});

async function metricsOfCoordinator(): Promise<readonly string[]> {
  const metrics = await openMetrics();
  const { text } = (await metrics?.read()) ?? { text: '' };
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
}

test('alerts and the page on metrics name the metrics that exist', async () => {
  const ofCoordinator = await metricsOfCoordinator();
  const registry = new Registry();
  prometheusExecutionObserver({ registry });
  const ofEngine = (await registry.getMetricsAsJSON()).map(({ name }) => name);
  const known = new Set([...ofCoordinator, ...ofEngine, ...Object.keys(METRICS)]);
  const used = RULES.match(/holdfast_[a-z_]+/g) ?? [];
  const unknown = used.filter((name) => !known.has(name.replace(/_(?:bucket|count)$/, '')));
  assert.deepEqual(unknown, []);
  const dashboard =
    read('deploy/grafana/holdfast-coordinator.json').match(/holdfast_[a-z_]+/g) ?? [];
  const charted = new Set(dashboard.map((name) => name.replace(/_bucket$/, '')));
  assert.deepEqual([...charted].sort(), [...ofCoordinator].sort());
  const table = rowsOf(read('docs/operate/metrics.md').split('## Alerts')[0] ?? '');
  const shown = table.map(([name = '']) => name.replaceAll('`', ''));
  assert.deepEqual([...shown].sort(), [...ofCoordinator].sort());
});

test('every alert has a severity and a summary', () => {
  const rules = RULES.split('- alert: ').slice(1);
  for (const rule of rules) {
    assert.match(rule, /labels: \{ severity: (?:page|ticket) \}/);
    assert.match(rule, /annotations: \{ summary: '.+\.' \}/);
  }
});
