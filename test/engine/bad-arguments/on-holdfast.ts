// A Holdfast with some content: a waiting execution, a template, a schedule and a worker.

import { Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { ExecutionReport } from '../../../src/execution/report.ts';
import { openMemoryStore } from '../../../src/store/sqlite/open-memory.ts';
import { pause } from '../stage.ts';
import type { Given } from './of-holdfast.ts';

const waits = pipeline({ name: 'waits', run: (ctx) => ctx.receive('never') });
export const fine: Pipeline<unknown, string> = pipeline({
  name: 'fine',
  run: (ctx) => ctx.step('s', () => 'fine'),
});

export async function onHoldfast(
  work: (given: Given, reports: readonly ExecutionReport[]) => Promise<void>,
  // biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output
  also: readonly any[] = [],
): Promise<void> {
  const store = openMemoryStore();
  const reports: ExecutionReport[] = [];
  const holdfast = new Holdfast({ store, observer: { report: (each) => reports.push(each) } });
  try {
    await holdfast.worker({ pipelines: [waits, fine, ...also], pollMs: 20 });
    const handle = await holdfast.submit(waits, undefined, { key: 'there' });
    while ((await holdfast.read(handle.id))?.status !== 'waiting') await pause(5);
    await holdfast.templates.put({ id: 't', version: 1, pipeline: 'p', defaults: { a: 1 } });
    await holdfast.schedules.put({ id: 's', every: 86_400_000, pipeline: 'p' });
    await work({ holdfast, handle }, reports);
  } finally {
    await holdfast.close();
    await store.close();
  }
}
