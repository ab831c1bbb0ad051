// Questions declare what an await accepts, as part of the pipeline. An answer can reach any
// process. The declaration lets that process check the answer, and project it before the store
// keeps it. The code gets the stored value; the engine neither checks nor projects it again.

import type { Pipeline } from '../../engine/pipeline.ts';
import { type Schema, validated } from '../../engine/values/schema.ts';
import type { ConcurrencyKey } from '../../execution/execution.ts';
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
  wordsIn,
} from '../../support/options.ts';

/** An answer's interaction, actor and time, for `project`. */
export interface AnswerAbout {
  /** The id of the interaction. */
  readonly id: InteractionId;
  /** The actor who answers. */
  readonly actor?: string;
  /** When, by the clock of the process that takes the answer. */
  readonly at: Instant;
}

/** Name, schema and projector of a question. */
export interface QuestionOptions<Request, Sent, Value> {
  /** The name, at most 256 bytes. */
  readonly name: string;
  /** A Standard Schema that checks the value that an answerer sends. */
  readonly schema?: Schema<Sent>;
  /**
   * Makes the value that the code gets, from the request and the checked answer.
   *
   * Use it to take trusted data from the request instead of the answer. It must be pure. Throw to
   * refuse the answer.
   */
  project?(request: Request, answer: Sent, about: AnswerAbout): Value;
}

/**
 * A question that `question` has made. Declare it in the pipeline's `awaits`, and pass it to
 * `ctx.await`.
 *
 * @example
 * const approve = question<{ amount: number }, { ok: boolean }>({ name: 'approve' });
 */
export interface Question<Request = unknown, Value = unknown> {
  /** The name of the question. */
  readonly name: string;
  /** Checks the value that an answerer sends. */
  readonly schema?: Schema;
  /** Makes the value that the code gets. */
  project?(request: Request, answer: never, about: AnswerAbout): Value;
  /** For the compiler only: the types of `request` and `value`. */
  readonly '~types'?: { request(request: Request): void; value(): Value };
}

export type AnyQuestion = Question<never, unknown>;

const NAMES: readonly (keyof QuestionOptions<unknown, unknown, unknown>)[] =
  wordsIn('name schema project');

/**
 * Defines a question that pipelines await and outsiders answer.
 *
 * Throws `InvalidInput` for invalid options.
 *
 * @example
 * const approve = question<{ amount: number }, { ok: boolean }>({ name: 'approve' });
 * const invoice = pipeline({
 *   name: 'invoice',
 *   awaits: [approve],
 *   run: (ctx, amount: number) => ctx.await(approve, { request: { amount } }),
 * });
 */
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
      throw new InvalidInput(
        'pipeline: each of awaits must be the result of question({ name, … }).',
      );
    }
    if (names.has(each.name)) {
      throw new InvalidInput(`pipeline: two questions have the name "${each.name}". Rename one.`);
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
  { request: readRequest, about }: { request(): unknown; readonly about: AnswerAbout },
): Promise<unknown> {
  const { name, schema } = question;
  const fit =
    schema === undefined ? sent : await validated(`The answer to "${name}"`, schema, sent);
  if (question.project === undefined) return fit;
  const request = await readRequest();
  try {
    return question.project(request as never, fit as never, about);
  } catch (error) {
    throw new InvalidInput(`The answer to "${name}" is not valid: ${thrownText(error)}`);
  }
}

// The options of `ctx.await`, checked once and completed with defaults, and its outcomes.

/** Options of every await. */
interface Common<
  Value,
  Reminded extends readonly Startable[],
  Escalated extends readonly Startable[],
> {
  /**
   * Milliseconds until it settles as `timed-out`, or with `default`. Up to ten years. By default it
   * has no timeout.
   */
  readonly timeoutMs?: number;
  /** The value that the code gets when the timeout has passed. */
  readonly default?: Value;
  /** Pipelines to start while the await is open, at most 100. Default none. */
  readonly reminders?: { readonly [Nth in keyof Reminded]: AwaitReminder<Reminded[Nth]> };
  /** As `reminders`, for another person who decides then. At most 100. Default none. */
  readonly escalations?: { readonly [Nth in keyof Escalated]: AwaitReminder<Escalated[Nth]> };
  /** True: only answers by a signed link are taken. Default false. */
  readonly signed?: boolean;
  /**
   * At most `limit` questions with this key are open at once, up to 10,000, in the project. Others
   * wait in order. By default all questions open at once.
   */
  readonly concurrency?: { readonly key: string; readonly limit: number };
}

/** Options of an await with one answer. */
export interface AwaitOptions<
  Value = unknown,
  Request = unknown,
  Reminded extends readonly Startable[] = readonly Startable[],
  Escalated extends readonly Startable[] = readonly Startable[],
> extends Common<Value, Reminded, Escalated> {
  /** The value that the answerer sees. */
  readonly request?: Request;
  /** The person or group that is to answer. */
  readonly assignee?: string;
  /**
   * A name of your choice, such as the id of a payment. Others answer `correlation:` and this name.
   * No other question of an open execution may have it.
   */
  readonly correlation?: string;
}

/** Options of an await with one answer per item. */
export interface AwaitItemsOptions<
  Value = unknown,
  Request = unknown,
  Reminded extends readonly Startable[] = readonly Startable[],
  Escalated extends readonly Startable[] = readonly Startable[],
> extends Common<Value, Reminded, Escalated> {
  /** One request per item, at most 10,000. */
  readonly items: readonly Request[];
  /** How many answers settle the await: `all` (default), `any` or a number. */
  readonly need?: 'all' | 'any' | number;
  /** The person or group that is to answer all, or one entry per item. */
  readonly assignee?: string | readonly (string | undefined)[];
  /** As `correlation` of an await with one answer, one entry per item. */
  readonly correlation?: readonly (string | undefined)[];
}

// biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output
export type Startable = Pipeline<any, any> | string;

/** A pipeline that starts while an await is open. */
export type AwaitReminder<Started extends Startable = Startable> = {
  /** Milliseconds after the execution asked. */
  readonly afterMs: number;
  /** The pipeline, or its name. */
  readonly pipeline: Started;
} & ReminderInput<Started>;

/** Its input. A name does not tell the compiler the type. */
type ReminderInput<Started> =
  Started extends Pipeline<infer Input, unknown>
    ? undefined extends Input
      ? { readonly input?: Input }
      : { readonly input: Input }
    : { readonly input?: unknown };

/**
 * How an await with one answer settled.
 *
 * - `answered`: `value` is the answer, given at `at`. `byDefault` is true if it is the default.
 * - `timed-out`: no answer came in time.
 * - `cancelled`: an operator cancelled the await.
 */
export type AwaitOutcome<Value> =
  | {
      readonly kind: 'answered';
      readonly value: Value;
      /** The actor who answered. */
      readonly actor?: string;
      readonly at: Instant;
      /** True if no answer came in time and `value` is the default. */
      readonly byDefault?: true;
    }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'cancelled' };

/**
 * How an await with one answer per item settled. `answers` has the answers that came.
 *
 * - `answered`: enough answers came; `values` has one per item.
 * - `timed-out`: too few came in time.
 * - `cancelled`: an operator cancelled the await.
 */
export type ItemsOutcome<Value, Each = Value> =
  | {
      readonly kind: 'answered';
      /** One value per item, in the order of the items. */
      readonly values: readonly Each[];
      readonly answers: readonly ItemAnswer<Value>[];
      /** True if too few answers came in time; the default stands for each missing one. */
      readonly byDefault?: true;
    }
  | { readonly kind: 'timed-out' | 'cancelled'; readonly answers: readonly ItemAnswer<Value>[] };

/** The answer to one item. */
export interface ItemAnswer<Value> {
  /** The index of the item, from 0. */
  readonly item: number;
  /** The value. */
  readonly value: Value;
  /** The actor who answered. */
  readonly actor?: string;
  /** When. */
  readonly at: Instant;
}

export interface AwaitArguments {
  readonly question: string | Question<never, unknown>;
  readonly options: AwaitOptions | AwaitItemsOptions;
}

export interface AwaitPlan {
  readonly key: CallKey;
  readonly name: string;
  /** True if each item has an outcome of its own. */
  readonly isItemised: boolean;
  readonly items: readonly PlannedItem[];
  readonly needed: number;
  readonly timeoutMs: number | undefined;
  readonly signed: boolean;
  readonly concurrency: ConcurrencyKey | undefined;
  readonly checked: boolean;
  /** The JSON Schema of an answer, for forms. */
  readonly answerSchema: object | undefined;
  readonly fallback: { readonly value: unknown } | undefined;
  readonly reminders: readonly PlannedReminder[];
}

interface PlannedItem {
  readonly request: unknown;
  readonly assignee: string | undefined;
  readonly correlation: string | undefined;
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

const COMMON = wordsIn(
  'timeoutMs default reminders escalations assignee correlation signed concurrency',
);
const SCALAR: readonly string[] = ['request', ...COMMON];
const ITEMISED: readonly string[] = ['items', 'need', ...COMMON];
/** The most questions of one await, and the most that one key can have open. */
export const QUESTIONS_MAX = 10_000;
const REMINDERS_MAX = 100;

export function resolveAwait(
  options: AwaitArguments['options'],
): Omit<AwaitPlan, 'key' | 'name' | 'checked' | 'answerSchema' | 'concurrency'> {
  const isItemised = isOfItems(options);
  checkNames(options, isItemised);
  const { timeoutMs, signed } = options;
  if (timeoutMs !== undefined) integerOption('timeoutMs', timeoutMs, { min: 1, max: TEN_YEARS_MS });
  optionalBooleans('ctx.await', { signed });
  const items = isItemised
    ? itemsOf(options)
    : [itemOf(options.request, options.assignee, options.correlation)];
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
      `ctx.await: ${name} is an option of question(), so that other processes know it too. Use: const approval = question({ name, ${name} }), pipeline({ awaits: [approval], … }), ctx.await(approval, …).`,
    );
  }
  rejectUnknownOptions('ctx.await', options, isItemised ? ITEMISED : SCALAR);
}

function itemsOf({ items, assignee, correlation }: AwaitItemsOptions): AwaitPlan['items'] {
  if (!Array.isArray(items) || items.length > QUESTIONS_MAX) {
    throw new InvalidInput(
      `ctx.await: items must be a list of at most ${QUESTIONS_MAX} requests; got ${shown(items)}.`,
    );
  }
  if (Array.isArray(assignee) && assignee.length !== items.length) {
    throw new InvalidInput(
      `ctx.await: assignee has ${assignee.length} entries for ${items.length} items.`,
    );
  }
  const names = correlation === undefined ? [] : readList('ctx.await: correlation', correlation);
  if (correlation !== undefined && names.length !== items.length) {
    throw new InvalidInput(
      `ctx.await: correlation has ${names.length} entries for ${items.length} items.`,
    );
  }
  return items.map((request: unknown, item) =>
    itemOf(request, Array.isArray(assignee) ? assignee[item] : assignee, names[item]),
  );
}

function itemOf(request: unknown, assignee: unknown, correlation: unknown): PlannedItem {
  return {
    request,
    assignee: assignee === undefined ? undefined : boundedText('assignee', assignee, 256),
    correlation:
      correlation === undefined ? undefined : boundedText('correlation', correlation, 256),
  };
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
      `ctx.await: ${kind}s must be a list of at most ${REMINDERS_MAX}; got ${shown(reminders)}.`,
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
