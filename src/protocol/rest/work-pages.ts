// Pages of what belongs to an execution, for workers.

import type { Static } from 'typebox';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import { bodyChars, readWithin } from '../../support/page-size.ts';
import type { WORK_MESSAGES } from '../messages/work-messages.ts';
import { executionFor } from './handling.ts';
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
    { placeOf: (row) => ('seq' in row ? row.seq : row.n), charsOf: bodyChars },
  );
  await giveOut(
    executions,
    caller.project,
    items.map((each) => each.body),
  );
  return { items, ...(isCut && { more: true }) };
}

const CLAIMS_MAX = 1_000;

/** What a session carries, by fence, and whether there is more. */
export async function carriedPage(
  { store: { executions } }: Coordinator,
  { session, after }: { readonly session: SessionId; readonly after: number },
): Promise<{ readonly items: readonly Claimed[]; readonly more: boolean }> {
  const { items, isCut } = await readWithin(
    { after, limit: CLAIMS_MAX },
    (part) => executions.carried({ session, ...part }),
    { placeOf: ({ fence }) => fence, charsOf: claimChars },
  );
  return { items, more: isCut || items.length === CLAIMS_MAX };
}

function claimChars({ execution: { input, progress } }: Claimed): number {
  return input.length + (progress?.length ?? 0);
}
