// Three processes, one schedule. The leader is killed, and a standby takes over after its session has
// expired. The second leader stops on request and hands over at once.
//
//   npm run example examples/leases/singleton-scheduler/main.ts

import { join } from 'node:path';
import { formatFence, parseFence } from 'holdfast';
import { Journal } from '../journal.ts';
import { type Actor, Story } from '../story.ts';
import type { SchedulerReport, Slot } from './scheduler.ts';

const SCHEDULER = join(import.meta.dirname, 'scheduler.ts');

const story = new Story();
const order = {
  storeFile: join(story.folder, 'leases.db'),
  journalFile: join(story.folder, 'slots.jsonl'),
};
const journal = new Journal<Slot>(order.journalFile);

type Scheduler = Actor<SchedulerReport>;

/** Waits until one of the candidates leads. */
async function leader(candidates: readonly Scheduler[]): Promise<Scheduler> {
  const first = await Promise.race(
    candidates.map((each) => each.waitFor('leads').then((report) => ({ each, report }))),
  );
  const { fence, exit, slot } = first.report;
  const shown = formatFence(parseFence(fence));
  story.print(
    first.each.name,
    `leads with fence ${shown}, from slot ${slot}; exit of the leader before: ${exit}`,
  );
  return first.each;
}

async function untilSlotsBy(name: string, count: number): Promise<void> {
  while (journal.entries().filter(({ by }) => by === name).length < count) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

await story.play('One scheduler at a time', async () => {
  let candidates: readonly Scheduler[] = ['one', 'two', 'three'].map((name) =>
    story.start<SchedulerReport>(SCHEDULER, name, order),
  );
  await Promise.all(candidates.map((each) => each.waitFor('stands')));
  const names: string[] = [];
  for (const end of ['kill', 'stop', 'stop'] as const) {
    const leads = await leader(candidates);
    names.push(leads.name);
    await untilSlotsBy(leads.name, 10);
    story.print(
      'system',
      end === 'kill' ? `SIGKILL: ${leads.name}` : `requests ${leads.name} to stop`,
    );
    await leads[end]();
    candidates = candidates.filter((each) => each !== leads);
  }
  const slots = journal.entries();
  story.print('journal', `${slots.length} slots, run by ${names.join(', then ')}`);
  const numbers = slots.map(({ slot }) => slot);
  story.mustBe(new Set(numbers).size === numbers.length, 'no slot ran twice');
  story.mustBe(new Set(names).size === 3, 'each of the three led once');
  // A leader saves the slot number before it runs the slot, so the kill can lose one.
  const skipped = (numbers.at(-1) ?? 0) - numbers.length;
  story.mustBe(skipped <= 1, 'at most one slot was lost, by the killed leader');
  const isRising = slots.every(({ fence }, index) => fence >= (slots[index - 1]?.fence ?? 0));
  story.mustBe(isRising, 'slots are in the order of fences');
});
