// A store that an earlier build wrote opens under this build, and every open execution in it ends.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openHoldfast, pipeline } from '../../src/index.ts';
import { openAddressed, type StorePlace } from '../load/place.ts';
import { openWork } from './open-work.ts';
import { packedBuild } from './packed-build.ts';

export function registerEarlierStore(kind: string, placeOf: () => Promise<StorePlace>): void {
  test(`${kind}: executions that a killed process of build 0d29afd left open end under this build`, async () => {
    const place = await placeOf();
    const ids = await beginByEarlier(place);
    const store = await openAddressed(place);
    const holdfast = await openHoldfast({ store });
    try {
      const pipelines = openWork({ pipeline, isEarlier: false });
      await holdfast.worker({ pipelines, ttlMs: 2_000, pollMs: 200 });
      const pauses = await holdfast.audit.list({ action: 'pause' });
      assert.deepEqual(
        pauses.items.map(({ target }) => target.id).sort(),
        [ids['paused'], ids['queued']].sort(),
      );
      for (const name of ['queued', 'paused']) await holdfast.resume(ids[name] ?? '');
      const { items } = await holdfast.list({ pipeline: 'child' });
      for (const id of [ids['receiving'], ids['paused'], items[0]?.id]) {
        await holdfast.signal(id ?? '', { name: 'go', value: 'went' });
      }
      const [question] = (await holdfast.awaits.list({ open: true })).items;
      await holdfast.awaits.answer(question?.id ?? '', 'granted');
      const ends: Record<string, unknown> = {};
      for (const [name, id] of Object.entries(ids)) {
        const { status } = await holdfast.ended(id);
        ends[name] = status === 'completed' ? await holdfast.result(id) : status;
      }
      assert.deepEqual(ends, {
        queued: 'queued',
        sleeping: 'step of the earlier',
        receiving: 'went',
        asking: 'granted',
        parent: 'went',
        retrying: 'retried',
        running: 'taken over',
        paused: 'went',
        undoing: 'compensated',
      });
    } finally {
      await holdfast.close();
      await store.close();
    }
  });
}

/** The ids of the executions, by pipeline. */
async function beginByEarlier(place: StorePlace): Promise<Readonly<Record<string, string>>> {
  const { cli } = await packedBuild('0d29afd');
  const start = JSON.stringify({ dist: join(dirname(cli), '..'), place });
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = fork(join(import.meta.dirname, 'earlier-process.ts'), [start], {
    ...{ execPath: process.execPath, execArgv: [], env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const gone = once(child, 'exit');
  const [first] = await Promise.race([
    once(child, 'message'),
    gone.then(() => assert.fail('the earlier build ended before it had begun everything')),
  ]);
  child.kill('SIGKILL');
  await gone;
  return first as Readonly<Record<string, string>>;
}
