import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../contract/testing/manual-clock.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { WorkerRecord } from '../../features/releases/model.ts';
import { AnnouncedPipelines } from './announced-pipelines.ts';

const PROJECT = 'default' as ProjectName;

function announcing(...pipelines: readonly string[]): {
  readonly clock: ManualClock;
  readonly announced: AnnouncedPipelines;
  readonly names: string[];
  readonly reads: () => number;
} {
  const clock = new ManualClock();
  const names = [...pipelines];
  let reads = 0;
  const workers = async (): Promise<readonly WorkerRecord[]> => {
    reads += 1;
    return names.length === 0 ? [] : [{ pipelines: names } as unknown as WorkerRecord];
  };
  const announced = new AnnouncedPipelines({ workers }, clock);
  return { clock, announced, names, reads: () => reads };
}

test('a name that no worker has announced is reported, with the nearest', async () => {
  const { announced } = announcing('order', 'refund');
  assert.equal(await announced.warningFor(PROJECT, 'order'), undefined);
  assert.deepEqual(await announced.warningFor(PROJECT, 'ordr'), {
    code: 'pipeline-unknown',
    detail:
      'No worker has announced pipeline "ordr". Did you mean "order"? The execution was submitted, and waits until one does.',
  });
});

test('workers are read at most once a second, and a name that was announced once stays known', async () => {
  const { clock, announced, names, reads } = announcing();
  for (let nth = 0; nth < 3; nth += 1) {
    assert.match((await announced.warningFor(PROJECT, 'order'))?.detail ?? '', /^No worker has/);
  }
  assert.equal(reads(), 1);
  names.push('order');
  await clock.advance(1_000);
  assert.equal(await announced.warningFor(PROJECT, 'order'), undefined);
  names.pop();
  await clock.advance(60_000);
  assert.equal(await announced.warningFor(PROJECT, 'order'), undefined);
  assert.equal(reads(), 2);
});

test('the nearest name is searched at most once a second, and the same name gets the same hint', async () => {
  const { clock, announced } = announcing('order', 'refund');
  const hintFor = async (name: string) =>
    /Did you mean "(.*)"/.exec((await announced.warningFor(PROJECT, name))?.detail ?? '')?.[1];
  assert.equal(await hintFor('ordr'), 'order');
  assert.equal(await hintFor('refnd'), undefined);
  assert.equal(await hintFor('ordr'), 'order');
  await clock.advance(1_000);
  assert.equal(await hintFor('refnd'), 'refund');
});

test('a project whose workers announce many names gets no warnings, and few of its workers are read', async () => {
  const clock = new ManualClock();
  let read = 0;
  const workers = async ({ limit }: { limit: number }): Promise<readonly WorkerRecord[]> => {
    read += limit;
    return Array.from({ length: limit }, (_, nth) => {
      const pipelines = Array.from({ length: 1_000 }, (_, name) => `${read} ${nth} ${name}`);
      return { pipelines, session: `${nth}` } as unknown as WorkerRecord;
    });
  };
  const announced = new AnnouncedPipelines({ workers }, clock);
  for (let seconds = 0; seconds < 3; seconds += 1) {
    assert.equal(await announced.warningFor(PROJECT, 'order'), undefined);
    await clock.advance(1_000);
  }
  assert.equal(read, 20);
});
