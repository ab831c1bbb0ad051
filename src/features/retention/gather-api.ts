// All that is stored of an execution that has ended. Its rows go in one transaction: when its row is still there
// after everything was read, all of it was.

import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { ExecutionId, InteractionId } from '../../execution/names.ts';
import type {
  AttachmentSummary,
  ChildSummary,
  ExecutionStore,
} from '../../store/contract/execution-store.ts';
import type { AuditRecord } from '../audit/model.ts';
import type { Answer } from '../awaits/model.ts';
import type { InteractionFound } from '../awaits/port.ts';
import type { DeadLetterRecord } from '../repair/model.ts';
import type { SeenOfEnded } from './model.ts';

export interface AskedOf extends InteractionFound {
  readonly late: readonly Answer[];
}

export interface Gathered {
  readonly execution: ExecutionRecord;
  readonly history: readonly HistoryEvent[];
  readonly inbox: readonly InboxMessage[];
  readonly children: readonly ChildSummary[];
  readonly attachments: readonly AttachmentSummary[];
  readonly awaits: readonly AskedOf[];
  readonly letter: DeadLetterRecord | undefined;
  readonly audit: readonly AuditRecord[];
  readonly seen: SeenOfEnded;
}

const PAGE = 1_000;

/** Undefined when it is not there, or goes meanwhile. */
export async function gather(
  store: ExecutionStore,
  id: ExecutionId,
): Promise<Gathered | undefined> {
  const execution = await store.read(id);
  if (execution === undefined) return undefined;
  const { project } = execution;
  const letter = await store.deadLetter(id);
  const awaits = await awaitsOf(store, execution);
  const late = awaits.reduce((sum, { interaction }) => sum + interaction.late, 0);
  const gathered: Gathered = {
    execution,
    history: await paged((last: HistoryEvent | undefined) =>
      store.history({ id, after: last?.seq ?? 0, limit: PAGE }),
    ),
    inbox: await paged((last: InboxMessage | undefined) =>
      store.inbox({ id, after: last?.n ?? 0, limit: PAGE }),
    ),
    children: await paged((last: ChildSummary | undefined) =>
      store.children({ parent: id, limit: PAGE, ...(last && { after: last.id }) }),
    ),
    attachments: await store.attachments(id),
    awaits,
    letter,
    audit: await paged((last: AuditRecord | undefined) =>
      store.audit({
        ...{ project, target: { kind: 'execution', id }, limit: PAGE },
        ...(last && { before: last.id }),
      }),
    ),
    seen: { late, ...(letter?.redrivenBy && { redrivenBy: letter.redrivenBy }) },
  };
  return (await store.read(id)) === undefined ? undefined : gathered;
}

async function awaitsOf(
  store: ExecutionStore,
  { id, project }: ExecutionRecord,
): Promise<readonly AskedOf[]> {
  const found = await paged((last: InteractionFound | undefined) => {
    const before: { before?: InteractionId } = last ? { before: last.interaction.id } : {};
    return store.interactions({ project, execution: id, limit: PAGE, ...before });
  });
  return Promise.all(
    found.map(async (each) => {
      const isLate = each.interaction.late > 0;
      const query = { project, id: each.interaction.id };
      return { ...each, late: isLate ? await store.lateAnswers(query) : [] };
    }),
  );
}

async function paged<Item>(
  read: (last: Item | undefined) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (;;) {
    const page = await read(all.at(-1));
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
