// Questions: what an await asks for, declared with its pipeline. Answers come from outside and in any
// process; the declaration is how that process knows what an answer must be like and what is made of it
// before it is stored. What the code gets is what was stored: nothing is checked or projected again.

import { type Schema, validated } from '../../engine/values/schema.ts';
import type { InteractionId } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  optionalFunctions,
  readList,
  rejectUnknownOptions,
  thrownText,
} from '../../support/options.ts';

/** Who answers what, and when, as the process that takes the answer knows it. */
export interface AnswerAbout {
  readonly id: InteractionId;
  readonly by?: string;
  readonly at: Instant;
}

export interface QuestionOptions<Request, Sent, Value> {
  readonly name: string;
  /** What an answerer sends must be like. */
  readonly schema?: Schema<Sent>;
  /**
   * Makes what the code gets from what was asked and what was sent: an answerer sends only what is his to
   * say, and what is trusted comes from the request. Pure; throw to refuse the answer.
   */
  project?(request: Request, answer: Sent, about: AnswerAbout): Value;
}

export interface Question<Request = unknown, Value = unknown> {
  readonly name: string;
  readonly schema?: Schema;
  project?(request: Request, answer: never, about: AnswerAbout): Value;
  /** For the compiler only. */
  readonly '~types'?: { request(request: Request): void; value(): Value };
}

export type AnyQuestion = Question<never, unknown>;

const NAMES: readonly (keyof QuestionOptions<unknown, unknown, unknown>)[] = [
  'name',
  'schema',
  'project',
];

export function question<Request = unknown, Sent = unknown, Value = Sent>(
  options: QuestionOptions<Request, Sent, Value>,
): Question<Request, Value> {
  rejectUnknownOptions('question', options, NAMES);
  const { schema, project } = options;
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    throw new InvalidInput(
      'question: schema must be a Standard Schema, such as one of zod, valibot or arktype.',
    );
  }
  optionalFunctions('question', { project });
  const name = boundedText('The name of a question', options.name, 256);
  return Object.freeze({ ...options, name }) as Question<Request, Value>;
}

/** Each made by `question`, and each name once. */
export function checkQuestions(questions: unknown): void {
  const names = new Set<string>();
  for (const each of readList('pipeline: awaits', questions) as readonly AnyQuestion[]) {
    if (typeof each?.name !== 'string' || !Object.isFrozen(each)) {
      throw new InvalidInput('pipeline: each of awaits is made by question({ name, … }).');
    }
    if (names.has(each.name)) {
      throw new InvalidInput(`pipeline: two questions are called "${each.name}".`);
    }
    names.add(each.name);
  }
}

/** What is stored of an answer. Throws with the path of what is wrong: then nothing is. */
export async function trusted(
  question: AnyQuestion,
  sent: unknown,
  asked: { request(): unknown; readonly about: AnswerAbout },
): Promise<unknown> {
  const { name, schema } = question;
  const fit =
    schema === undefined ? sent : await validated(`The answer to "${name}"`, schema, sent);
  if (question.project === undefined) return fit;
  const request = await asked.request();
  try {
    return question.project(request as never, fit as never, asked.about);
  } catch (error) {
    throw new InvalidInput(`The answer to "${name}" was refused: ${thrownText(error)}`);
  }
}
