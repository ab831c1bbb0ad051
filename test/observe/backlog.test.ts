// The gauges of a store, in a coordinator and in a process with an embedded engine.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { DEFAULT_PROJECT } from '../../src/execution/names.ts';
import { pipeline } from '../../src/index.ts';
import { prometheusBacklog, prometheusExecutionObserver } from '../../src/observe/prometheus.ts';
import { openMetrics } from '../../src/server/metrics.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemClock } from '../../src/support/clock.ts';
import { until } from '../processes/stage/until.ts';

const ask = pipeline({ name: 'ask', run: (ctx) => ctx.await('ok', {}) });
const broken = pipeline({
  name: 'broken',
  run: (): void => {
    throw new Error('broken');
  },
});
const unclaimed = pipeline({ name: 'unclaimed', run: () => 1 });

function valueIn(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

test('queues, questions, dead letters, workers and slots are gauges, embedded and in a coordinator', async (t) => {
  const store = openMemoryStore();
  t.after(() => store.close());
  const registry = new Registry();
  const observer = prometheusExecutionObserver({ registry });
  prometheusBacklog({ registry, store });
  await using holdfast = new Holdfast({ store, observer });
  await holdfast.worker({ pipelines: [ask, broken], concurrency: 7 });
  await holdfast.submit(ask, undefined);
  await assert.rejects((await holdfast.submit(broken, undefined)).result());
  await holdfast.submit(unclaimed, undefined);
  await until('it asks', async () => (await holdfast.awaits.list({ open: true })).items.length > 0);
  const text = await registry.metrics();
  await using server = await openServer({ store, auth: 'off', port: 0 });
  const served = await (await fetch(`${server.url}/metrics`)).text();
  for (const each of [text, served]) {
    assert.equal(valueIn(each, 'holdfast_awaits_open{pipeline="ask"}'), 1);
    assert.ok((valueIn(each, 'holdfast_await_age_seconds{pipeline="ask"}') ?? -1) >= 0);
    assert.equal(valueIn(each, 'holdfast_dead_letters_open{pipeline="broken"}'), 1);
    assert.ok((valueIn(each, 'holdfast_queue_age_seconds{pipeline="unclaimed"}') ?? -1) >= 0);
    assert.equal(valueIn(each, 'holdfast_workers{state="ready"}'), 1);
    assert.equal(valueIn(each, 'holdfast_workers{state="draining"}'), 0);
    assert.ok((valueIn(each, 'holdfast_worker_slots_free{state="ready"}') ?? 0) > 0);
  }
  assert.equal(valueIn(text, 'holdfast_execution_running{pipeline="broken"}'), 0);
});

test('pipelines beyond the limit share one label', async (t) => {
  const store = openMemoryStore();
  t.after(() => store.close());
  await using holdfast = new Holdfast({ store });
  const metrics = await openMetrics();
  metrics?.readFrom(store.executions, systemClock);
  for (let nth = 0; nth < 60; nth += 1) {
    await holdfast.submit(pipeline({ name: `p${nth}`, run: () => 1 }), undefined);
  }
  const { text } = (await metrics?.read(DEFAULT_PROJECT)) ?? { text: '' };
  assert.equal(text.match(/^holdfast_queue_age_seconds\{/gm)?.length, 51);
  assert.notEqual(valueIn(text, 'holdfast_queue_age_seconds{pipeline="(other)"}'), undefined);
});
