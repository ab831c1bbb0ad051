// The documents of one execution (F-9): made from what is stored and from nothing else, so that making them again
// makes the same.

import type { ExecutionRecord } from '../../execution/execution.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import type { AskedOf, Gathered } from './gather-api.ts';
import { reportOf } from './report-api.ts';
import { stepsOf } from './steps-api.ts';
import { type Draft, JSON_TYPE, jsonBytes, type Values } from './values-api.ts';

export const FORMAT = 'holdfast-archive-1';

/** All but attachments, which are read when they are written. */
export async function documentsOf(gathered: Gathered, values: Values): Promise<readonly Draft[]> {
  const { execution, history, letter } = gathered;
  const steps = stepsOf(history);
  const input = await values.ofPayload(execution.input);
  const end = await values.ofBody(history.at(-1)?.body);
  const report = reportOf({ gathered, steps, input, end });
  const documents = [
    json('record.json', {
      ...timed(execution),
      input,
      ...(execution.progress && { progress: await values.ofPayload(execution.progress) }),
      end,
      ...(letter && { deadLetter: timed(letter) }),
      children: gathered.children,
    }),
    json('steps.json', steps),
    json(
      'history.json',
      await Promise.all(
        history.map(async ({ body, ...event }) => {
          return { ...timed(event), ...(body && { body: await values.ofBody(body) }) };
        }),
      ),
    ),
    ...(await inboxOf(gathered, values)),
    ...(await awaitsOf(gathered, values)),
    ...(gathered.audit.length === 0 ? [] : [json('audit.json', gathered.audit.map(timed))]),
    { name: 'report.md', type: 'text/markdown; charset=utf-8', bytes: Buffer.from(report) },
  ];
  return [...documents, ...values.drafts.values()];
}

async function inboxOf({ inbox }: Gathered, values: Values): Promise<readonly Draft[]> {
  if (inbox.length === 0) return [];
  const messages = inbox.map(async ({ body, ...message }) => {
    return { ...timed(message), ...(body && { body: await values.ofBody(body) }) };
  });
  return [json('inbox.json', await Promise.all(messages))];
}

async function awaitsOf({ awaits }: Gathered, values: Values): Promise<readonly Draft[]> {
  if (awaits.length === 0) return [];
  const all = awaits.map(async ({ interaction, unit, late }) => {
    const { request, answer, ...rest } = interaction;
    return {
      ...rest,
      ...(request && { request: await values.ofPayload(request) }),
      ...(answer && { answer: await answerOf(answer, values) }),
      late: await Promise.all(late.map((each) => answerOf(each, values))),
      ...(unit && { unit: timed(unitOf(unit)) }),
    };
  });
  return [json('awaits.json', await Promise.all(all))];
}

async function answerOf(answer: AskedOf['late'][number], values: Values): Promise<object> {
  const { value, ...rest } = answer;
  return { ...timed(rest), value: await values.ofPayload(value) };
}

function unitOf(unit: NonNullable<AskedOf['unit']>): object {
  const { defaultAnswer: _, reminders: __, ...said } = unit;
  return said;
}

function json(name: string, value: unknown): Draft {
  return { name, type: JSON_TYPE, bytes: jsonBytes(value) };
}

const TIMES: ReadonlySet<string> = new Set([
  ...['at', 'submittedAt', 'endedAt', 'claimedAt', 'deadlineAt', 'readyAt', 'openedAt'],
  ...['settledAt', 'dueAt', 'nextAt', 'answeredAt'],
]);

/** Times as people write them; values are opened by whoever has them. */
function timed(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record as Partial<ExecutionRecord>).map(([name, value]): [string, unknown] => {
      const isTime = TIMES.has(name) && typeof value === 'number';
      return [name, isTime ? formatInstant(value as Instant) : value];
    }),
  );
}
