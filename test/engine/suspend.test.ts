import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { parseExecutionId } from '../../src/execution/names.ts';
import { seededRandom } from '../../src/support/random.ts';
import { freshMemoryStore } from '../services/memory-store.ts';
import { sample } from '../services/tier.ts';
import { play, SCENARIOS, type Scenario } from './suspend/scenarios.ts';
import { everySchedule, type Schedule } from './suspend/schedule.ts';

const A_WHILE_MS = 250;

for (const scenario of sample('scenarios of a park, in every order', SCENARIOS, 3)) {
  test(`${scenario.name}, in every order`, async (context) => {
    const count = await everySchedule((schedule) => playUnder(scenario, schedule));
    context.diagnostic(`${count} orders`);
  });
}

/** Time passes only where the scenario lets it, so that the schedule alone decides. */
async function playUnder(scenario: Scenario, schedule: Schedule): Promise<void> {
  const clock = new ManualClock();
  const { store } = freshMemoryStore({ clock });
  let passing = 0;
  const place = {
    store,
    turns: schedule,
    now: () => clock.wallMs(),
    options: { clock, timers: clock.timers, random: seededRandom(1) },
    async passes(ms: number) {
      await schedule.pass('time');
      passing += 1;
      await clock.advance(ms);
      passing -= 1;
    },
  };
  await play(scenario, place, async (id) => {
    // Checks that an owner repeats after a while count. Polls and heartbeats, which would find a
    // lost message, come later than that.
    for (let whiles = 0; whiles < 3; whiles += 1) {
      await run(schedule, async () => {
        do await clock.advance(0);
        while (passing > 0);
      });
      const execution = await store.executions.read(parseExecutionId(id));
      if (execution?.endedAt !== undefined) break;
      await clock.advance(A_WHILE_MS);
    }
  });
  await store.close();
}

async function run(schedule: Schedule, settle: () => Promise<void>): Promise<void> {
  for (;;) {
    await settle();
    if (!schedule.isHolding) return;
    schedule.letOneGo();
  }
}
