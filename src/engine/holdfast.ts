// The embedded Holdfast: submits, runs, inspects and controls executions on one store.

import type { ExecutionRecord, Hold, Status } from '../execution/execution.ts';
import type { Explanation } from '../execution/explain.ts';
import type { HistoryEvent } from '../execution/history.ts';
import { type ExecutionId, OWN_PREFIX } from '../execution/names.ts';
import { Audit, listRefusals, type RefusalListOptions } from '../features/audit/api.ts';
import type { AuditStamp, RefusedWrite } from '../features/audit/model.ts';
import type { RefusedWriteNote } from '../features/audit/tally-api.ts';
import { Awaits } from '../features/awaits/api.ts';
import { type EraseOptions, type EraseResult, eraseExecution } from '../features/erasure/api.ts';
import type { Count } from '../features/overview/model.ts';
import { Releases } from '../features/releases/api.ts';
import { type AnyJobInput, REPIN_PIPELINE } from '../features/releases/repin-api.ts';
import { Bulk, Repair } from '../features/repair/api.ts';
import { JOB_PIPELINE, type JobOutput } from '../features/repair/jobs-api.ts';
import { Archives } from '../features/retention/api.ts';
import { Schedules } from '../features/schedules/api.ts';
import { submissionFor, type TemplateRef, Templates } from '../features/templates/api.ts';
import {
  published,
  publishedIn,
  type StoredUpdate,
  type StoredValue,
  sendUpdate,
  type UpdateMessage,
  type UpdateResult,
  update,
  type WaitOptions,
} from '../features/updates/api.ts';
import { type Queried, type QueryMessage, query } from '../features/updates/query-api.ts';
import {
  type AttachmentSummary,
  type AttributeFilter,
  LIST_ROWS_MAX,
  type Outcome,
} from '../store/contract/execution-reads.ts';
import type {
  CommandResult,
  CoordinatorStore,
  Submit,
  SubmitResult,
} from '../store/contract/execution-store.ts';
import { present } from '../support/options.ts';
import { type EngineConfig, type HoldfastOptions, resolveOptions } from './config.ts';
import { explainExecution } from './explaining.ts';
import { SubmitRefused } from './failures.ts';
import { findId, type InProject, projectIn, requireId } from './named.ts';
import type { Pipeline } from './pipeline.ts';
import { requireWorker } from './possible-workers.ts';
import {
  attachmentQueryOf,
  auditedCommand,
  cancelOf,
  countListed,
  cursorAt,
  type HistoryPage,
  historyPageOf,
  listQueryOf,
  type Message,
  messageOf,
  requireValid,
  type SignalledSubmit,
  signalledSubmit,
  signalOf,
} from './requests.ts';

import { Results, signalFrom, type Waiting } from './results.ts';
import { type SavedHistory, saveHistory } from './saved-history.ts';
import { clientOf, type SubmitOptions, verbsOn } from './submission.ts';
import { attachmentAt } from './values/place.ts';
import { LiveWorker } from './worker/worker.ts';
import {
  type MaintenanceOptions,
  resolveMaintenanceOptions,
  type Worker,
  type WorkerOptions,
} from './worker/worker-options.ts';

/**
 * Submits, runs and operates executions on one store. Open one with `openHoldfast`.
 *
 * Its methods throw `InvalidInput` for invalid arguments, `StoreUnavailable` if the store cannot be
 * reached, and `OutcomeUnknown` if the store may or may not have applied the write.
 *
 * @example
 * const greet = pipeline({ name: 'greet', run: async (_ctx, name: string) => `Hello, ${name}` });
 * await using holdfast = await openHoldfast({ store: './holdfast.db' });
 * await holdfast.worker({ pipelines: [greet] });
 * const { id } = await holdfast.submit(greet, 'Ada');
 * console.log(await holdfast.result(id));
 */
export class Holdfast {
  /** The open store. */
  readonly store: CoordinatorStore;
  /** Stored submissions with names and versions. */
  readonly templates: Templates;
  /** Submits executions at set times while a worker runs. */
  readonly schedules: Schedules;
  /** Open questions of executions to people and other systems, and their answers. */
  readonly awaits: Awaits;
  /** Dead letters, re-drives and compensations. */
  readonly repair: Repair;
  /** Operations on many executions, as durable jobs. */
  readonly bulk: Bulk;
  /** Registered builds of pipelines, and which of them new executions go to. */
  readonly releases: Releases;
  /** The record of operations: actor, operation and reason. */
  readonly audit: Audit;
  /** Executions that were archived and removed after their retention. */
  readonly archive: Archives;
  readonly #config: EngineConfig;
  readonly #results: Results;
  readonly #workers: Set<LiveWorker> = new Set();
  #closing: Promise<void> | undefined;

  constructor(options: HoldfastOptions) {
    this.#config = resolveOptions(options, {
      ended: (outcome) => this.#results.endedHere(outcome),
      awaitDueIn: (ms) => {
        for (const worker of this.#workers) worker.awaitDueIn(ms);
      },
    });
    this.store = this.#config.store;
    this.#results = new Results(this.#config);
    this.templates = new Templates(this.#config);
    this.awaits = new Awaits(this.#config, (id, signal) => this.#results.ended(id, signal));
    this.schedules = new Schedules(this.#config, () => {
      for (const worker of this.#workers) worker.checkSchedules();
    });
    this.repair = new Repair(this.#config);
    this.bulk = new Bulk(this.#config, (input, options, audit) =>
      this.#submit<AnyJobInput, JobOutput>(
        input.act === 'move' ? REPIN_PIPELINE : JOB_PIPELINE,
        { input, options },
        { audit },
      ),
    );
    this.releases = new Releases(this.#config, (id, signal) => this.#results.ended(id, signal));
    this.audit = new Audit(this.#config);
    this.archive = new Archives(this.#config);
  }

  /**
   * Stores an execution and returns its handle. A worker runs it later.
   *
   * With a template, `input` is merged over its default parameters and `options` over its options.
   * Throws `SubmitRefused` if the key has another input, the release is unknown or retired, or no
   * worker is there and `ifNoWorker` is `refuse`. Nothing is written then.
   *
   * @example
   * const handle = await holdfast.submit('order', { item: 'book' }, { key: 'order-17' });
   * const receipt = await handle.result();
   */
  async submit<Input, Output>(
    pipeline: Pipeline<Input, Output> | string | TemplateRef,
    input: Input,
    options?: SubmitOptions,
  ): Promise<Handle<Output>> {
    return this.#submit(pipeline, { input, options });
  }

  /**
   * Starts a worker that runs pipelines in this process until it is stopped.
   *
   * @example
   * const worker = await holdfast.worker({ pipelines: [order], concurrency: 20 });
   * process.once('SIGTERM', () => void worker.stop());
   */
  async worker(options: WorkerOptions): Promise<Worker> {
    return this.#addWorker(await LiveWorker.open(this.#config, options));
  }

  /**
   * Starts a worker without pipelines. It fires schedules, deadlines and awaits, and runs bulk
   * jobs, for workers in other processes.
   */
  async maintain(options: MaintenanceOptions = {}): Promise<Worker> {
    const settings = resolveMaintenanceOptions(options);
    return this.#addWorker(await LiveWorker.openWith(this.#config, settings));
  }

  async #addWorker(worker: LiveWorker): Promise<Worker> {
    this.#workers.add(worker);
    void worker.ended.then(({ kind }) => kind !== 'crashed' && this.#workers.delete(worker));
    if (this.#closing !== undefined) await worker.stop();
    return worker;
  }

  /**
   * Waits for the output of an execution and returns it.
   *
   * If the execution continued as a new one, it waits for that. Throws `ExecutionFailed` if it ends
   * otherwise, a `Fault` with code `execution-unknown` if there is none, and the reason of
   * `options.signal` when that aborts.
   */
  async result<Output = unknown>(id: string, options: Waiting = {}): Promise<Output> {
    const signal = signalFrom(options);
    const known = await requireId(this.#config, id, options.project);
    await this.#results.requireKnown(known);
    return this.#results.output<Output>(known, signal);
  }

  /**
   * Waits until an execution has ended and returns its outcome. It does not follow
   * `ctx.continueAsNew`.
   */
  async ended(id: string, options: Waiting = {}): Promise<Outcome> {
    const signal = signalFrom(options);
    return this.#results.ended(await requireId(this.#config, id, options.project), signal);
  }

  /**
   * Returns an outcome to the callers of `ended` and `result` in this process, without a query. A
   * coordinator calls it when a remote worker has ended an execution.
   */
  noteEnded(outcome: Outcome): void {
    this.#results.endedHere(outcome);
  }

  /** Counts a write that the store refused to a remote worker. A coordinator calls it. */
  noteRefused(refused: RefusedWriteNote): void {
    this.#config.refusals.note(refused);
  }

  /**
   * Decodes a stored value: an `input`, a `progress`, or the `out` of a history event. `project`
   * defaults to `default`.
   */
  async decode(
    payload: string | object,
    options: { readonly project?: string } = {},
  ): Promise<unknown> {
    return this.#config.payloads.decodeGiven(payload, options);
  }

  /**
   * Returns the record of an execution, or undefined if there is none.
   *
   * Here and wherever a method takes an execution, pass its id, or `key:` and its key.
   *
   * @example
   * const execution = await holdfast.read('key:order-17');
   */
  async read(id: string, options: InProject = {}): Promise<ExecutionRecord | undefined> {
    const known = await findId(this.#config, id, projectIn('read', options));
    return known && this.store.executions.read(known);
  }

  /**
   * Returns why an execution is not progressing and what to do, or undefined if there is no such
   * execution.
   *
   * @example
   * const explanation = await holdfast.explain(id);
   * console.log(explanation?.sentence, explanation?.advice);
   */
  async explain(id: string, options: InProject = {}): Promise<Explanation | undefined> {
    const known = await findId(this.#config, id, projectIn('explain', options));
    return known && explainExecution(this.#config, known);
  }

  /**
   * Cancels an execution. `forwarded`: it is running or in a `ctx.scope`, and a worker stops it.
   *
   * With `force`, it ends at once, whatever it does: nothing is cleaned up or compensated.
   */
  async cancel(id: string, operation: CancelOptions = {}): Promise<CommandResult> {
    return this.store.executions.cancel(cancelOf(this.#config, id, operation));
  }

  /**
   * Pauses an execution: workers do not claim it until `resume`. `forwarded`: it is running, and
   * its worker parks it.
   */
  async pause(id: string, operation: OperationOptions = {}): Promise<CommandResult> {
    return this.store.executions.pause(auditedCommand(this.#config, 'pause', { id, operation }));
  }

  /**
   * Resumes an execution that was paused, or that drift has blocked once the code is compatible
   * again.
   */
  async resume(id: string, operation: OperationOptions = {}): Promise<CommandResult> {
    return this.store.executions.resume(auditedCommand(this.#config, 'resume', { id, operation }));
  }

  /**
   * Erases the values of an ended execution, in the store and in the archive. Its structure and the
   * digests of its values stay. `reason` is required.
   *
   * `erasure.pending` names what this call could not remove yet: call it again. Throws a `Fault` with
   * code `archive-missing` if the execution is archived and this process has no archive.
   *
   * @example
   * const result = await holdfast.erase(id, { actor: 'ada', reason: 'request 4711' });
   * if (result.kind === 'refused') console.error(describeExecutionRefusal(result));
   */
  async erase(id: string, operation: EraseOptions): Promise<EraseResult> {
    return eraseExecution(this.#config, id, operation);
  }

  /**
   * Sends a message that the execution's code gets from `ctx.receive(name)`. It is kept until the
   * code asks.
   *
   * With a `key`, a second signal returns `no-change`, so a sender without a reply can repeat it.
   * With a `client`, as of a submit, it arrives when your transaction commits.
   *
   * @example
   * await holdfast.signal(id, { name: 'approved', value: { actor: 'ada' } });
   */
  async signal(id: string, message: Message): Promise<CommandResult> {
    const { client, ...sent } = messageOf(message);
    await requireValid(this.#config, id, sent);
    const { config, executions } = verbsOn(this.#config, client);
    return executions.signal(await signalOf(config, id, sent));
  }

  /**
   * Sends an update, which the execution's code gets from `ctx.receive(name, { update: true })`, and
   * waits for the reply.
   *
   * An update whose value does not fit the schema of the pipeline is refused before anything is
   * written. With a `key`, a repeated call gets the reply of the first update.
   *
   * @example
   * const result = await holdfast.update(id, { name: 'add', value: { item: 'tent' }, key: 'add/1' });
   * if (result.kind === 'replied') console.log(result.value);
   */
  async update<Value = unknown>(id: string, message: UpdateMessage): Promise<UpdateResult<Value>> {
    return update<Value>(this.#config, id, message);
  }

  /** As `update`, with the reply as it is stored. A coordinator calls it. */
  sendUpdate(id: string, message: UpdateMessage): Promise<StoredUpdate> {
    return sendUpdate(this.#config, id, message);
  }

  /**
   * Sends a query to the code of an execution, open or ended, and returns the result of its
   * `ctx.onQuery` handler.
   *
   * Holdfast replays the recorded calls and then calls the handler, in this process if it has the
   * code. Nothing of the execution is written. Throws a `Fault` with code `query-unknown` if the
   * code has no such handler, `query-failed` if the replay or the handler fails, and `no-worker` if
   * no worker replies in time.
   *
   * @example
   * const status = await holdfast.query(id, { name: 'status' });
   */
  async query<Value = unknown>(id: string, given: QueryMessage): Promise<Value> {
    const found = await this.queried(id, given);
    if (found.kind === 'value') return found.value as Value;
    return (await this.decode(found.out, present({ project: given.project }))) as Value;
  }

  /** As `query`, with the result as a worker stored it. A coordinator calls it. */
  queried(id: string, given: QueryMessage): Promise<Queried> {
    const ended = (of: ExecutionId, signal: AbortSignal): Promise<Outcome> =>
      this.#results.ended(of, signal);
    return query(this.#config, ended, { ref: id, given });
  }

  /**
   * Returns a value that the execution published with `ctx.publish`, or undefined if there is none.
   * With `timeoutMs`, waits for it until then, or until the execution ends.
   *
   * @example
   * const status = await holdfast.published(id, 'status', { timeoutMs: 10_000 });
   */
  async published<Value = unknown>(
    id: string,
    name: string,
    options: WaitOptions = {},
  ): Promise<Value | undefined> {
    return published<Value>(this.#config, id, { name, options });
  }

  /** As `published`, with the value as it is stored. A coordinator calls it. */
  publishedIn(id: string, name: string, options: WaitOptions): Promise<StoredValue | undefined> {
    return publishedIn(this.#config, id, { name, options });
  }

  /**
   * Submits under a key if no execution has it, and sends a signal to the execution with that key,
   * in one transaction.
   *
   * Returns the `id` of that execution, and whether it was `existing`. An existing one gets the signal whatever its input is;
   * `signalled` is a refusal if it has ended. With `ifKeyTaken: 'reuse'`, an ended one gives the key
   * to a new one instead.
   */
  async submitOrSignal<Input, Output>(
    pipeline: Pipeline<Input, Output> | string | TemplateRef,
    input: Input,
    options: SignalledSubmit,
  ): Promise<{
    readonly id: ExecutionId;
    readonly existing: boolean;
    readonly signalled: CommandResult;
  }> {
    const { submit, message } = await signalledSubmit(this.#config, options);
    const parts = { input, options: submit, message };
    const { id, existing, signalled } = await this.#stored(pipeline, parts);
    return { id, existing, signalled: signalled as CommandResult };
  }

  /**
   * Returns a page of executions, newest first by default. A page examines at most 10,000 rows. So
   * it may have fewer items than `limit`, or none, and a cursor nevertheless.
   *
   * @example
   * const { items, cursor } = await holdfast.list({ status: 'failed', limit: 20 });
   */
  async list(options: ListOptions = {}): Promise<Page<ExecutionRecord>> {
    const { items, next } = await this.store.executions.list(listQueryOf(options));
    return { items, ...(next && { cursor: cursorAt(next) }) };
  }

  /**
   * Counts executions that match all filters, up to 10,000. `capped`: there may be more. A count
   * examines at most 50,000 rows, or 10,000 if it checks their attributes.
   *
   * @example
   * const { count, capped } = await holdfast.count({ pipeline: 'order', status: 'failed' });
   */
  async count(options: ExecutionFilter = {}): Promise<Count> {
    return countListed(this.store.executions, options);
  }

  /**
   * Returns the events of an execution in order: 1,000 by default, 10,000 at most, after
   * `page.after`.
   */
  async history(id: string, page: HistoryPage = {}): Promise<readonly HistoryEvent[]> {
    const { project, ...range } = historyPageOf(page);
    const known = await findId(this.#config, id, project);
    return known ? this.store.executions.history({ id: known, ...range }) : [];
  }

  /**
   * Returns an execution and its history as stored, for `replayHistory` of `holdfast/testing`, or
   * undefined if there is no such execution. Keep it as JSON.
   *
   * Throws a `Fault` with code `payload-too-large` above 10,000 events or 16 MiB.
   *
   * @example
   * const saved = await holdfast.saveHistory('key:order-17');
   */
  async saveHistory(id: string, options: InProject = {}): Promise<SavedHistory | undefined> {
    const known = await findId(this.#config, id, projectIn('saveHistory', options));
    return known && saveHistory(this.#config, known);
  }

  /** Returns name, type and size of the files that the execution attached: the first 10,000 by name. */
  async attachments(id: string, options: InProject = {}): Promise<readonly AttachmentSummary[]> {
    const known = await findId(this.#config, id, projectIn('attachments', options));
    const all = known ? await this.store.executions.attachments(known, LIST_ROWS_MAX) : [];
    return all.filter(({ name }) => !name.startsWith(OWN_PREFIX));
  }

  /** Returns the content of an attached file, or undefined if there is none. */
  async attachment(
    id: string,
    name: string,
    options: InProject = {},
  ): Promise<Uint8Array | undefined> {
    const known = await findId(this.#config, id, projectIn('attachment', options));
    if (known === undefined) return undefined;
    const query = attachmentQueryOf(known, name);
    const { executions } = this.store;
    const stored = await executions.attachment(query);
    const execution = stored === undefined ? undefined : await executions.read(query.id);
    if (stored === undefined || execution === undefined) return undefined;
    return this.#config.payloads.unsealAttachment(stored, attachmentAt(execution, name));
  }

  /**
   * Returns counts of writes that the store refused to workers whose claim had ended, the latest
   * first.
   */
  async refusals(options: RefusalListOptions = {}): Promise<Page<RefusedWrite>> {
    return listRefusals(this.#config, options);
  }

  /**
   * Stops its workers and ends all waiting calls. Closes a store that `openHoldfast` opened from
   * text; close any other store yourself.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    this.#results.close();
    await this.#config.refusals.close();
  }

  async #submit<Input, Output>(
    pipeline: Pipeline<Input, Output> | string | TemplateRef,
    args: SubmitParts<Input>,
    { audit }: { readonly audit?: AuditStamp | undefined } = {},
  ): Promise<Handle<Output>> {
    const { id, existing } = await this.#stored(pipeline, args, audit);
    if (!existing && args.options?.client === undefined) this.#results.submittedHere(id);
    return {
      id,
      existing,
      result: async (waiting = {}) => this.#results.output<Output>(id, signalFrom(waiting)),
    };
  }

  async #stored<Input, Output>(
    pipeline: Pipeline<Input, Output> | string | TemplateRef,
    { message, ...args }: SubmitParts<Input>,
    audit?: AuditStamp,
  ): Promise<Extract<SubmitResult, { kind: 'submitted' }>> {
    const target = pipeline as Pipeline<Input, unknown> | TemplateRef;
    const client = clientOf(args.options);
    const { config, executions } = verbsOn(this.#config, client);
    const submission = await submissionFor(config, target, args);
    if (args.options?.ifNoWorker === 'refuse') await requireWorker(this.#config, submission);
    const request = { ...submission, ...present({ audit, message }) };
    const stored = executions.submit(request);
    if (client === undefined && this.store.executions.claimsJoinSubmits) this.#claimBehind(request);
    const result = await stored;
    if (result.kind === 'refused') throw new SubmitRefused(result);
    return result;
  }

  /** An idle worker claims in the transaction of the submit, instead of one of its own. */
  #claimBehind({ pipeline, delayMs = 0 }: Submit): void {
    if (delayMs > 0) return;
    for (const worker of this.#workers) if (worker.claimBehind(pipeline)) return;
  }
}

interface SubmitParts<Input> {
  readonly input: Input;
  readonly options: SubmitOptions | undefined;
  readonly message?: Submit['message'];
}

// Arguments and results of Holdfast.

/**
 * An execution that was submitted.
 *
 * @example
 * const handle = await holdfast.submit('order', { item: 'book' });
 * const receipt = await handle.result({ signal: AbortSignal.timeout(10_000) });
 */
export interface Handle<Output> {
  /** The id of the execution. */
  readonly id: ExecutionId;
  /** True if an earlier submission with the same key and content had created the execution. */
  readonly existing: boolean;
  /**
   * Waits for the output. Throws `ExecutionFailed` if the execution ends otherwise, and the reason
   * of `signal` when that aborts.
   */
  result(options?: Waiting): Promise<Output>;
}

/** The actor and the reason of an operation, for the audit. */
export interface OperationOptions {
  /** The project of the execution. Default `default`. Executions of other projects are unknown. */
  readonly project?: string;
  /** The person or program that acts. Default `anonymous`. */
  readonly actor?: string;
  /** Why. By default the record has no reason. */
  readonly reason?: string;
}

/** Options of `cancel`. */
export interface CancelOptions extends OperationOptions {
  /**
   * True: end the execution at once, without cleanup and compensations. A step that runs is
   * aborted, and may have its effect. Default false.
   */
  readonly force?: boolean;
}

/** Filters and page of a list of executions. All filters must match. */
export interface ListOptions {
  /** The project. Default `default`. */
  readonly project?: string;
  /** One status, or several of which one must match. */
  readonly status?: Status | readonly Status[];
  /** The name of the pipeline. */
  readonly pipeline?: string;
  /** One of the execution's tags. */
  readonly tag?: string;
  /** A search attribute that equals a value or is in a range, or up to ten that all match. */
  readonly attribute?: AttributeFilter | readonly AttributeFilter[];
  /** Only executions that are pinned to this release. */
  readonly release?: string;
  /** Only executions that this worker runs now: the owner or the id of its session. */
  readonly worker?: string;
  /** Only executions that are held for this reason, among others. */
  readonly hold?: Hold;
  /** Only the execution with this key. */
  readonly key?: string;
  /** Only executions whose key begins with this. Not with `key`. */
  readonly keyPrefix?: string;
  /** Only executions whose id begins with this. */
  readonly idPrefix?: string;
  /** Only children of this execution. */
  readonly parent?: string;
  /** True: only executions without a parent. Default false. */
  readonly topLevel?: boolean;
  /**
   * True: only running executions whose owner is stale: its session missed heartbeats, or has ended
   * and no other worker has taken over yet. Default false.
   */
  readonly staleOwner?: boolean;
  /** Only executions that ended with a dead letter: false without a re-drive, true with one. */
  readonly redriven?: boolean;
  /** Only executions that failed for good with this code. */
  readonly code?: string;
  /** Only executions submitted at or after this time, in ms since 1970, by the submitter's clock. */
  readonly submittedFrom?: number;
  /** Only executions submitted before this time, in ms since 1970, by the submitter's clock. */
  readonly submittedTo?: number;
  /** Only executions that ended at or after this time, in ms since 1970, by the store's clock. */
  readonly endedFrom?: number;
  /** Only executions that ended before this time, in ms since 1970, by the store's clock. */
  readonly endedTo?: number;
  /**
   * By submission, or by end: the last one first, without open executions. Default `newest`; with
   * `endedFrom` or `endedTo`, `ended`.
   */
  readonly sort?: 'newest' | 'oldest' | 'ended';
  /** The `cursor` of the previous page. By default the list starts with the first. */
  readonly cursor?: string;
  /** Items per page, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** Selects executions: for a count, or for a bulk job. All filters must match. */
export type ExecutionFilter = Omit<ListOptions, 'sort' | 'cursor' | 'limit'>;

/** One page of a list. */
export interface Page<Item> {
  /** The items of this page. */
  readonly items: readonly Item[];
  /** Pass it to get the next page. Absent on the last page. */
  readonly cursor?: string;
}
