// Reads rows with large bodies page by page. A page has at most a few MiB, because coordinators share
// their process among projects.

import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { ExecutionId } from '../../execution/names.ts';
import { type Cut, fittingIn, sizedWithin } from '../../support/page-size.ts';
import type { ExecutionStore } from './execution-store.ts';

interface Page {
  readonly id: ExecutionId;
  readonly after: number;
  readonly limit: number;
}

type Reads = Pick<ExecutionStore, 'history' | 'inbox' | 'bodySizes'>;

export function historyPage(executions: Reads, page: Page): Promise<Cut<HistoryEvent>> {
  return sizedWithin(page, {
    sizes: (query) => executions.bodySizes({ of: 'history', ...query }),
    rows: (query) => executions.history(query),
  });
}

export function inboxPage(executions: Reads, page: Page): Promise<Cut<InboxMessage>> {
  return sizedWithin(page, {
    sizes: (query) => executions.bodySizes({ of: 'inbox', ...query }),
    rows: (query) => executions.inbox(query),
  });
}

/** The limit of one page. */
const ROWS = 1_000;

/** The events after a position, page by page. */
export async function* historyPages(
  executions: Reads,
  { id, after = 0 }: { readonly id: ExecutionId; readonly after?: number },
): AsyncGenerator<readonly HistoryEvent[]> {
  for (let at = after; ; ) {
    const { items, isCut } = await historyPage(executions, { id, after: at, limit: ROWS });
    if (items.length > 0) yield items;
    if (!isCut && items.length < ROWS) return;
    at = items.at(-1)?.seq ?? at;
  }
}

/** The messages of an inbox, page by page. */
export async function* inboxPages(
  executions: Reads,
  id: ExecutionId,
): AsyncGenerator<readonly InboxMessage[]> {
  for (let at = 0; ; ) {
    const { items, isCut } = await inboxPage(executions, { id, after: at, limit: ROWS });
    if (items.length > 0) yield items;
    if (!isCut && items.length < ROWS) return;
    at = items.at(-1)?.n ?? at;
  }
}

interface Before {
  readonly id: ExecutionId;
  /** The number of the last row. */
  readonly until: number;
  readonly limit: number;
}

/** The last events up to a position, and the position before them. */
export async function eventsBefore(
  executions: Reads,
  before: Before,
): Promise<{ readonly events: readonly HistoryEvent[]; readonly after: number }> {
  const { after, limit } = await fittingBefore(executions, 'history', before);
  return { events: await executions.history({ id: before.id, after, limit }), after };
}

/** The last messages of an inbox up to a position. */
export async function messagesBefore(
  executions: Reads,
  before: Before,
): Promise<readonly InboxMessage[]> {
  const page = await fittingBefore(executions, 'inbox', before);
  return executions.inbox({ id: before.id, ...page });
}

async function fittingBefore(
  executions: Reads,
  of: 'history' | 'inbox',
  { id, until, limit }: Before,
): Promise<{ readonly after: number; readonly limit: number }> {
  const after = Math.max(0, until - limit);
  const sizes = await executions.bodySizes({ of, id, after, limit: until - after });
  const count = fittingIn(sizes.toReversed());
  return { after: after + sizes.length - count, limit: count };
}
