// What cases assert again and again: why something was refused, and that it left no trace.

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

/** Does something that must be refused, for this reason and without a trace. */
export async function expectRefusedUnchanged(
  store: CoordinatorStore,
  why: Why,
  act: () => Promise<{ readonly kind: string }>,
): Promise<void> {
  expectWhy(await leavesUnchanged(store, act), why);
}

/** What `act` answers, once it is known to have changed nothing that anybody can see. */
export async function leavesUnchanged<Answer>(
  store: CoordinatorStore,
  act: () => Promise<Answer>,
): Promise<Answer> {
  const before = await everything(store);
  const result = await act();
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
