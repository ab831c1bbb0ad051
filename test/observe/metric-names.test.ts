// The dashboard, the guide and the table of metrics name the same ones.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { METRICS } from '../../src/observe/metric-names.ts';
import { prometheusExecutionObserver } from '../../src/observe/prometheus.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAMES = Object.keys(METRICS);
const IN_TEXT = /holdfast_lease_[a-z_]+/g;

function metricsIn(text: string): readonly string[] {
  const found = text.match(IN_TEXT) ?? [];
  return [...new Set(found.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))].sort();
}

test('the dashboard uses every metric and no other', async () => {
  const text = await readFile(join(ROOT, 'deploy/grafana/holdfast-leases.json'), 'utf8');
  const dashboard = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] };
  const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assert.deepEqual(metricsIn(expressions.join('\n')), [...NAMES].sort());
  for (const [name, { kind }] of Object.entries(METRICS)) {
    const suffix = kind === 'histogram' ? '_bucket' : '';
    assert.ok(text.includes(`${name}${suffix}{`), `${name} is a ${kind} and is asked for as one`);
  }
});

test('the guide lists every metric with its labels, and no other', async () => {
  const text = await readFile(join(ROOT, 'docs/operate/lease-metrics.md'), 'utf8');
  assert.deepEqual(metricsIn(text), [...NAMES].sort());
  for (const [name, { kind, labels }] of Object.entries(METRICS)) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\``));
    assert.ok(row?.includes(kind), `${name} is listed as a ${kind}`);
    for (const label of labels)
      assert.ok(row?.includes(`\`${label}\``), `${name} has the label ${label}`);
  }
});

test('the dashboard and the guide of executions name exactly the existing metrics', async () => {
  const registry = new Registry();
  prometheusExecutionObserver({ registry });
  const metrics = await registry.getMetricsAsJSON();
  const names = metrics.map(({ name }) => name).sort();
  const files = ['deploy/grafana/holdfast-executions.json', 'docs/guides/execution-metrics.md'];
  for (const file of files) {
    const found = (await readFile(join(ROOT, file), 'utf8')).match(/holdfast_execution_[a-z_]+/g);
    const bare = (found ?? []).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
    assert.deepEqual([...new Set(bare)].sort(), names, file);
  }
});
