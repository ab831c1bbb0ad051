import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePipelineName, parseProject } from '../execution/names.ts';
import { openMetrics, type ServerMetrics } from './metrics.ts';

const HOSTILE = parseProject('hostile');
const HEALTHY = parseProject('healthy');

async function open(): Promise<ServerMetrics> {
  const metrics = await openMetrics();
  assert.ok(metrics !== undefined, 'prom-client is installed here');
  return metrics;
}

async function submittedOf(metrics: ServerMetrics, project?: string): Promise<readonly string[]> {
  const { text } = await metrics.read(project === undefined ? undefined : parseProject(project));
  return text.split('\n').filter((line) => line.startsWith('holdfast_executions_submitted_total{'));
}

test('a project with any number of pipelines has few series, and takes none of another project', async () => {
  const metrics = await open();
  for (let nth = 0; nth < 10_000; nth += 1) {
    metrics.countsOf(HOSTILE, parsePipelineName(`p${nth}`)).submitted('batch');
  }
  metrics.countsOf(HEALTHY, parsePipelineName('order')).submitted('interactive');
  const hostile = await submittedOf(metrics, HOSTILE);
  assert.equal(hostile.length, 51);
  assert.ok(hostile.some((line) => line.endsWith('pipeline="(other)",lane="batch"} 9950')));
  const healthy = 'holdfast_executions_submitted_total{pipeline="order",lane="interactive"} 1';
  assert.deepEqual(await submittedOf(metrics, HEALTHY), [healthy]);
  const all = await submittedOf(metrics);
  assert.equal(all.length, 52);
  assert.ok(all.includes(healthy));
});

test('any number of projects has few series too', async () => {
  const metrics = await open();
  for (let nth = 0; nth < 100; nth += 1) {
    for (let each = 0; each < 20; each += 1) {
      const pipeline = parsePipelineName(`p${nth}.${each}`);
      metrics.countsOf(parseProject(`project ${nth}`), pipeline).submitted('batch');
    }
  }
  const all = await submittedOf(metrics);
  assert.equal(all.length, 1_001);
  assert.ok(all.some((line) => line.endsWith('pipeline="(other)",lane="batch"} 1000')));
});

test('the engine’s executions for each pipeline share one label, and so do unknown pipelines', async () => {
  const metrics = await open();
  for (const pipeline of ['holdfast.answer/a', 'holdfast.answer/b']) {
    metrics.countsOf(HEALTHY, parsePipelineName(pipeline)).submitted('batch');
  }
  metrics.countsOf(HEALTHY, undefined).ended('completed');
  const { text } = await metrics.read(HEALTHY);
  assert.match(text, /submitted_total\{pipeline="holdfast.answer",lane="batch"\} 2/);
  assert.match(text, /ended_total\{pipeline="\(unknown\)",status="completed"\} 1/);
});

test('an endpoint has one series, which is 1 while the circuit of any of its URLs is open', async () => {
  const metrics = await open();
  metrics.circuitsFrom(() => [
    { host: 'a', isOpen: true },
    { host: 'a', isOpen: false },
    { host: 'b', isOpen: false },
  ]);
  const { text } = await metrics.read();
  const lines = text.split('\n').filter((line) => line.startsWith('holdfast_push_circuit_open{'));
  assert.deepEqual(lines, [
    'holdfast_push_circuit_open{host="a"} 1',
    'holdfast_push_circuit_open{host="b"} 0',
  ]);
});
