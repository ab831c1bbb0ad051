// What an answer must be like, for who makes a form of it. It is in the event that opened the await.

import { saidIn } from '../../execution/history.ts';
import type { Coordinator } from '../../protocol/rest/route.ts';
import type { Interaction } from './model.ts';

const PAGE = 1_000;
/** Of a longer history a form is not worth the reading. */
const PAGES_MAX = 50;

export async function answerSchemaOf(
  { store }: Coordinator,
  { execution: id, call }: Pick<Interaction, 'execution' | 'call'>,
): Promise<{ readonly answerSchema?: unknown }> {
  let after = 0;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const events = await store.executions.history({ id, after, limit: PAGE });
    for (const { kind, body, seq } of events) {
      after = seq;
      if (kind !== 'await-opened') continue;
      const opened = saidIn<{ readonly key: string; readonly answerSchema: unknown }>(body);
      if (opened.key !== call) continue;
      const { answerSchema } = opened;
      return answerSchema === undefined ? {} : { answerSchema };
    }
    if (events.length < PAGE) break;
  }
  return {};
}
