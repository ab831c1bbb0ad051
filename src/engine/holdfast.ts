// The embedded Holdfast: submits, runs, inspects and controls executions on one store.

import type { ExecutionRecord, Hold, Status } from '../execution/execution.ts';
import type { Explanation } from '../execution/explain.ts';
import type { HistoryEvent } from '../execution/history.ts';
import { type ExecutionId, parseExecutionId } from '../execution/names.ts';
import { Audit, listRefusals, type RefusalListOptions } from '../features/audit/api.ts';
import type { AuditStamp, RefusedWrite } from '../features/audit/model.ts';
import { Awaits } from '../features/awaits/api.ts';
import { Releases } from '../features/releases/api.ts';
import { type AnyJobInput, REPIN_PIPELINE } from '../features/releases/repin-api.ts';
import { Bulk, Repair } from '../features/repair/api.ts';
import { JOB_PIPELINE, type JobOutput } from '../features/repair/jobs-api.ts';
import { Archives } from '../features/retention/api.ts';
import { Schedules } from '../features/schedules/api.ts';
import { submissionFor, type TemplateRef, Templates } from '../features/templates/api.ts';
import type {
  AttachmentSummary,
  AttributeFilter,
  CommandResult,
  CoordinatorStore,
  Outcome,
} from '../store/contract/execution-store.ts';
import { type EngineConfig, type HoldfastOptions, resolveOptions } from './config.ts';
import { explainExecution } from './explaining.ts';
import { SubmitRefused } from './failures.ts';
import type { Pipeline } from './pipeline.ts';
import { requireWorker } from './possible-workers.ts';
import {
  actOf,
  attachmentQueryOf,
  type HistoryPage,
  historyQueryOf,
  listQueryOf,
  type Message,
  type SignalledSubmit,
  signalledSubmit,
  signalOf,
} from './requests.ts';
import { Results, signalFrom, type Waiting } from './results.ts';
import { type SubmitOptions, store } from './submission.ts';
import { attachmentAt } from './values/place.ts';
import { LiveWorker } from './worker/worker.ts';
import {
  type MaintenanceOptions,
  resolveMaintenanceOptions,
  type Worker,
  type WorkerOptions,
} from './worker/worker-options.ts';

export class Holdfast {
  readonly store: CoordinatorStore;
  /** Submissions that are stored under names and versions. */
  readonly templates: Templates;
  /** Submits executions at set times, while a worker runs. */
  readonly schedules: Schedules;
  /** Open questions of executions to people and other systems, and their answers. */
  readonly awaits: Awaits;
  /** Dead letters, re-drives, compensations. */
  readonly repair: Repair;
  /** Acts on many executions at once, as durable jobs. */
  readonly bulk: Bulk;
  /** Builds of pipelines: which there are, and where new executions go. */
  readonly releases: Releases;
  /** The record of acts: actor, act and reason. */
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

  /** By a template, the input is laid over its default parameters, and options over its options. */
  async submit<Input, Output>(
    pipeline: Pipeline<Input, Output> | string | TemplateRef,
    input: Input,
    options?: SubmitOptions,
  ): Promise<Handle<Output>> {
    return this.#submit(pipeline, { input, options });
  }

  /** Runs pipelines in this process until it is stopped. */
  async worker(options: WorkerOptions): Promise<Worker> {
    return this.#addWorker(await LiveWorker.open(this.#config, options));
  }

  /** Runs schedules, deadlines, awaits and bulk jobs, and no pipelines: those run elsewhere. */
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

  /** The output of an execution, when it completes; throws ExecutionFailed when it ends otherwise. */
  async result<Output = unknown>(id: string, options: Waiting = {}): Promise<Output> {
    const known = parseExecutionId(id);
    const signal = signalFrom(options);
    await this.#results.requireKnown(known);
    return this.#results.output<Output>(known, signal);
  }

  /** How it ended, whichever way; waits for that. What it was continued as is another execution. */
  async ended(id: string, options: Waiting = {}): Promise<Outcome> {
    return this.#results.ended(parseExecutionId(id), signalFrom(options));
  }

  /** A value as it is stored: an input, a progress, what a history event of the project has as `out`. */
  async decode(
    payload: string | object,
    options: { readonly project?: string } = {},
  ): Promise<unknown> {
    return this.#config.payloads.decodeGiven(payload, options);
  }

  /** Undefined when it is not known. */
  async read(id: string): Promise<ExecutionRecord | undefined> {
    return this.store.executions.read(parseExecutionId(id));
  }

  /** Why it is not moving, in words, and what can be done; undefined when it is not known. */
  async explain(id: string): Promise<Explanation | undefined> {
    return explainExecution(this.#config, parseExecutionId(id));
  }

  /** `forwarded` when it runs: its owner stops it as soon as it takes notice. */
  async cancel(id: string, acting: Acting = {}): Promise<CommandResult> {
    return this.store.executions.cancel(actOf(this.#config, 'cancel', { id, acting }));
  }

  async pause(id: string, acting: Acting = {}): Promise<CommandResult> {
    return this.store.executions.pause(actOf(this.#config, 'pause', { id, acting }));
  }

  /** Also for one that drift has blocked, once the code is right again. */
  async resume(id: string, acting: Acting = {}): Promise<CommandResult> {
    return this.store.executions.resume(actOf(this.#config, 'resume', { id, acting }));
  }

  /** A message to the execution's code, which gets it by `ctx.receive(name)`; kept until it asks. */
  async signal(id: string, message: Message): Promise<CommandResult> {
    return this.store.executions.signal(await signalOf(this.#config, id, message));
  }

  /**
   * Submits under `key`, and signals the execution that has the key: the new one, or the one that was
   * there, whatever its input. Refused when that one has ended.
   */
  async submitOrSignal<Input, Output>(
    pipeline: Pipeline<Input, Output> | string | TemplateRef,
    input: Input,
    options: SignalledSubmit,
  ): Promise<{ readonly id: ExecutionId; readonly signalled: CommandResult }> {
    // Check the signal first: a submission must not be stored if its signal can never be sent.
    const { submit, signal, acting } = signalledSubmit(this.#config.payloads, options);
    const id = await this.submit(pipeline, input, submit).then(
      (handle) => handle.id,
      (error: unknown) => {
        if (error instanceof SubmitRefused && error.refusal.why === 'key-conflict') {
          return error.refusal.id;
        }
        throw error;
      },
    );
    return { id, signalled: await this.signal(id, { ...signal, ...acting }) };
  }

  /** Newest first. */
  async list(options: ListOptions = {}): Promise<Page<ExecutionRecord>> {
    const query = listQueryOf(options);
    const items = await this.store.executions.list(query);
    const last = items.at(-1);
    const isLast = items.length < query.limit || last === undefined;
    return { items, ...(isLast ? {} : { cursor: last.id }) };
  }

  /** The events of an execution, in order. */
  async history(id: string, page: HistoryPage = {}): Promise<readonly HistoryEvent[]> {
    return this.store.executions.history(historyQueryOf(id, page));
  }

  async attachments(id: string): Promise<readonly AttachmentSummary[]> {
    return this.store.executions.attachments(parseExecutionId(id));
  }

  async attachment(id: string, name: string): Promise<Uint8Array | undefined> {
    const query = attachmentQueryOf(id, name);
    const { executions } = this.store;
    const stored = await executions.attachment(query);
    const execution = stored === undefined ? undefined : await executions.read(query.id);
    if (stored === undefined || execution === undefined) return undefined;
    return this.#config.payloads.unsealAttachment(stored, attachmentAt(execution, name));
  }

  /** Writes that were refused to workers whose claim was over, counted; the last seen first. */
  async refusals(options: RefusalListOptions = {}): Promise<Page<RefusedWrite>> {
    return listRefusals(this.#config, options);
  }

  /** Stops its workers. The store stays open: close it where you opened it. */
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
    args: { readonly input: Input; readonly options: SubmitOptions | undefined },
    { audit }: { readonly audit?: AuditStamp | undefined } = {},
  ): Promise<Handle<Output>> {
    const target = pipeline as Pipeline<Input, unknown> | TemplateRef;
    const submission = await submissionFor(this.#config, target, args);
    if (args.options?.ifNoWorker === 'refuse') await requireWorker(this.#config, submission);
    const request = audit === undefined ? submission : { ...submission, audit };
    const result = await store(this.store, request, args.options?.client);
    if (result.kind === 'refused') throw new SubmitRefused(result);
    const { id, existing } = result;
    return {
      id,
      existing,
      result: async (waiting = {}) => this.#results.output<Output>(id, signalFrom(waiting)),
    };
  }
}

// Arguments and results of Holdfast.

/** An execution that was submitted. */
export interface Handle<Output> {
  readonly id: ExecutionId;
  /** It had been submitted before, with the same key and the same intent. */
  readonly existing: boolean;
  /** Its output, when it completes; throws ExecutionFailed when it ends otherwise. */
  result(options?: Waiting): Promise<Output>;
}

export interface Acting {
  readonly project?: string;
  readonly by?: string;
  readonly reason?: string;
}

export interface ListOptions {
  readonly project?: string;
  readonly status?: Status | readonly Status[];
  readonly pipeline?: string;
  readonly tag?: string;
  readonly attribute?: AttributeFilter;
  /** Those that are held for this reason, whatever else holds them. */
  readonly hold?: Hold;
  /** Goes on after this page. */
  readonly cursor?: string;
  readonly limit?: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** For the next page; absent on the last. */
  readonly cursor?: string;
}
