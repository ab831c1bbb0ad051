// Store time that is not the host's, in words.

import type { StoreProblem } from '../contract/census-store.ts';
import type { Database } from './database.ts';

/** Less is the work of NTP. */
const AHEAD_MS = 10_000;

const WAY_BACK =
  'Set the host’s clock right (NTP), then run: holdfast doctor --set-clock-back --store <file>';

/** C-9: store time is ahead of the host's clock, or does not follow it yet. */
export async function clockProblem(database: Database): Promise<StoreProblem | undefined> {
  const leadMs = await database.read(() => database.leadMs);
  const seconds = Math.round(Math.abs(leadMs) / 1_000);
  if (leadMs > AHEAD_MS) {
    return {
      sentence: `Store time is ${seconds} s ahead of this host’s clock, which was ahead once or was set back: sleeps until a time of day end early, and schedules fire at wrong times.`,
      advice: WAY_BACK,
    };
  }
  if (leadMs < -AHEAD_MS) {
    return {
      sentence: `This host’s clock jumped ahead by ${seconds} s. Store time follows if the clock stays there for two minutes.`,
      advice: 'If the clock is wrong, set it right now (NTP).',
    };
  }
  return undefined;
}
