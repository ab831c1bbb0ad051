// Interactions → messages. What only the store needs (digests, reminders, who signed) is not shown.

import type { Holdfast } from '../../engine/holdfast.ts';
import type { Answer, AwaitUnit } from '../../execution/await.ts';
import type { InteractionFound } from '../../store/contract/await-store.ts';
import { formatInstant } from '../../support/clock.ts';
import type { InteractionMessage } from '../messages/awaits.ts';
import { type Reader, readable } from './execution-message.ts';

export async function interactionMessage(
  holdfast: Holdfast,
  { interaction, unit }: InteractionFound,
): Promise<InteractionMessage> {
  const { id, execution, call, item, status, request, assignee, answer, late } = interaction;
  const reader = { holdfast, project: interaction.project };
  return {
    ...{ id, execution, call, item, status, late },
    ...(request === undefined ? {} : await readable(reader, { request })),
    ...(assignee === undefined ? {} : { assignee }),
    ...(answer === undefined ? {} : { answer: await answerMessage(reader, answer) }),
    ...(unit === undefined ? {} : { unit: unitMessage(unit) }),
  };
}

async function answerMessage(
  reader: Reader,
  { value, by, at }: Answer,
): Promise<NonNullable<InteractionMessage['answer']>> {
  return {
    ...(await readable(reader, { value })),
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
