// Awaits for those who answer and manage them. The code that asks uses `ctx.await`.

import type { EngineConfig } from '../../engine/config.ts';
import type { OperationOptions, Page } from '../../engine/holdfast.ts';
import { correlationOf, parseInteractionId } from '../../engine/ids.ts';
import { type InProject, requireId } from '../../engine/named.ts';
import type { Ended } from '../../engine/run-on-worker.ts';
import { projectOf } from '../../engine/submission.ts';
import type { ProjectPayloads } from '../../engine/values/payloads.ts';
import { REQUEST } from '../../engine/values/place.ts';
import {
  type CallKey,
  type ExecutionId,
  type InteractionId,
  type ProjectName,
  parseExecutionId,
} from '../../execution/names.ts';
import type { AnswerRefusal, LinkRefusal } from '../../execution/refusal.ts';
import { type Instant, laterBy, toInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  present,
  readList,
  readOptions,
  rejectUnknownOptions,
  shown,
  TEN_YEARS_MS,
} from '../../support/options.ts';
import { filteredPage } from '../../support/page-size.ts';
import { OPERATION_OPTIONS, stampOf } from '../audit/api.ts';
import type { AuditAction, Audited, AuditStamp } from '../audit/model.ts';
import type { Count } from '../overview/model.ts';
import {
  answerRequest,
  type InteractionTarget,
  type Located,
  located,
  type Sent,
} from './answering-api.ts';
import type { AnswerRequest } from './decide.ts';
import { type AnswerLinks, linkId } from './links-api.ts';
import {
  type Answer,
  type AwaitUnit,
  type DuePlace,
  duePlaceOf,
  type Interaction,
  type InteractionStatus,
} from './model.ts';
import type {
  AwaitCommand,
  AwaitResult,
  AwaitStore,
  InteractionFound,
  ListInteractions,
} from './port.ts';

/** The actor and the reason of an answer. */
export interface AnswerOptions extends InProject {
  /** The actor. Operators and the code see it. */
  readonly actor?: string;
  /** Why, for the audit. */
  readonly reason?: string;
}

/**
 * The result of an answer. `settled` is true if the await continues with it.
 *
 * - `answered`: the interaction has this answer.
 * - `kept`: the execution has not asked yet; the answer is kept until it does.
 * - `existing`: the same answer was stored already. - `refused`: nothing was written; `why` is the reason.
 */
export type Answered =
  | {
      /**
       * `kept`: the execution has not asked yet. `existing`: the same answer was stored already.
       */
      readonly kind: 'answered' | 'kept' | 'existing';
      readonly settled: boolean;
    }
  | ({ readonly kind: 'refused' } & AnswerRefusal);

type AnswerRefused = Extract<Answered, { readonly kind: 'refused' }>;

type Prepared = { readonly kind: 'fit' } & AnswerRequest & Audited;

/** Each of them is checked, maybe by a worker, before the transaction begins. */
const TARGETS_MAX = 100;

/**
 * The result of `readLink`: `verified` with `id` and `project` of the interaction, or `refused`.
 */
type LinkRead =
  | { readonly kind: 'verified'; readonly id: InteractionId; readonly project: ProjectName }
  | ({ readonly kind: 'refused' } & LinkRefusal);

/** Filters and page of a list of interactions. All filters must match. */
export interface InteractionListOptions extends InProject {
  /** True: only those that can be answered. False: only those that cannot. By default both. */
  readonly open?: boolean;
  /** True: only those that wait for a slot of their concurrency key. Default false. */
  readonly queued?: boolean;
  /** Only those of this execution. */
  readonly execution?: string;
  /** Only those of awaits with this name. */
  readonly name?: string;
  /** Only those that are assigned to this name. */
  readonly assignee?: string;
  /**
   * `newest` (default): those of the newest executions first. `due`: open ones only, the next one
   * due first, and those without a time limit last. Not with `execution` or `open: false`.
   */
  readonly sort?: 'newest' | 'due';
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** Interactions per page, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** Selects open interactions to count. All filters must match. */
export type InteractionCountOptions = Pick<InteractionListOptions, 'project' | 'name' | 'assignee'>;

/** One question to a person or another system. */
export interface InteractionInfo {
  /** The id of the interaction. */
  readonly id: InteractionId;
  /** The execution that asks. */
  readonly execution: ExecutionId;
  /** The call in its code. */
  readonly call: CallKey;
  /** The index of the item, from 0. */
  readonly item: number;
  /** The project. */
  readonly project: ProjectName;
  /** The status. */
  readonly status: InteractionStatus;
  /** The value that the code shows to the answerer. */
  readonly request: unknown;
  /** The person or group that is to answer. */
  readonly assignee?: string;
  /** The correlation that the code chose. */
  readonly correlation?: string;
  /** The answer, if there is one. */
  readonly answer?: AnswerInfo;
  /** How many answers came too late. */
  readonly late: number;
  /** The await that the interaction belongs to. Absent if the execution has not asked yet. */
  readonly unit?: AwaitInfo;
}

/** One `ctx.await`: name, status, how many answers it needs and has, and its times. */
export type AwaitInfo = Omit<
  AwaitUnit,
  'execution' | 'call' | 'project' | 'nextAt' | 'reminders' | 'defaultAnswer' | 'clash'
>;

/** An answer. */
export interface AnswerInfo {
  /** The value that the code gets. */
  readonly value: unknown;
  /** The actor who answered. */
  readonly actor?: string;
  /** When. */
  readonly at: Instant;
}

/**
 * Questions that executions ask, and their answers. Reach it as `holdfast.awaits`.
 *
 * A target is the id of an interaction, `correlation:` and its correlation, or `{ execution, name }`.
 * An operation on an unknown or settled one returns a refusal.
 *
 * @example
 * const { items } = await holdfast.awaits.list({ open: true, assignee: 'finance' });
 * for (const { id, request } of items) console.log(id, request);
 * await holdfast.awaits.answer({ execution: id, name: 'approve' }, { ok: true }, { reason: 'checked' });
 */
export class Awaits {
  readonly #config: EngineConfig;
  readonly #ended: Ended;

  constructor(config: EngineConfig, ended: Ended) {
    this.#config = config;
    this.#ended = ended;
  }

  /**
   * Answers an interaction. The first answer wins; the same again returns `existing`.
   *
   * Throws `InvalidInput` if the value does not fit the question; you can answer again then.
   */
  async answer(
    target: InteractionTarget,
    value: unknown,
    options: AnswerOptions = {},
  ): Promise<Answered> {
    const made = await this.#toAnswer('awaits.answer', value, options)(target);
    return made.kind === 'refused' ? made : this.#config.store.executions.answer(made);
  }

  /**
   * Gives the same answer to up to 100 interactions, in one transaction. Returns one result for each,
   * in their order.
   *
   * Throws `InvalidInput` if the value does not fit one of them; nothing is written then.
   *
   * @example
   * const { items } = await holdfast.awaits.list({ open: true, name: 'sign-off' });
   * const ids = items.map(({ id }) => id);
   * const answers = await holdfast.awaits.answerAll(ids, true, { actor: 'olga' });
   */
  async answerAll(
    targets: readonly InteractionTarget[],
    value: unknown,
    options: AnswerOptions = {},
  ): Promise<readonly Answered[]> {
    const what = 'awaits.answerAll';
    const given = readList(`${what}: targets`, targets) as readonly InteractionTarget[];
    integerOption(`${what}: the number of targets`, given.length, { min: 1, max: TARGETS_MAX });
    const made = await Promise.all(given.map(this.#toAnswer(what, value, options)));
    const fit = made.filter((each) => each.kind === 'fit');
    const taken = fit.length === 0 ? [] : await this.#config.store.executions.answerAll(fit);
    const results = taken.values();
    return made.map((each) =>
      each.kind === 'refused' ? each : (results.next().value as Answered),
    );
  }

  /**
   * Answers the interaction of a signed link. Returns a refusal if the link is invalid or expired.
   */
  async answerByLink(
    token: string,
    value: unknown,
    options: Pick<AnswerOptions, 'actor'> = {},
  ): Promise<Answered> {
    rejectUnknownOptions('awaits.answerByLink', options, ['actor']);
    const verified = this.#links.verify(token, this.#config.clock.wallMs());
    if (verified.kind === 'refused') return { kind: 'refused', ...verified.refusal };
    const { interaction: id, place, project } = verified.claims;
    const target = { id, ...present({ place }) };
    const link = linkId(token);
    const { actor } = options;
    const audit = stampOf(this.#config, 'answer', {
      actor: actor ?? `link ${link}`,
      about: { link },
    });
    const made = await this.#prepared(target, { value, project, actor, verified: true }, audit);
    return made.kind === 'refused' ? made : this.#config.store.executions.answer(made);
  }

  /** Returns the interaction that a signed link is for. Does not use up the link. */
  readLink(token: string): LinkRead {
    const verified = this.#links.verify(token, this.#config.clock.wallMs());
    if (verified.kind === 'refused') return { kind: 'refused', ...verified.refusal };
    const { interaction: id, project } = verified.claims;
    return { kind: 'verified', id, project };
  }

  /**
   * Makes a signed link: a token that answers this interaction, once, without an access key.
   *
   * `expiresInMs` is its lifetime in milliseconds, up to ten years. Throws `InvalidInput` if
   * Holdfast was opened without `links`.
   *
   * @example
   * const token = holdfast.awaits.link({ execution: id, name: 'approve' }, { expiresInMs: 86_400_000 });
   */
  link(target: InteractionTarget, options: InProject & { readonly expiresInMs: number }): string {
    rejectUnknownOptions('awaits.link', options, ['expiresInMs', 'project']);
    const range = { min: 1, max: TEN_YEARS_MS };
    const expiresInMs = integerOption('expiresInMs', options.expiresInMs, range);
    const { id, place } = located(target);
    return this.#links.sign({
      interaction: id,
      project: projectOf(options.project),
      ...present({ place }),
      exp: laterBy(toInstant(this.#config.clock.wallMs()), expiresInMs),
    });
  }

  /** Returns an interaction, or undefined if it was neither asked nor answered. */
  async get(
    target: InteractionTarget,
    options: InProject = {},
  ): Promise<InteractionInfo | undefined> {
    const found = await this.#config.store.executions.interaction(
      await this.#named(target, options),
    );
    return found === undefined ? undefined : this.#info(found);
  }

  /**
   * Returns a page of interactions, by default those of the newest executions first. With several
   * filters, a page may have fewer items than `limit`, or none, and a cursor nevertheless.
   */
  async list(options: InteractionListOptions = {}): Promise<Page<InteractionInfo>> {
    const limit = integerOption('limit', options.limit ?? 100, { min: 1, max: 10_000 });
    const query = { ...filtersOf(options), project: projectOf(options.project), limit };
    const { executions } = this.#config.store;
    const { items: found, cursor } = await sortedPage(executions, query);
    const items = await Promise.all(found.map((each) => this.#info(each)));
    return { items, ...(cursor && { cursor }) };
  }

  /** Counts open interactions, up to 10,000. `capped`: there may be more. */
  async count(options: InteractionCountOptions = {}): Promise<Count> {
    const { project, ...filters } = readOptions('awaits.count', options, [
      ...['project', 'name', 'assignee'],
    ]);
    return this.#config.store.executions.countInteractions({
      project: projectOf(project),
      ...present({
        name: text('name', filters.name),
        assignee: text('assignee', filters.assignee),
      }),
    });
  }

  /** Sets a new timeout, `timeoutMs` from now; `none` removes it. */
  async extend(
    target: InteractionTarget,
    options: OperationOptions & { readonly timeoutMs: number | 'none' },
  ): Promise<AwaitResult> {
    const { timeoutMs, ...operation } = readOptions('awaits.extend', options, [
      'timeoutMs',
      ...OPERATION_OPTIONS,
    ]);
    const which = await this.#operation('extend-await', target, operation);
    if (timeoutMs === 'none') return this.#config.store.executions.extendAwait(which);
    const dueInMs = integerOption('timeoutMs', timeoutMs, { min: 1, max: TEN_YEARS_MS });
    const answer = await this.#config.store.executions.extendAwait({ ...which, dueInMs });
    this.#config.awaitDueIn(dueInMs);
    return answer;
  }

  /** Assigns an interaction to a person or group; undefined removes the assignee. */
  async assign(
    target: InteractionTarget,
    assignee: string | undefined,
    operation: OperationOptions = {},
  ): Promise<AwaitResult> {
    return this.#config.store.executions.assignAwait({
      ...(await this.#operation('assign-await', target, operation)),
      ...(assignee === undefined ? {} : { assignee: boundedText('assignee', assignee, 256) }),
    });
  }

  /** Cancels an await. The code continues with the outcome `cancelled`. */
  async cancel(target: InteractionTarget, operation: OperationOptions = {}): Promise<AwaitResult> {
    const command = await this.#operation('cancel-await', target, operation);
    return this.#config.store.executions.cancelAwait(command);
  }

  /** Returns answers that came too late, oldest first. The store keeps up to 20. */
  async lateAnswers(
    target: InteractionTarget,
    options: InProject = {},
  ): Promise<readonly AnswerInfo[]> {
    const which = await this.#named(target, options);
    const late = await this.#config.store.executions.lateAnswers(which);
    const payloads = this.#config.payloads.of(which.project);
    return Promise.all(late.map((each) => answerInfo(payloads, each)));
  }

  async #operation(
    action: AuditAction,
    target: InteractionTarget,
    operation: OperationOptions,
  ): Promise<AwaitCommand> {
    const { project, ...given } = readOptions('awaits', operation, OPERATION_OPTIONS);
    const which = await this.#named(target, present({ project }));
    return { ...which, audit: stampOf(this.#config, action, given) };
  }

  /** Checks the answer to one interaction, and prepares it for the store. */
  #toAnswer(what: string, value: unknown, options: AnswerOptions) {
    const { project, ...operation } = readOptions(what, options, OPERATION_OPTIONS);
    const sent = { value, project: projectOf(project), actor: operation.actor, verified: false };
    return async (target: InteractionTarget): Promise<Prepared | AnswerRefused> => {
      const audit = stampOf(this.#config, 'answer', operation);
      return this.#prepared(await this.#located(target, project), sent, audit);
    };
  }

  async #prepared(
    target: Located,
    sent: Sent,
    audit: AuditStamp,
  ): Promise<Prepared | AnswerRefused> {
    const made = await answerRequest(this.#config, { target, ended: this.#ended }, sent);
    return made.kind === 'refused' ? made : { ...made, audit };
  }

  async #named(
    target: InteractionTarget,
    options: InProject,
  ): Promise<Pick<Interaction, 'project' | 'id'>> {
    rejectUnknownOptions('awaits', options, ['project']);
    const { project } = options;
    const { id } = await this.#located(target, project);
    return { project: projectOf(project), id };
  }

  /** The execution may be named by its key, the interaction by its correlation (W-14). */
  async #located(target: InteractionTarget, project: string | undefined): Promise<Located> {
    const correlation = correlationOf(target);
    if (correlation !== undefined) {
      const query = { project: projectOf(project), correlation };
      const id = await this.#config.store.executions.idOfCorrelation(query);
      // No interaction has such an id, so the store refuses it as unknown.
      return { id: id ?? (target as InteractionId) };
    }
    if (typeof target === 'string' || !String(target.execution).startsWith('key:')) {
      return located(target);
    }
    return located({
      ...target,
      execution: await requireId(this.#config, target.execution, project),
    });
  }

  get #links(): AnswerLinks {
    const { links } = this.#config;
    if (links !== undefined) return links;
    throw new InvalidInput(
      'Answer links need signing keys. Nothing was signed. Pass them: openHoldfast({ links: { keys: { id: secret }, current: id } }).',
    );
  }

  async #info({ interaction, unit }: InteractionFound): Promise<InteractionInfo> {
    const { request, answer, verified: _, ...rest } = interaction;
    const payloads = this.#config.payloads.of(interaction.project);
    return {
      ...rest,
      request:
        request === undefined ? undefined : await payloads.decode(request, { position: REQUEST }),
      ...(answer === undefined ? {} : { answer: await answerInfo(payloads, answer) }),
      ...(unit === undefined ? {} : { unit: unitInfo(unit) }),
    };
  }
}

async function answerInfo(
  payloads: ProjectPayloads,
  { value, actor, at }: Answer,
): Promise<AnswerInfo> {
  return { value: await payloads.decode(value), ...present({ actor }), at };
}

function unitInfo(unit: AwaitUnit): AwaitInfo {
  const { name, pipeline, status, items, needed, answered, signed, checked } = unit;
  const { openedAt, dueAt, settledAt, concurrency } = unit;
  return {
    ...{ name, pipeline, status, items, needed, answered, signed, checked, openedAt },
    ...present({ dueAt, settledAt, concurrency }),
  };
}

function filtersOf(options: InteractionListOptions): Omit<InteractionQuery, 'project' | 'limit'> {
  rejectUnknownOptions('awaits.list', options, [
    ...['project', 'open', 'queued', 'execution', 'name', 'assignee', 'sort', 'cursor', 'limit'],
  ]);
  const { open, queued, execution, name, assignee, sort, cursor } = options;
  optionalBooleans('awaits.list', { open, queued });
  return {
    ...(open === undefined ? {} : { open }),
    ...(queued === true ? { queued } : {}),
    ...(execution === undefined ? {} : { execution: parseExecutionId(execution) }),
    ...present({ name: text('name', name), assignee: text('assignee', assignee), sort, cursor }),
  };
}

function text(name: string, value: string | undefined): string | undefined {
  return value === undefined ? undefined : boundedText(name, value, 256);
}

interface InteractionQuery extends Omit<ListInteractions, 'before' | 'downTo'> {
  readonly sort?: InteractionListOptions['sort'];
  readonly cursor?: string;
}

interface InteractionPage {
  readonly items: readonly InteractionFound[];
  readonly cursor?: string;
}

type InteractionLists = Pick<AwaitStore, 'interactions' | 'interactionsEdge' | 'dueInteractions'>;

/** A page in the order of `sort`, after its cursor. */
export async function sortedPage(
  store: InteractionLists,
  { sort, cursor, ...query }: InteractionQuery,
): Promise<InteractionPage> {
  if (sort === 'due') return duePage(store, query, cursor);
  if (sort !== undefined && sort !== 'newest') {
    throw new InvalidInput(`sort must be newest or due; got ${shown(sort)}.`);
  }
  const before = cursor === undefined ? {} : { before: parseInteractionId(cursor) };
  return interactionPage(store, { ...query, ...before });
}

export function interactionPage(
  store: Pick<AwaitStore, 'interactions' | 'interactionsEdge'>,
  query: ListInteractions,
): Promise<{ readonly items: readonly InteractionFound[]; readonly cursor?: InteractionId }> {
  return filteredPage(query, {
    edge: (filters) => store.interactionsEdge(filters),
    list: (filters) => store.interactions(filters),
    idOf: ({ interaction }) => interaction.id,
  });
}

async function duePage(
  store: InteractionLists,
  { open, execution, call, ...query }: ListInteractions,
  cursor: string | undefined,
): Promise<InteractionPage> {
  if (open === false || execution !== undefined || call !== undefined || query.queued === true) {
    throw new InvalidInput(
      'sort: due lists open questions of all executions. Leave out `execution`, `queued` and `open: false`.',
    );
  }
  const after = cursor === undefined ? {} : { after: duePlaceIn(cursor) };
  const { items, next } = await store.dueInteractions({ ...query, ...after });
  return { items, ...(next && { cursor: dueCursor(next) }) };
}

/** The cursor of a list that ends with this interaction. */
export function cursorAfter(last: InteractionFound, sort: InteractionListOptions['sort']): string {
  return sort === 'due' ? dueCursor(duePlaceOf(last)) : last.interaction.id;
}

function dueCursor({ dueAt, execution, id }: DuePlace): string {
  return `${dueAt ?? 'none'}.${execution}.${id}`;
}

function duePlaceIn(cursor: string): DuePlace {
  const [, at, execution, id] = /^(none|\d{1,15})\.([^.]+)\.([^.]+)$/.exec(cursor) ?? [];
  if (at === undefined) {
    throw new InvalidInput(
      `cursor must be of a page that is sorted by due time; got ${shown(cursor)}.`,
    );
  }
  return {
    ...(at === 'none' ? {} : { dueAt: toInstant(Number(at)) }),
    execution: parseExecutionId(execution),
    id: parseInteractionId(id),
  };
}
