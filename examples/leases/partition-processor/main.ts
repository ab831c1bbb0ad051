// Three processes share six partitions, two each. One process is killed: the others take over its
// partitions, and repeat at most the records after the last checkpoint. Then a new process joins: the
// others hand partitions over to it, and no record is repeated.
//
//   npm run example examples/leases/partition-processor/main.ts

import { join } from 'node:path';
import { Journal } from '../journal.ts';
import { type Actor, Story } from '../story.ts';
import type { Processed, ProcessorReport } from './processor.ts';

const PROCESSOR = join(import.meta.dirname, 'processor.ts');
/** Copied from processor.ts, because importing that file would run it. */
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

/** Waits until all partitions are held and each process has the same number. */
async function untilShared(processors: readonly Processor[]): Promise<void> {
  const share = PARTITIONS / processors.length;
  while (!processors.every((each) => held(each).length === share)) {
    await Promise.race(processors.map((each) => each.more('its share of the partitions')));
  }
  for (const each of processors)
    story.print(each.name, `works on ${[...held(each)].sort().join()}`);
}

/** The offsets of each partition, in the order of processing. */
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

await story.play('Partitions shared by a changing set of processes', async () => {
  const [one, two, three] = [start('one'), start('two'), start('three')];
  await untilShared([one, two, three]);

  const orphaned = held(three);
  await three.kill();
  story.print('system', `SIGKILL: three dies while it holds ${[...orphaned].sort().join()}`);
  await untilShared([one, two]);
  const taken = [...one.reports, ...two.reports].filter(
    (report) => report.kind === 'took' && report.exit === 'expired',
  );
  story.mustBe(
    taken.length === orphaned.length,
    'the others took over its partitions after it expired',
  );

  const four = start('four');
  story.print('system', 'four joins');
  await untilShared([one, two, four]);
  const given = four.reports.filter((report) => report.kind === 'took');
  story.mustBe(
    given.every((report) => report.exit === 'yielded'),
    'the others handed partitions over at a safe point',
  );
  await Promise.all([one, two, four].map((each) => each.stop()));
  check(orphaned);
});
