// Rows of awaits, in one shape for both SQL stores. Fields that queries filter by have a column.
// The rest of a unit is one JSON text, `about`.

import type {
  CallKey,
  ExecutionId,
  InteractionId,
  Payload,
  PipelineName,
  ProjectName,
} from '../../execution/names.ts';
import { assert } from '../../support/assert.ts';
import { toInstant } from '../../support/clock.ts';
import type { Answer, AwaitStatus, AwaitUnit, Interaction, InteractionStatus } from './model.ts';

export const AWAIT_CODES: Readonly<Record<AwaitStatus, number>> = {
  open: 0,
  answered: 10,
  'timed-out': 11,
  cancelled: 12,
};

export const INTERACTION_CODES: Readonly<Record<InteractionStatus, number>> = {
  open: 0,
  early: 1,
  queued: 2,
  answered: 10,
  closed: 11,
};

export interface AwaitUnitRow {
  readonly execution_id: string;
  readonly call: string;
  readonly project: string;
  readonly pipeline: string;
  readonly name: string;
  readonly status: number;
  readonly items: number;
  readonly needed: number;
  readonly answered: number;
  readonly opened_at: number;
  readonly settled_at: number | null;
  readonly due_at: number | null;
  readonly next_at: number | null;
  readonly about: string;
}

type About = Pick<
  AwaitUnit,
  'reminders' | 'signed' | 'checked' | 'defaultAnswer' | 'clash' | 'concurrency'
>;

export function toAwaitUnit(row: AwaitUnitRow): AwaitUnit {
  const about = JSON.parse(row.about) as About;
  return {
    execution: row.execution_id as ExecutionId,
    call: row.call as CallKey,
    project: row.project as ProjectName,
    pipeline: row.pipeline as PipelineName,
    name: row.name,
    status: statusOf(AWAIT_CODES, row.status),
    items: row.items,
    needed: row.needed,
    answered: row.answered,
    openedAt: toInstant(row.opened_at),
    ...(row.settled_at === null ? {} : { settledAt: toInstant(row.settled_at) }),
    ...(row.due_at === null ? {} : { dueAt: toInstant(row.due_at) }),
    ...(row.next_at === null ? {} : { nextAt: toInstant(row.next_at) }),
    ...about,
  };
}

export function fromAwaitUnit(unit: AwaitUnit): AwaitUnitRow {
  const { reminders, signed, checked, defaultAnswer, clash, concurrency } = unit;
  const about: About = {
    reminders,
    signed,
    checked,
    ...(defaultAnswer === undefined ? {} : { defaultAnswer }),
    ...(clash === undefined ? {} : { clash }),
    ...(concurrency === undefined ? {} : { concurrency }),
  };
  return {
    execution_id: unit.execution,
    call: unit.call,
    project: unit.project,
    pipeline: unit.pipeline,
    name: unit.name,
    status: AWAIT_CODES[unit.status],
    items: unit.items,
    needed: unit.needed,
    answered: unit.answered,
    opened_at: unit.openedAt,
    settled_at: unit.settledAt ?? null,
    due_at: unit.dueAt ?? null,
    next_at: unit.nextAt ?? null,
    about: JSON.stringify(about),
  };
}

export interface InteractionRow {
  readonly id: string;
  readonly execution_id: string;
  readonly call: string;
  readonly item: number;
  readonly project: string;
  readonly status: number;
  readonly request: string | null;
  readonly assignee: string | null;
  readonly answer: string | null;
  readonly digest: string | null;
  readonly answered_by: string | null;
  readonly answered_at: number | null;
  readonly verified: number | boolean;
  readonly late: number;
  readonly correlation: string | null;
}

export function toInteraction(row: InteractionRow): Interaction {
  const answer = toAnswer(row);
  return {
    id: row.id as InteractionId,
    execution: row.execution_id as ExecutionId,
    call: row.call as CallKey,
    item: row.item,
    project: row.project as ProjectName,
    status: statusOf(INTERACTION_CODES, row.status),
    ...(row.correlation === null ? {} : { correlation: row.correlation }),
    ...(row.request === null ? {} : { request: row.request as Payload }),
    ...(row.assignee === null ? {} : { assignee: row.assignee }),
    ...(answer === undefined ? {} : { answer }),
    ...(row.verified ? { verified: true } : {}),
    late: row.late,
  };
}

export function fromInteraction(interaction: Interaction): InteractionRow {
  const { answer } = interaction;
  return {
    id: interaction.id,
    execution_id: interaction.execution,
    call: interaction.call,
    item: interaction.item,
    project: interaction.project,
    status: INTERACTION_CODES[interaction.status],
    request: interaction.request ?? null,
    assignee: interaction.assignee ?? null,
    answer: answer?.value ?? null,
    digest: answer?.digest ?? null,
    answered_by: answer?.actor ?? null,
    answered_at: answer?.at ?? null,
    verified: interaction.verified === true ? 1 : 0,
    late: interaction.late,
    correlation: interaction.correlation ?? null,
  };
}

type AnswerRow = Pick<InteractionRow, 'answer' | 'digest' | 'answered_by' | 'answered_at'>;

/** Also reads the rows of late answers. */
export function toAnswer(row: AnswerRow): Answer | undefined {
  if (row.answer === null || row.digest === null || row.answered_at === null) return undefined;
  return {
    value: row.answer as Payload,
    digest: row.digest,
    ...(row.answered_by === null ? {} : { actor: row.answered_by }),
    at: toInstant(row.answered_at),
  };
}

function statusOf<Name extends string>(codes: Readonly<Record<Name, number>>, code: number): Name {
  const found = (Object.keys(codes) as Name[]).find((name) => codes[name] === code);
  assert(found !== undefined, `W-3: ${code} is not the code of a status`);
  return found;
}
