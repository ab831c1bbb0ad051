// Common assertions of cases: the reason of a refusal, and that it changed nothing.

import assert from 'node:assert/strict';
import type { ExecutionRefusal } from '../../src/execution/refusal.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { whyOf } from '../lease/expect.ts';
import { allExecutions, allHistory, allMessages } from './check.ts';
import { allDeadLetters, allInteractions } from './check-awaits.ts';

export type Why = ExecutionRefusal['why'];

export function expectWhy(result: { readonly kind: string }, why: Why): void {
  assert.deepEqual(
    { kind: result.kind, why: whyOf(result) },
    { kind: 'refused', why },
    JSON.stringify(result),
  );
}

/** Runs a call that must be refused for this reason and change nothing. */
export async function expectRefusedUnchanged(
  store: CoordinatorStore,
  why: Why,
  operation: () => Promise<{ readonly kind: string }>,
): Promise<void> {
  expectWhy(await leavesUnchanged(store, operation), why);
}

/** Returns the result of `action` after asserting that it changed nothing visible. */
export async function leavesUnchanged<Answer>(
  store: CoordinatorStore,
  operation: () => Promise<Answer>,
): Promise<Answer> {
  const before = await everything(store);
  const result = await operation();
  assert.deepEqual(
    await everything(store),
    before,
    `nothing stored may have changed, but the answer was ${JSON.stringify(result)}`,
  );
  return result;
}

async function everything(store: CoordinatorStore): Promise<unknown> {
  const found: unknown[] = [];
  for (const execution of await allExecutions(store)) {
    const { id } = execution;
    const attachments = await store.executions.attachments(id);
    found.push({
      execution,
      history: await allHistory(store, id),
      inbox: await allMessages(store, id),
      attachments: [...attachments].sort((a, b) => (a.name < b.name ? -1 : 1)),
    });
  }
  for (const { interaction, unit } of await allInteractions(store)) {
    const late = await store.executions.lateAnswers(interaction);
    found.push({ interaction, unit, late });
  }
  found.push(...(await allDeadLetters(store)));
  return found;
}
