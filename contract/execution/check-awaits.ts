// Invariants of awaits and dead letters, which hold after any case.

import assert from 'node:assert/strict';
import { type ExecutionRecord, isTerminal } from '../../src/execution/execution.ts';
import type { InboxMessage } from '../../src/execution/history.ts';
import type { ExecutionId, InteractionId } from '../../src/execution/names.ts';
import type { AwaitUnit, Interaction } from '../../src/features/awaits/model.ts';
import type { InteractionFound } from '../../src/features/awaits/port.ts';
import type { DeadLetterRecord } from '../../src/features/repair/model.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { PROJECTS } from './worker.ts';

/** Small, so that lists have several pages. */
const PAGE = 5;

export async function allInteractions(
  store: CoordinatorStore,
): Promise<readonly InteractionFound[]> {
  const found: InteractionFound[] = [];
  for (const project of PROJECTS) {
    for (let before: InteractionId | undefined; ; ) {
      const cursor = before === undefined ? {} : { before };
      const page = await store.executions.interactions({ project, limit: PAGE, ...cursor });
      found.push(...page);
      before = page.at(-1)?.interaction.id;
      if (before === undefined || page.length < PAGE) break;
    }
  }
  return found;
}

export async function allDeadLetters(
  store: CoordinatorStore,
): Promise<readonly DeadLetterRecord[]> {
  const found: DeadLetterRecord[] = [];
  for (const project of PROJECTS) {
    for (let before: ExecutionId | undefined; ; ) {
      const cursor = before === undefined ? {} : { before };
      const page = await store.executions.deadLetters({ project, limit: PAGE, ...cursor });
      found.push(...page);
      before = page.at(-1)?.execution;
      if (before === undefined || page.length < PAGE) break;
    }
  }
  return found;
}

/** Compares the awaits of one execution with its row and its inbox. */
export function checkAwaits(
  execution: ExecutionRecord,
  own: readonly InteractionFound[],
  messages: readonly InboxMessage[],
): void {
  const settled = messages.filter(({ kind }) => kind === 'await-settled');
  const ended = isTerminal(execution.status);
  for (const [call, of] of Map.groupBy(own, ({ interaction }) => interaction.call)) {
    const [first] = of;
    for (const { interaction, unit } of of) {
      assert.deepEqual(unit, first?.unit, 'one call is one unit');
      checkInteraction(interaction, { unit, ended });
      assert.equal(interaction.project, execution.project);
    }
    const delivered = settled.filter(({ name }) => name === call).length;
    if (first?.unit === undefined) continue;
    const { unit } = first;
    checkUnit(
      unit,
      of.map(({ interaction }) => interaction),
    );
    const about = `W-3: one message of each settlement: ${JSON.stringify({ unit, settled })}`;
    if (unit.status === 'open') assert.equal(delivered, 0, about);
    else if (unit.status === 'cancelled') assert.ok(delivered <= 1, about);
    else assert.equal(delivered, 1, about);
    if (ended) assert.notEqual(unit.status, 'open', `W-9: ${JSON.stringify(unit)}`);
  }
}

function checkInteraction(
  interaction: Interaction,
  { unit, ended }: { readonly unit: AwaitUnit | undefined; readonly ended: boolean },
): void {
  const { status, answer } = interaction;
  const about = JSON.stringify({ interaction, unit });
  const isAnswered = status === 'answered' || status === 'early';
  assert.equal(answer !== undefined, isAnswered, `W-4: ${about}`);
  if (status === 'open') assert.equal(unit?.status, 'open', `W-3: ${about}`);
  if (status === 'queued') {
    assert.equal(unit?.status, 'open', `W-3: ${about}`);
    assert.notEqual(unit?.concurrency, undefined, `W-17: ${about}`);
  }
  if (status === 'answered') assert.notEqual(unit, undefined, `W-4: ${about}`);
  if (status === 'closed') assert.notEqual(unit?.status, 'open', `W-3: ${about}`);
  if (ended) assert.ok(status === 'answered' || status === 'closed', `W-9: ${about}`);
}

function checkUnit(unit: AwaitUnit, interactions: readonly Interaction[]): void {
  const about = JSON.stringify(unit);
  const { status, answered, needed, settledAt, nextAt, dueAt, reminders, openedAt } = unit;
  const counted = interactions.filter((each) => each.status === 'answered').length;
  assert.equal(answered, counted, `W-3: answers are counted: ${about}`);
  assert.equal(settledAt === undefined, status === 'open', about);
  if (status !== 'open') {
    assert.equal(nextAt, undefined, `W-6: nothing of it is due: ${about}`);
    if (status === 'answered' && answered < needed) assert.notEqual(unit.defaultAnswer, undefined);
    return;
  }
  assert.ok(answered < needed, `W-3: enough answers settle it: ${about}`);
  const times = [
    dueAt ?? Number.POSITIVE_INFINITY,
    ...reminders.map(({ afterMs }) => openedAt + afterMs),
  ];
  assert.equal(nextAt ?? Number.POSITIVE_INFINITY, Math.min(...times), `W-6: ${about}`);
}

/** Compares dead letters with their executions (Y-10, Y-21, Y-22). */
export function checkRepair(
  executions: readonly ExecutionRecord[],
  letters: readonly DeadLetterRecord[],
): void {
  const byId = new Map(executions.map((each) => [each.id, each]));
  for (const letter of letters) {
    const about = `Y-10: ${JSON.stringify(letter)}`;
    const ended = byId.get(letter.execution);
    assert.ok(letter.status === 'failed' || letter.status === 'quarantined', about);
    assert.deepEqual(
      [letter.status, letter.at, letter.project, letter.pipeline],
      [ended?.status, ended?.endedAt, ended?.project, ended?.pipeline],
      about,
    );
    if (letter.redrivenBy === undefined) continue;
    assert.equal(byId.get(letter.redrivenBy)?.redriveOf, letter.execution, about);
  }
  const open = executions
    .filter(({ redriveOf, status }) => redriveOf !== undefined && !isTerminal(status))
    .map(({ redriveOf }) => redriveOf);
  assert.equal(new Set(open).size, open.length, 'Y-21: at most one open re-drive of each');
}
