// Thousands of dead letters, created by a running engine, and the facts that must hold after a bulk
// job has re-driven them, whatever process was killed on the way.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';
import type { ExecutionRecord } from '../../src/execution/execution.ts';
import type { DeadLetterRecord } from '../../src/features/repair/model.ts';
import type { JobItem } from '../../src/features/repair/port.ts';

export const LETTERS = 'letter';

/** One step that a re-drive reuses, and one that fails for good. */
const letter: Pipeline<string, string> = pipeline({
  name: LETTERS,
  async run(ctx, text: string) {
    const sealed = await ctx.step('seal', () => text);
    return ctx.step(
      'deliver',
      () => {
        throw new Error(`nobody takes letter ${sealed}`);
      },
      { retry: { attempts: 1 } },
    );
  },
});

const TOGETHER = 500;
const PAGE = 5_000;

export async function makeLetters(holdfast: Holdfast, count: number): Promise<void> {
  const worker = await holdfast.worker({ pipelines: [letter], concurrency: 1_000 });
  for (let made = 0; made < count; made += TOGETHER) {
    const size = Math.min(TOGETHER, count - made);
    const submits = Array.from({ length: size }, (_, n) => holdfast.submit(letter, `${made + n}`));
    const handles = await Promise.all(submits);
    await Promise.all(handles.map((handle) => assert.rejects(handle.result())));
  }
  await worker.stop();
}

/** Y-21, Y-23: every dead letter has one outcome and exactly one new execution. */
export async function checkRedriven(holdfast: Holdfast, job: string, count: number): Promise<void> {
  const items = await allItems(holdfast, job);
  const letters = await allLetters(holdfast);
  const executions = await allExecutions(holdfast);
  assert.deepEqual(await holdfast.result(job), { seen: count, outcomes: { submitted: count } });
  assert.equal(letters.length, count, 'no letter came and none went');
  assert.equal(items.length, count, 'every letter has an outcome');
  const madeOf = new Map(items.map(({ target, made }) => [target, made]));
  assert.equal(madeOf.size, count, 'no letter has two outcomes');
  for (const { execution, redrivenBy } of letters) {
    assert.ok(redrivenBy !== undefined && redrivenBy === madeOf.get(execution), execution);
  }
  const redriven = executions.filter(({ redriveOf }) => redriveOf !== undefined);
  assert.equal(redriven.length, count, 'one execution was made of each letter');
  for (const { id, redriveOf } of redriven) {
    assert.ok(redriveOf !== undefined && madeOf.get(redriveOf) === id, id);
  }
}

async function allItems(holdfast: Holdfast, job: string): Promise<readonly JobItem[]> {
  const items: JobItem[] = [];
  for (;;) {
    const after = items.at(-1)?.target;
    const page = await holdfast.bulk.items(job, { limit: PAGE, ...(after && { after }) });
    items.push(...page);
    if (page.length < PAGE) return items;
  }
}

async function allLetters(holdfast: Holdfast): Promise<readonly DeadLetterRecord[]> {
  const letters: DeadLetterRecord[] = [];
  for (let next: string | undefined; ; ) {
    const asked = {
      pipeline: LETTERS,
      limit: PAGE,
      ...(next === undefined ? {} : { cursor: next }),
    };
    const { items, cursor } = await holdfast.repair.deadLetters(asked);
    letters.push(...items);
    if (cursor === undefined) return letters;
    next = cursor;
  }
}

async function allExecutions(holdfast: Holdfast): Promise<readonly ExecutionRecord[]> {
  const executions: ExecutionRecord[] = [];
  for (let next: string | undefined; ; ) {
    const asked = {
      pipeline: LETTERS,
      limit: 1_000,
      ...(next === undefined ? {} : { cursor: next }),
    };
    const { items, cursor } = await holdfast.list(asked);
    executions.push(...items);
    if (cursor === undefined) return executions;
    next = cursor;
  }
}
