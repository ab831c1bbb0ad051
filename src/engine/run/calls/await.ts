// An await asks people or other systems and waits for the answer while no worker holds the
// execution. The transaction that records the await opens its questions (W-1). The store sends the
// outcome as a message, which enters the history before the code gets it.

import type { Payload } from '../../../execution/names.ts';
import type { AwaitStatus, OpenAwait, Reminder } from '../../../features/awaits/model.ts';
import {
  type AwaitArguments,
  type AwaitOutcome,
  type AwaitPlan,
  checkValues,
  type ItemAnswer,
  type ItemsOutcome,
  type PlannedReminder,
  QUESTIONS_MAX,
  resolveAwait,
} from '../../../features/awaits/question-api.ts';
import { isOutage } from '../../../lease/store-call.ts';
import { type Instant, laterBy } from '../../../support/clock.ts';
import { InvalidInput, StoreCorrupt } from '../../../support/fault.ts';
import { present, unreadable } from '../../../support/options.ts';
import { OperationRefused } from '../../failures.ts';
import { interactionIdOf } from '../../ids.ts';
import { questionOf } from '../../pipeline.ts';
import { checkedConcurrency } from '../../submission.ts';
import type { ProjectPayloads } from '../../values/payloads.ts';
import { DEFAULT_ANSWER, inputOf, REQUEST } from '../../values/place.ts';
import { jsonSchemaOf } from '../../values/schema.ts';
import { PromisedCall } from '../call.ts';
import { soon } from '../guarded.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';
import type { RunContext } from '../run-context.ts';

type Outcome = AwaitOutcome<unknown> | ItemsOutcome<unknown>;

/** The body of an `await-settled` event. The store sent `status`, `answers` and `default` (W-3). */
interface SettledBody extends Omit<CallBody, 'status'> {
  readonly items: number;
  readonly settledAt: Instant;
  readonly status: Exclude<AwaitStatus, 'open'>;
  readonly answers: readonly {
    readonly item: number;
    readonly at: Instant;
    readonly out: object;
    /** The actor. History keeps this name. */
    readonly by?: string;
  }[];
  readonly default?: object;
  /** The correlation that another question has (W-15). */
  readonly clash?: string;
}

const EXPIRE_LIMIT = 100;
const RETRY_MS = 200;

export async function awaitAnswers(
  ctx: RunContext,
  run: Run,
  { question: given, options }: AwaitArguments,
): Promise<Outcome> {
  const name = typeof given === 'string' ? given : nameOf(given);
  const resolved = resolveAwait(options);
  // Reads the option once `resolveAwait` has checked that the options are an object.
  const concurrency = options.concurrency && checkedConcurrency(options.concurrency, QUESTIONS_MAX);
  const key = ctx.nextKey('await', name);
  const question = questionOf(run.pipeline, name);
  if (typeof given !== 'string' && question !== given) {
    throw new InvalidInput(
      `ctx.await: pipeline "${run.pipeline.name}" does not declare the question "${name}". Nothing was asked. Add it: pipeline({ awaits: [${name}], … }).`,
    );
  }
  const checked = question?.schema !== undefined || question?.project !== undefined;
  const answerSchema = jsonSchemaOf(question?.schema);
  const plan: AwaitPlan = { ...resolved, concurrency, key, name, checked, answerSchema };
  await checkValues(plan, (what, value) => run.config.payloads.check(what, value));
  return ctx.enter<Outcome>((promise) => new AwaitCall(run, plan, promise));
}

class AwaitCall extends PromisedCall<AwaitPlan, Outcome> {
  readonly #askedAt: Instant = this.run.now;
  #isOpening = false;

  override start(opening: Opening | undefined): void {
    const { run } = this;
    const { key, name, items } = this.plan;
    if (opening !== undefined) {
      const isThere = run.inbox.awaitSettled({ key, name, items: opening.items ?? 0 });
      if (!isThere) this.#waitForAnswer(opening.dueAt);
      return;
    }
    run.active(1);
    if (items.length === 0) this.#settleEmpty();
    else
      this.#open().then(
        () => run.active(-1),
        (error: unknown) => this.failUnrecorded(error),
      );
  }

  override settle(settlement: Settlement): Promise<void> {
    this.stopWaiting?.();
    this.waits = undefined;
    const { payloads } = this.run;
    const body = settlement.body as SettledBody;
    if (body.clash !== undefined) {
      const refusal = { why: 'correlation-taken', correlation: body.clash } as const;
      this.reject(new OperationRefused(refusal));
      return Promise.resolve();
    }
    const outcome = this.plan.isItemised
      ? itemsOutcome(payloads, body)
      : scalarOutcome(payloads, body);
    return outcome.then(this.promised.resolve, (error) => this.reject(error));
  }

  /** The write that parks the execution may have stored this await, and so its reminders. */
  override leave(): void {
    super.leave();
    this.#sendReminders();
  }

  /**
   * Announces the first reminder only once the store has it. An earlier check of due reminders
   * would find none, and the next check would come much later.
   */
  #sendReminders(): void {
    const [first] = this.plan.reminders;
    if (!this.#isOpening || first === undefined) return;
    this.#isOpening = false;
    this.run.config.awaitDueIn(first.afterMs);
  }

  /** The await has no items, so it needs no answer. */
  #settleEmpty(): void {
    const { run } = this;
    const { key, name } = this.plan;
    run.ledger.noteAwait(key);
    const body: SettledBody = {
      ...{ key, items: 0, settledAt: run.now, status: 'answered', answers: [] },
      ...run.under(key),
    };
    this.recordEnd({ event: { kind: 'await-settled', name }, body: body as CallBody });
  }

  /**
   * Writes the await together with the parking. If something else runs beside it, the journal
   * flushes soon, so that people can answer meanwhile.
   */
  async #open(): Promise<void> {
    const { run } = this;
    const { key, name, items, needed, timeoutMs: ms, answerSchema } = this.plan;
    const open = await openAwait(run, this.plan, this.#askedAt);
    if (!this.#isAsked) return;
    run.ledger.noteAwait(key);
    run.inbox.awaitSettled({ key, name, items: items.length });
    const body = {
      key,
      ...present({ ms }),
      items: items.length,
      needed,
      ...present({ answerSchema }),
    };
    run.journal.append({
      event: { kind: 'await-opened', name, body: JSON.stringify(body) as Payload },
      awaits: [open],
      stored: (at) => {
        this.#sendReminders();
        if (ms !== undefined && this.waits?.dueAt !== undefined) {
          this.#waitForAnswer(laterBy(at, ms));
        }
      },
    });
    this.#isOpening = true;
    this.#waitForAnswer(ms === undefined ? undefined : laterBy(run.storeNow(), ms));
    soon(run, () => {
      if (!run.isOver && run.activeSteps > 0) run.journal.flush();
    });
  }

  /** True while the code waits for this await. */
  get #isAsked(): boolean {
    return !this.run.isOver && this.run.calls.get(this.key) === this;
  }

  #waitForAnswer(dueAt: Instant | undefined): void {
    if (dueAt !== undefined) {
      this.waitUntil(dueAt, () => this.#due());
      return;
    }
    this.stopWaiting?.();
    if (this.run.isOver) return;
    this.waits = {};
    this.run.rest();
  }

  /** This process estimates that the time has passed. The store decides whether it has (W-6). */
  #due(): void {
    if (!this.#isAsked) return;
    this.waits = undefined;
    this.#checkWhenDue().catch((error: unknown) => this.run.troubled(error));
  }

  async #checkWhenDue(): Promise<void> {
    const { run } = this;
    for (; this.#isStillOpen; await run.config.timers.pause(RETRY_MS, run.session.signal)) {
      try {
        const dueAt = await this.#settleOrLearn();
        if (dueAt !== 'passed') {
          if (this.#isStillOpen) this.#waitForAnswer(dueAt);
          return;
        }
      } catch (fault) {
        if (!isOutage(fault)) throw fault;
      }
    }
  }

  /** No message about its outcome has arrived. */
  get #isStillOpen(): boolean {
    return this.#isAsked && this.run.inbox.isAwaiting(this.key);
  }

  /** Returns the new deadline if an operator gave the await more time. */
  async #settleOrLearn(): Promise<Instant | undefined | 'passed'> {
    const { config, claimed, inbox } = this.run;
    const { id: execution, project } = claimed.execution;
    const { executions } = config.store;
    await executions.expireAwaits({ execution, limit: EXPIRE_LIMIT });
    await inbox.refresh();
    if (!this.#isStillOpen) return undefined;
    const id = interactionIdOf({ execution, call: this.key, item: 0 });
    const unit = (await executions.interaction({ project, id }))?.unit;
    if (unit === undefined) {
      throw new StoreCorrupt(
        `The question ${this.key} of execution ${execution} was opened, but the store does not have it.`,
      );
    }
    const isPast = unit.dueAt !== undefined && unit.dueAt <= this.run.storeNow();
    return unit.status !== 'open' || isPast ? 'passed' : unit.dueAt;
  }
}

async function openAwait(run: Run, plan: AwaitPlan, askedAt: Instant): Promise<OpenAwait> {
  const { key: call, name, items, needed, timeoutMs, signed, checked, concurrency } = plan;
  const { payloads } = run;
  const { id: execution } = run.claimed.execution;
  const opened: OpenAwait['items'][number][] = [];
  for (const [item, { request, assignee, correlation }] of items.entries()) {
    const id = interactionIdOf({ execution, call, item });
    const place = { owner: id, position: REQUEST };
    const encoded = await payloads.encode(`The request of "${name}"`, request, place);
    opened.push({
      id,
      ...present({ request: request === undefined ? undefined : encoded, assignee, correlation }),
    });
  }
  const reminders: Reminder[] = [];
  for (const each of plan.reminders) {
    reminders.push(await reminderOf(run, { ...each, name, askedAt }));
  }
  const place = { owner: execution, position: DEFAULT_ANSWER };
  const defaultAnswer =
    plan.fallback &&
    (await payloads.encode(`The default of "${name}"`, plan.fallback.value, place));
  return {
    ...{ call, name, needed, items: opened, reminders, signed, checked },
    ...present({ timeoutMs, defaultAnswer, concurrency }),
  };
}

/** A reminder is not a child: its end wakes no parent. */
async function reminderOf(
  run: Run,
  plan: PlannedReminder & { readonly name: string; readonly askedAt: Instant },
): Promise<Reminder> {
  const { execution } = run.claimed;
  const { kind, afterMs, pipeline, name } = plan;
  const id = run.config.ids.nextAt(plan.askedAt);
  const { project, lane, traceparent } = execution;
  const input = await run.payloads.encode(`The input of "${pipeline}"`, plan.input, inputOf(id));
  return {
    afterMs,
    start: {
      ...{ id, project, pipeline, lane, input, lineage: id, tags: [] },
      attributes: { [kind]: execution.id, await: name },
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  };
}

async function answersOf(
  payloads: ProjectPayloads,
  { answers }: SettledBody,
): Promise<readonly ItemAnswer<unknown>[]> {
  return Promise.all(
    answers.map(async ({ item, at, out, by }) => ({
      item,
      value: await payloads.decodeEnvelope(out),
      ...(by === undefined ? {} : { actor: by }),
      at,
    })),
  );
}

async function scalarOutcome(
  payloads: ProjectPayloads,
  body: SettledBody,
): Promise<AwaitOutcome<unknown>> {
  const { status, settledAt } = body;
  if (status !== 'answered') return { kind: status };
  const [answer] = await answersOf(payloads, body);
  if (answer !== undefined) {
    const { item: _, ...given } = answer;
    return { kind: 'answered', ...given };
  }
  const value = await payloads.decodeEnvelope(body.default ?? {}, { position: DEFAULT_ANSWER });
  return { kind: 'answered', value, at: settledAt, byDefault: true };
}

async function itemsOutcome(
  payloads: ProjectPayloads,
  body: SettledBody,
): Promise<ItemsOutcome<unknown>> {
  const { status } = body;
  const answers = await answersOf(payloads, body);
  if (status !== 'answered') return { kind: status, answers };
  const fallback = await payloads.decodeEnvelope(body.default ?? {}, { position: DEFAULT_ANSWER });
  const values = new Array<unknown>(body.items).fill(fallback);
  for (const { item, value } of answers) values[item] = value;
  const byDefault = body.default === undefined ? {} : ({ byDefault: true } as const);
  return { kind: 'answered', values, answers, ...byDefault };
}

/** The argument can be anything, and reading it may even throw. */
function nameOf(question: unknown): string {
  try {
    return (question as { readonly name: string } | null)?.name as string;
  } catch (cause) {
    throw unreadable('ctx.await: the question', cause);
  }
}
