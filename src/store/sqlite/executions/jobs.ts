import type { ExecutionMoved } from '../../../features/releases/port.ts';
import type { RedriveAnswer } from '../../../features/repair/port.ts';
import type { CommandAnswer } from '../../contract/execution-store.ts';
import { keepAnswer, keptAnswer, type OfJob } from '../../sql/jobs.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';

/** As the script of this name, for verbs that are not scripts (Y-23). */
export function onceOfJob<Answer extends CommandAnswer | RedriveAnswer | ExecutionMoved>(
  tx: Transaction,
  item: OfJob,
  act: () => Answer,
): Answer {
  if (item.job === undefined) return act();
  const kept = play(tx, keptAnswer<Answer>(item));
  if (kept !== undefined) return kept;
  const answer = act();
  play(tx, keepAnswer(item, answer));
  return answer;
}
