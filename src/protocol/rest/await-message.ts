// Interactions → messages. What only the store needs (digests, reminders, who signed) is not shown.

import type { Holdfast } from '../../engine/holdfast.ts';
import type { Answer, AwaitUnit } from '../../execution/await.ts';
import type { InteractionFound } from '../../store/contract/await-store.ts';
import { formatInstant } from '../../support/clock.ts';
import type { InteractionMessage } from '../messages/awaits.ts';
import { readable } from './execution-message.ts';

export async function interactionMessage(
  holdfast: Holdfast,
  { interaction, unit }: InteractionFound,
): Promise<InteractionMessage> {
  const { id, execution, call, item, status, request, assignee, answer, late } = interaction;
  return {
    ...{ id, execution, call, item, status, late },
    ...(request === undefined ? {} : await readable(holdfast, { request })),
    ...(assignee === undefined ? {} : { assignee }),
    ...(answer === undefined ? {} : { answer: await answerMessage(holdfast, answer) }),
    ...(unit === undefined ? {} : { unit: unitMessage(unit) }),
  };
}

async function answerMessage(
  holdfast: Holdfast,
  { value, by, at }: Answer,
): Promise<NonNullable<InteractionMessage['answer']>> {
  return {
    ...(await readable(holdfast, { value })),
    ...(by === undefined ? {} : { by }),
    at: formatInstant(at),
  };
}

function unitMessage(unit: AwaitUnit): NonNullable<InteractionMessage['unit']> {
  const { name, pipeline, status, items, needed, answered, signed, checked } = unit;
  const { dueAt, settledAt } = unit;
  return {
    ...{ name, pipeline, status, items, needed, answered, signed, checked },
    openedAt: formatInstant(unit.openedAt),
    ...(dueAt === undefined ? {} : { dueAt: formatInstant(dueAt) }),
    ...(settledAt === undefined ? {} : { settledAt: formatInstant(settledAt) }),
  };
}
