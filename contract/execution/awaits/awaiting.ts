// Builders for cases about awaits: openings by owners, answers by outsiders, and reads of both.

import assert from 'node:assert/strict';
import type { NewEvent } from '../../../src/execution/history.ts';
import type { CallKey, ExecutionId, InteractionId } from '../../../src/execution/names.ts';
import type { AnswerRequest } from '../../../src/features/awaits/decide.ts';
import type { Interaction, OpenAwait } from '../../../src/features/awaits/model.ts';
import type { InteractionFound } from '../../../src/features/awaits/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { present } from '../../../src/support/options.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import { allMessages } from '../check.ts';
import { type Held, later, mustPark, PROJECT, payload, running, writing } from '../worker.ts';

export const CALL: CallKey = 'await:approval#1' as CallKey;
export const OTHER_CALL: CallKey = 'await:signature#1' as CallKey;

/** Builds ids as the engine does. */
export function interactionId(
  execution: ExecutionId,
  item: number = 0,
  call: CallKey = CALL,
): InteractionId {
  return `${execution}:${call}:${item}` as InteractionId;
}

export interface Opening extends Partial<Omit<OpenAwait, 'items'>> {
  /** The number of interactions. Default 1. */
  readonly items?: number;
  readonly assignee?: string;
  /** One for each of the first interactions. */
  readonly correlations?: readonly string[];
}

export function opening(execution: ExecutionId, options: Opening = {}): OpenAwait {
  const { items = 1, assignee, correlations = [], call = CALL, ...rest } = options;
  return {
    call,
    name: 'approval',
    needed: items,
    items: Array.from({ length: items }, (_, item) => ({
      id: interactionId(execution, item, call),
      request: payload({ item }),
      ...present({ assignee, correlation: correlations[item] }),
    })),
    reminders: [],
    signed: false,
    checked: false,
    ...rest,
  };
}

export const OPENED: NewEvent = { kind: 'await-opened', name: 'approval' };

/** Opens an await with `record`. The owner continues. */
export async function mustOpen(
  store: CoordinatorStore,
  held: Held,
  options: Opening = {},
): Promise<Held> {
  const awaits = [opening(held.id, options)];
  expectKind(await store.executions.record({ ...writing(held, OPENED), awaits }), 'recorded');
  return later(held);
}

/** Submits, claims, and parks on an await. */
export async function parkedOn(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  options: Opening = {},
): Promise<Held> {
  const held = await running(store, who);
  await mustPark(store, await mustOpen(store, held, options));
  return later(held, 2);
}

export function answering(
  id: InteractionId,
  value: unknown = 'yes',
  options: Partial<AnswerRequest> = {},
): AnswerRequest {
  const text = payload(value);
  return { project: PROJECT, id, value: text, digest: text, verified: false, ...options };
}

/** An answer that names the place, so it is accepted even before the unit opens (W-2). */
export function answeringEarly(
  execution: ExecutionId,
  value: unknown = 'yes',
  options: Partial<AnswerRequest> & { readonly item?: number; readonly call?: CallKey } = {},
): AnswerRequest {
  const { item = 0, call = CALL, ...rest } = options;
  const place = { execution, call, item };
  return answering(interactionId(execution, item, call), value, { place, ...rest });
}

export async function mustFind(
  store: CoordinatorStore,
  id: InteractionId,
): Promise<InteractionFound> {
  const found = await store.executions.interaction({ project: PROJECT, id });
  assert(found !== undefined, `interaction ${id} must be there`);
  return found;
}

/** Returns the status of the unit, then of each interaction in order. */
export async function statesOf(
  store: CoordinatorStore,
  execution: ExecutionId,
  call: CallKey = CALL,
): Promise<readonly string[]> {
  const query = { project: PROJECT, execution, call, limit: 100 };
  const found = await store.executions.interactions(query);
  const inOrder = found.toSorted((a, b) => a.interaction.item - b.interaction.item);
  return [
    inOrder[0]?.unit?.status ?? 'none',
    ...inOrder.map(({ interaction }) => interaction.status),
  ];
}

export interface Settlement {
  readonly call: string | undefined;
  readonly status: string;
  /** Pairs of item and value. */
  readonly answers: readonly (readonly [number, unknown])[];
  readonly default?: unknown;
}

/** Returns the settlements that the execution received, in order. */
export async function settlementsOf(
  store: CoordinatorStore,
  id: ExecutionId,
): Promise<readonly Settlement[]> {
  const messages = await allMessages(store, id);
  return messages
    .filter(({ kind }) => kind === 'await-settled')
    .map(({ name, body }) => {
      const { status, answers, ...rest } = JSON.parse(body ?? '{}');
      const pairs = answers.map(({ item, out }: { item: number; out: unknown }) => [item, out]);
      return { call: name, status, answers: pairs, ...rest };
    });
}

export async function lateValues(
  store: CoordinatorStore,
  id: InteractionId,
): Promise<readonly unknown[]> {
  const late = await store.executions.lateAnswers({ project: PROJECT, id });
  return late.map(({ value }) => JSON.parse(value));
}

/** Returns only the value of an answer. */
export function answerOf({ answer }: Interaction): unknown {
  return answer === undefined ? undefined : JSON.parse(answer.value);
}
