// Six partitions over three processes, two each. One process is killed: the others take its
// partitions over and repeat at most what came after the last checkpoint. A new one joins: it is
// given its share, and nothing is repeated.
//
//   node examples/leases/partition-processor/main.ts

import { join } from 'node:path';
import { Journal } from '../journal.ts';
import { type Actor, Story } from '../story.ts';
import type { Processed, ProcessorReport } from './processor.ts';

const PROCESSOR = join(import.meta.dirname, 'processor.ts');
/** As in processor.ts, which runs when it is imported. */
const RECORDS_PER_CHECKPOINT = 5;
const PARTITIONS = 6;

const story = new Story();
const order = {
  storeFile: join(story.folder, 'leases.db'),
  journalFile: join(story.folder, 'processed.jsonl'),
};

type Processor = Actor<ProcessorReport>;

const start = (name: string): Processor => story.start<ProcessorReport>(PROCESSOR, name, order);

function held({ reports }: Processor): readonly string[] {
  const last = new Map(reports.map((report) => [report.partition, report.kind]));
  return [...last].filter(([, kind]) => kind === 'took').map(([partition]) => partition);
}

/** All partitions are held, and everybody has the same number of them. */
async function untilShared(processors: readonly Processor[]): Promise<void> {
  const share = PARTITIONS / processors.length;
  while (!processors.every((each) => held(each).length === share)) {
    await Promise.race(processors.map((each) => each.more('that it has its share')));
  }
  for (const each of processors)
    story.print(each.name, `works on ${[...held(each)].sort().join()}`);
}

/** Offsets of each partition, in the order in which they were processed. */
function offsets(): ReadonlyMap<string, readonly number[]> {
  const entries = new Journal<Processed>(order.journalFile).entries();
  const groups = Map.groupBy(entries, ({ partition }) => partition);
  return new Map([...groups].map(([name, found]) => [name, found.map(({ offset }) => offset)]));
}

function check(orphaned: readonly string[]): void {
  let repeated = 0;
  for (const [partition, seen] of offsets()) {
    const distinct = new Set(seen);
    story.mustBe(distinct.size === Math.max(...seen), `${partition} has no gap`);
    const again = seen.length - distinct.size;
    const may = orphaned.includes(partition) ? RECORDS_PER_CHECKPOINT : 0;
    story.mustBe(again <= may, `${partition} repeats ${again} records, ${may} at most`);
    repeated += again;
  }
  const all = [...offsets().values()].flat().length;
  story.print('journal', `${all} records, no gap; ${repeated} repeated, all after the kill`);
}

await story.play('Partitions shared by processes that come and go', async () => {
  const [one, two, three] = [start('one'), start('two'), start('three')];
  await untilShared([one, two, three]);

  const orphaned = held(three);
  await three.kill();
  story.print('system', `SIGKILL: three is gone, and with it ${[...orphaned].sort().join()}`);
  await untilShared([one, two]);
  const taken = [...one.reports, ...two.reports].filter(
    (report) => report.kind === 'took' && report.exit === 'expired',
  );
  story.mustBe(taken.length === orphaned.length, 'its partitions were taken over as expired');

  const four = start('four');
  story.print('system', 'four joins');
  await untilShared([one, two, four]);
  const given = four.reports.filter((report) => report.kind === 'took');
  story.mustBe(
    given.every((report) => report.exit === 'yielded'),
    'it was given them, at a safe point',
  );
  await Promise.all([one, two, four].map((each) => each.stop()));
  check(orphaned);
});
