// Checks that hold after any case. The row agrees with its history and its status. The
// inbox agrees with its counter, awaits agree with both (W-3, W-9), and dead letters with
// ended executions.

import assert from 'node:assert/strict';
import { type ExecutionRecord, isTerminal } from '../../src/execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../src/execution/history.ts';
import type { ExecutionId } from '../../src/execution/names.ts';
import type { InteractionFound } from '../../src/features/awaits/port.ts';
import type { ListPosition } from '../../src/store/contract/execution-reads.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { allDeadLetters, allInteractions, checkAwaits, checkRepair } from './check-awaits.ts';
import { checkInvariants } from './check-invariants.ts';
import { projectHistory } from './projection.ts';
import { PROJECTS } from './worker.ts';

const PAGE = 50;
/** Small, so that histories have several pages. */
const HISTORY_PAGE = 7;

export async function checkEverything(store: CoordinatorStore): Promise<void> {
  const executions = await allExecutions(store);
  const interactions = await allInteractions(store);
  const byExecution = Map.groupBy(interactions, ({ interaction }) => interaction.execution);
  for (const execution of executions) {
    await checkExecution(store, execution, byExecution.get(execution.id) ?? []);
  }
  checkRepair(executions, await allDeadLetters(store));
  // A case may fail an execution without a dead letter, because the owner passes it.
  await checkInvariants(store, ['letter-missing']);
}

/** Lists every execution of the projects that cases use, newest first. */
export async function allExecutions(store: CoordinatorStore): Promise<readonly ExecutionRecord[]> {
  const found: ExecutionRecord[] = [];
  for (const project of PROJECTS) {
    for (let after: ListPosition | undefined; ; ) {
      const from = after && { after };
      const { items, next } = await store.executions.list({ project, limit: PAGE, ...from });
      found.push(...items);
      after = next;
      if (after === undefined) break;
    }
  }
  return found;
}

export async function allHistory(
  store: CoordinatorStore,
  id: ExecutionId,
): Promise<readonly HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.seq ?? 0;
    const page = await store.executions.history({ id, after, limit: HISTORY_PAGE });
    if (page.length === 0) return events;
    assert.ok(page.length <= HISTORY_PAGE, 'X-22: a page is no longer than asked for');
    const seqs = page.map(({ seq }) => seq);
    assert.deepEqual(seqs, follow(after, page), 'X-4: seq has no gaps');
    events.push(...page);
  }
}

export async function allMessages(
  store: CoordinatorStore,
  id: ExecutionId,
): Promise<readonly InboxMessage[]> {
  const messages: InboxMessage[] = [];
  for (;;) {
    const after = messages.at(-1)?.n ?? 0;
    const page = await store.executions.inbox({ id, after, limit: PAGE });
    if (page.length === 0) return messages;
    const numbers = page.map(({ n }) => n);
    assert.deepEqual(numbers, follow(after, page), 'X-5: messages have no gaps');
    messages.push(...page);
  }
}

/** The expected numbers of the entries of a page after this one. */
function follow(after: number, page: readonly unknown[]): readonly number[] {
  return page.map((_, index) => after + 1 + index);
}

async function checkExecution(
  store: CoordinatorStore,
  execution: ExecutionRecord,
  awaits: readonly InteractionFound[],
): Promise<void> {
  const { id } = execution;
  const about = JSON.stringify(execution);
  assert.deepEqual(await store.executions.read(id), execution, 'X-22: read and list agree');
  const events = await allHistory(store, id);
  assert.equal(events[0]?.kind, 'submitted', about);
  for (const [index, { at }] of events.entries()) {
    assert.ok(at >= (events[index - 1]?.at ?? 0), `time goes on: ${about}`);
  }
  checkRow(execution);
  checkProjection(execution, events);
  checkClaims(execution, events);
  const messages = await allMessages(store, id);
  assert.deepEqual(
    messages.map(({ n }) => n),
    Array.from({ length: execution.inboxCount }, (_, index) => index + 1),
    `X-5: inboxCount counts the inbox: ${about}`,
  );
  checkAwaits(execution, awaits, messages);
}

/** Checks what each status implies. */
function checkRow(execution: ExecutionRecord): void {
  const { status, readyAt, session, fence, endedAt, holds, wakeAfter } = execution;
  const about = `${status}: ${JSON.stringify(execution)}`;
  if (status === 'queued') assert.notEqual(readyAt, undefined, about);
  if (status === 'running' || isTerminal(status)) {
    assert.equal(readyAt, undefined, about);
    assert.deepEqual(holds, [], about);
  }
  assert.equal(session !== undefined, status === 'running', about);
  assert.equal(endedAt !== undefined, isTerminal(status), about);
  if (status === 'running') assert.equal(wakeAfter, 0, about);
  if (status === 'running' || status === 'waiting') assert.notEqual(fence, undefined, about);
  if (isTerminal(status)) {
    assert.deepEqual([execution.hasSlot, execution.compensable], [false, false], about);
  }
  if (execution.compensating) {
    assert.deepEqual([execution.compensable, execution.deadlineAt], [false, undefined], about);
  }
  if (holds.includes('concurrency-limit')) assert.equal(execution.hasSlot, false, about);
}

/** The row must follow from its history. */
function checkProjection(execution: ExecutionRecord, events: readonly HistoryEvent[]): void {
  const projected = projectHistory(events);
  const about = `${JSON.stringify(execution)} from ${JSON.stringify(events)}`;
  // A message wakes an execution without an event.
  const wasWoken = projected.status === 'waiting' && execution.status === 'queued';
  if (!wasWoken) assert.equal(execution.status, projected.status, about);
  if (execution.status !== 'running') assert.equal(execution.seq, projected.seq, about);
  const isOwn = (hold: string): boolean => hold !== 'concurrency-limit';
  assert.deepEqual(
    {
      submittedAt: execution.submittedAt,
      endedAt: execution.endedAt,
      fence: execution.fence,
      session: execution.session,
      claimsWithoutProgress: execution.claimsWithoutProgress,
      compensating: execution.compensating,
      holds: execution.holds.filter(isOwn),
    },
    {
      submittedAt: projected.submittedAt,
      endedAt: projected.endedAt,
      fence: projected.fence,
      session: projected.session,
      claimsWithoutProgress: projected.claimsWithoutProgress,
      compensating: projected.compensating,
      holds: projected.holds,
    },
    about,
  );
}

/** Every claim must return how the previous one ended, as history shows it. */
function checkClaims({ redriveOf }: ExecutionRecord, events: readonly HistoryEvent[]): void {
  // A re-drive has a history from its start (Y-20).
  const start = redriveOf === undefined ? 'none' : 'given-back';
  for (const [index, { kind, body }] of events.entries()) {
    if (kind !== 'claimed') continue;
    const { previous } = JSON.parse(body ?? '{}') as { readonly previous?: string };
    if (previous === 'lost') continue;
    const before = projectHistory(events.slice(0, index), start);
    assert.equal(previous, before.previous, `X-11: ${JSON.stringify(events)}`);
  }
}
