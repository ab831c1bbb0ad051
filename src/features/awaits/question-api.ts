// Questions declare what an await accepts, as part of the pipeline. An answer can reach any
// process. The declaration lets that process check the answer, and project it before the store
// keeps it. The code gets the stored value; the engine neither checks nor projects it again.

import type { Pipeline } from '../../engine/pipeline.ts';
import { type Schema, validated } from '../../engine/values/schema.ts';
import {
  type CallKey,
  type InteractionId,
  type PipelineName,
  parsePipelineName,
} from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  optionalFunctions,
  readList,
  rejectUnknownOptions,
  shown,
  TEN_YEARS_MS,
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

/** Requires questions made by `question`, with distinct names. */
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

/**
 * Returns the value to store. Throws with the path of a wrong part; the store then keeps nothing.
 */
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

// The options of `ctx.await`, checked once and completed with defaults, and its outcomes.

interface Common<Value> {
  /** After this time the await settles as `timed-out`, or with the default. */
  readonly timeoutMs?: number;
  /** The answer when the time has passed; taken without a check. */
  readonly default?: Value;
  /** Each starts if the await is still open at its time. */
  readonly reminders?: readonly AwaitReminder[];
  /** Like reminders, under a name of their own, for the person who should decide instead. */
  readonly escalations?: readonly AwaitReminder[];
  /** Accepts only answers by a signed link. */
  readonly signed?: boolean;
}

export interface AwaitOptions<Value = unknown, Request = unknown> extends Common<Value> {
  /** What the answerer is shown. */
  readonly request?: Request;
  readonly assignee?: string;
}

export interface AwaitItemsOptions<Value = unknown, Request = unknown> extends Common<Value> {
  /** One request for each; each is answered by itself. */
  readonly items: readonly Request[];
  /** How many answers are enough. Default `all`. */
  readonly need?: 'all' | 'any' | number;
  /** Of all, or by item. */
  readonly assignee?: string | readonly (string | undefined)[];
}

export interface AwaitReminder {
  /** From when it was opened. */
  readonly afterMs: number;
  // biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output
  readonly pipeline: Pipeline<any, any> | string;
  readonly input?: unknown;
}

/** How an await of one answer settled. */
export type AwaitOutcome<Value> =
  | {
      readonly kind: 'answered';
      readonly value: Value;
      readonly by?: string;
      readonly at: Instant;
      /** Nobody answered in time. */
      readonly byDefault?: true;
    }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'cancelled' };

/** How an await of many answers settled. */
export type ItemsOutcome<Value, Each = Value> =
  | {
      readonly kind: 'answered';
      /** In the order of the items. */
      readonly values: readonly Each[];
      readonly answers: readonly ItemAnswer<Value>[];
      /** Not enough answered in time: the default stands for each that is missing. */
      readonly byDefault?: true;
    }
  | {
      readonly kind: 'timed-out' | 'cancelled';
      /** Those that came. */
      readonly answers: readonly ItemAnswer<Value>[];
    };

/** What was answered, in the order of the items. */
export interface ItemAnswer<Value> {
  readonly item: number;
  readonly value: Value;
  readonly by?: string;
  readonly at: Instant;
}

export interface AwaitArguments {
  readonly asked: string | Question<never, unknown>;
  readonly options: AwaitOptions | AwaitItemsOptions;
}

export interface AwaitPlan {
  readonly key: CallKey;
  readonly name: string;
  /** True if each item has an outcome of its own. */
  readonly isItemised: boolean;
  readonly items: readonly { readonly request: unknown; readonly assignee: string | undefined }[];
  readonly needed: number;
  readonly timeoutMs: number | undefined;
  readonly signed: boolean;
  readonly checked: boolean;
  /** The JSON Schema of an answer, for forms. */
  readonly answerSchema: object | undefined;
  readonly fallback: { readonly value: unknown } | undefined;
  readonly reminders: readonly PlannedReminder[];
}

export interface PlannedReminder {
  readonly kind: 'reminder' | 'escalation';
  /** The position among those of its kind. */
  readonly index: number;
  readonly afterMs: number;
  readonly pipeline: PipelineName;
  readonly schema: Schema | undefined;
  readonly input: unknown;
}

const COMMON = ['timeoutMs', 'default', 'reminders', 'escalations', 'assignee', 'signed'];
const SCALAR: readonly string[] = ['request', ...COMMON];
const ITEMISED: readonly string[] = ['items', 'need', ...COMMON];
const ITEMS_MAX = 10_000;
const REMINDERS_MAX = 100;

export function resolveAwait(
  options: AwaitArguments['options'],
): Omit<AwaitPlan, 'key' | 'name' | 'checked' | 'answerSchema'> {
  const isItemised = isOfItems(options);
  checkNames(options, isItemised);
  const { timeoutMs, signed } = options;
  if (timeoutMs !== undefined) integerOption('timeoutMs', timeoutMs, { min: 1, max: TEN_YEARS_MS });
  optionalBooleans('ctx.await', { signed });
  const items = isItemised
    ? itemsOf(options)
    : [{ request: options.request, assignee: assigneeOf(options.assignee) }];
  return {
    isItemised,
    items,
    needed: isItemised ? neededOf(options.need ?? 'all', items.length) : 1,
    timeoutMs,
    signed: signed ?? false,
    fallback: Object.hasOwn(options, 'default') ? { value: options.default } : undefined,
    reminders: [
      ...remindersOf('reminder', options.reminders),
      ...remindersOf('escalation', options.escalations),
    ].sort((a, b) => a.afterMs - b.afterMs),
  };
}

function isOfItems(options: AwaitArguments['options']): options is AwaitItemsOptions {
  return Object.hasOwn(Object(options) as object, 'items');
}

function checkNames(options: AwaitArguments['options'], isItemised: boolean): void {
  for (const name of ['schema', 'project']) {
    if (!Object.hasOwn(Object(options) as object, name)) continue;
    throw new InvalidInput(
      `ctx.await: ${name} belongs to a question, which processes that do not run this code know too: const asked = question({ name, ${name} }), pipeline({ awaits: [asked], … }), ctx.await(asked, …).`,
    );
  }
  rejectUnknownOptions('ctx.await', options, isItemised ? ITEMISED : SCALAR);
}

function itemsOf({ items, assignee }: AwaitItemsOptions): AwaitPlan['items'] {
  if (!Array.isArray(items) || items.length > ITEMS_MAX) {
    throw new InvalidInput(
      `ctx.await: items is a list of at most ${ITEMS_MAX} requests; got ${shown(items)}.`,
    );
  }
  if (Array.isArray(assignee) && assignee.length !== items.length) {
    throw new InvalidInput(
      `ctx.await: assignee has ${assignee.length} entries for ${items.length} items.`,
    );
  }
  return items.map((request: unknown, item) => ({
    request,
    assignee: assigneeOf(Array.isArray(assignee) ? assignee[item] : assignee),
  }));
}

function assigneeOf(assignee: unknown): string | undefined {
  return assignee === undefined ? undefined : boundedText('assignee', assignee, 256);
}

function neededOf(need: 'all' | 'any' | number, count: number): number {
  if (need === 'all' || count === 0) return count;
  if (need === 'any') return 1;
  if (typeof need !== 'number') {
    throw new InvalidInput(`need must be "all", "any" or a number; got ${shown(need)}.`);
  }
  return integerOption('need', need, { min: 1, max: count });
}

function remindersOf(
  kind: PlannedReminder['kind'],
  reminders: readonly AwaitReminder[] = [],
): readonly PlannedReminder[] {
  if (!Array.isArray(reminders) || reminders.length > REMINDERS_MAX) {
    throw new InvalidInput(
      `ctx.await: ${kind}s is a list of at most ${REMINDERS_MAX}; got ${shown(reminders)}.`,
    );
  }
  return reminders.map((each: AwaitReminder, index) => {
    rejectUnknownOptions(`A ${kind}`, each, ['afterMs', 'pipeline', 'input']);
    const { pipeline, input } = each;
    const isName = typeof pipeline === 'string';
    return {
      kind,
      index,
      afterMs: integerOption(`${kind}s: afterMs`, each.afterMs, { min: 0, max: TEN_YEARS_MS }),
      pipeline: parsePipelineName(isName ? pipeline : pipeline?.name),
      schema: isName ? undefined : pipeline.input,
      input,
    };
  });
}

/** A value that can never be stored or started makes no call, so a replay does not expect one. */
export async function checkValues(
  { name, items, fallback, reminders }: AwaitPlan,
  check: (what: string, value: unknown) => void,
): Promise<void> {
  for (const { request } of items) check(`The request of "${name}"`, request);
  if (fallback !== undefined) check(`The default of "${name}"`, fallback.value);
  for (const { pipeline, schema, input } of reminders) {
    check(`The input of "${pipeline}"`, input);
    if (schema !== undefined) await validated(`The input of "${pipeline}"`, schema, input);
  }
}
