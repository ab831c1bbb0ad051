// Pages of what belongs to an execution, for workers.

import type { Static } from 'typebox';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import { readWithin } from '../../support/page-size.ts';
import type { WORK_MESSAGES } from '../messages/work-messages.ts';
import { executionFor } from './found.ts';
import type { Caller, Coordinator } from './route.ts';
import { giveOut } from './values-apart.ts';

interface Asked {
  readonly body: Static<(typeof WORK_MESSAGES)['readInbox']['body']>;
  readonly caller: Caller;
}

/** What belongs to an execution, as it is stored. */
export async function storedPage(
  what: 'inbox' | 'history',
  coordinator: Coordinator,
  { body, caller }: Asked,
): Promise<object> {
  const { id } = await executionFor(coordinator, caller, body.id);
  const { after = 0, limit = 1_000 } = body;
  const { executions } = coordinator.store;
  const { items, isCut } = await readWithin<HistoryEvent | InboxMessage>(
    { after, limit },
    (part) => executions[what]({ id, ...part }),
    (row) => ('seq' in row ? row.seq : row.n),
  );
  await giveOut(
    executions,
    caller.project,
    items.map((each) => each.body),
  );
  return { items, ...(isCut && { more: true }) };
}
