// Checks the arguments of submissions.

import { IF_KEY_TAKEN, type IfKeyTaken } from '../execution/decide/submit.ts';
import {
  type AttributeChanges,
  type Attributes,
  type ConcurrencyKey,
  LANES,
  type Lane,
  type RateKey,
} from '../execution/execution.ts';
import {
  DEFAULT_PROJECT,
  type ExecutionId,
  type ProjectName,
  parseExecutionId,
  parseProject,
} from '../execution/names.ts';
import { parseReleaseName } from '../execution/route.ts';
import { ACTOR_BYTES_MAX } from '../features/audit/model.ts';
import type { TemplateVersion } from '../features/templates/model.ts';
import { NAME_BYTES_MAX } from '../lease/names.ts';
import type {
  ExecutionCommands,
  Submit,
  TransactionClient,
} from '../store/contract/execution-store.ts';
import { digestOf } from '../support/digest.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  readEntries,
  readList,
  readOptions,
  requireOneOf,
  shown,
  TEN_YEARS_MS,
  unreadable,
  wordsIn,
} from '../support/options.ts';
import { taggedOf } from '../support/value.ts';
import type { EngineConfig, WorkerConfig } from './config.ts';
import { asPipeline, type Pipeline, pipelineOf } from './pipeline.ts';
import { inputOf } from './values/place.ts';
import { validated } from './values/schema.ts';

/** Options of a submission. */
export interface SubmitOptions {
  /**
   * Makes the submission idempotent within the project. The same key and content returns the same
   * execution; the same key with other content is refused. At most 256 bytes.
   */
  readonly key?: string;
  /**
   * With a key that an execution has. The default is that of the pipeline, or `join`.
   *
   * - `join`: as `key` describes.
   * - `refuse`: refused, whatever its content.
   * - `reuse`: like `join` while that execution is open. Once it has ended, the new one takes the
   *   key over.
   * - `replace`: cancels that execution if it is open, and the new one takes the key over.
   */
  readonly ifKeyTaken?: IfKeyTaken;
  /** The project. Default `default`. */
  readonly project?: string;
  /** The priority class. Default `interactive`. */
  readonly lane?: Lane;
  /** Milliseconds before it may start, up to ten years. Default 0. */
  readonly delayMs?: number;
  /**
   * Milliseconds from now until the execution fails if it has not ended. By default there is no
   * deadline.
   */
  readonly deadlineMs?: number;
  /** At most `limit` started and unfinished executions of the project share this `key`. */
  readonly concurrency?: { readonly key: string; readonly limit: number };
  /**
   * At most `limit` executions of the project with this `key` start within `perMs` milliseconds.
   */
  readonly rate?: { readonly key: string; readonly limit: number; readonly perMs: number };
  /** Up to 64 tags to filter lists by. Default none. */
  readonly tags?: readonly string[];
  /** Up to 64 search attributes. Default none. */
  readonly attributes?: Attributes;
  /** The release that it is pinned to. Default: the pipeline's active release, or its canary. */
  readonly release?: string;
  /** If no live worker serves the pipeline and release: `wait` (default) or `refuse`. */
  readonly ifNoWorker?: 'wait' | 'refuse';
  /**
   * Your own connection to the database of the store, with an open transaction: of `pg` on
   * PostgreSQL, of `node:sqlite` on SQLite. The execution exists when that transaction commits.
   */
  readonly client?: TransactionClient;
  /** The submitter, shown to operators. */
  readonly actor?: string;
  /** W3C trace context. Steps and children get it. */
  readonly traceparent?: string;
}

const NO_OPTIONS: SubmitOptions = Object.freeze({});

export type Placing = Omit<
  SubmitOptions,
  'key' | 'ifKeyTaken' | 'project' | 'actor' | 'traceparent' | 'release' | 'ifNoWorker' | 'client'
>;

const PLACING_NAMES: readonly (keyof Placing)[] = wordsIn(
  'lane delayMs deadlineMs concurrency rate tags attributes',
);

export const SUBMIT_NAMES: readonly (keyof SubmitOptions)[] = [
  'key',
  'ifKeyTaken',
  'project',
  ...PLACING_NAMES,
  'release',
  'ifNoWorker',
  'client',
  'actor',
  'traceparent',
];

const TAGS_MAX = 64;
const NO_TAGS: readonly string[] = Object.freeze([]);
const NO_ATTRIBUTES: Attributes = Object.freeze({});

export interface SubmitArguments<Input> {
  readonly input: Input;
  readonly options: SubmitOptions | undefined;
  /** The template of the submission; its parameters and options are already merged in. */
  readonly template?: TemplateVersion;
  /** The owner to which a codec binds the input. Default: the execution. */
  readonly owner?: string;
}

/**
 * Nothing starts after its deadline. A worker claims the execution at the deadline and ends it
 * (X-20).
 */
export function delayOf({
  delayMs = 0,
  deadlineMs = Infinity,
}: Pick<SubmitOptions, 'delayMs' | 'deadlineMs'>): number {
  return Math.min(delayMs, deadlineMs);
}

/**
 * Mutable, because a spread for each optional part would cost more than the rest of a submission.
 */
type Making = { -readonly [Part in keyof Submit]: Submit[Part] };

export async function submissionOf<Input>(
  config: WorkerConfig,
  pipeline: Pipeline<Input, unknown> | string,
  args: SubmitArguments<Input>,
): Promise<Submit> {
  const { template } = args;
  const options = checkedOptions(args.options);
  const { name, input: schema } = pipelineOf('submit', pipeline);
  // Store the input as given. The worker validates it again, and a schema may change values.
  const { input } = args;
  if (schema !== undefined) {
    const checked = validated(`The input of "${name}"`, schema, input);
    if (checked instanceof Promise) await checked;
  }
  const project = projectOf(options.project);
  const id = config.ids.next();
  const place = inputOf(args.owner ?? id);
  const encoded = config.payloads.of(project).encode(`The input of "${name}"`, input, place);
  const payload = encoded instanceof Promise ? await encoded : encoded;
  const submit: Making = {
    id,
    project,
    pipeline: name,
    lane: options.lane ?? 'interactive',
    input: payload,
    lineage: id,
    tags: options.tags ?? NO_TAGS,
    attributes: options.attributes ?? NO_ATTRIBUTES,
  };
  if (template !== undefined) submit.template = template;
  if (options === NO_OPTIONS) return submit;
  if (options.key !== undefined) {
    submit.key = options.key;
    submit.intent = intentOf(options, { name, input, template });
    const { ifKeyTaken = (asPipeline(pipeline) ?? config.pipelines.get(name))?.ifKeyTaken } =
      options;
    if (ifKeyTaken !== undefined) submit.ifKeyTaken = ifKeyTaken;
  }
  if (options.delayMs !== undefined) submit.delayMs = delayOf(options);
  if (options.deadlineMs !== undefined) submit.deadlineMs = options.deadlineMs;
  if (options.concurrency !== undefined) submit.concurrency = options.concurrency;
  if (options.rate !== undefined) submit.rate = options.rate;
  if (options.release !== undefined) submit.release = options.release;
  if (options.actor !== undefined) submit.submittedBy = options.actor;
  if (options.traceparent !== undefined) submit.traceparent = options.traceparent;
  return submit;
}

/** The verbs of the store, in the caller's own transaction if there is one. */
export function verbsOn(config: EngineConfig, client: TransactionClient | undefined): Verbs {
  const { kind, executions } = config.store;
  if (client === undefined) return { config, executions };
  if (executions.within === undefined) {
    throw new InvalidInput(
      `client needs a store on PostgreSQL or in a SQLite file, and this one is ${kind}. Nothing was written. Submit with a key after your own commit.`,
    );
  }
  const within = executions.within(client);
  return { config: { ...config, payloads: config.payloads.on(within) }, executions: within };
}

interface Verbs {
  /** Puts large values where the verbs write. */
  readonly config: EngineConfig;
  readonly executions: Pick<ExecutionCommands, 'submit' | 'signal'>;
}

/**
 * The intent is the caller's request before any codec, because encryption never yields the same
 * bytes twice.
 */
function intentOf(
  options: SubmitOptions,
  args: Pick<SubmitArguments<unknown>, 'input'> & {
    readonly name: string;
    readonly template: TemplateVersion | undefined;
  },
): string {
  const { key: _key, actor: _actor, client: _client, ...others } = options;
  const { traceparent: _traceparent, ifNoWorker: _if, ifKeyTaken: _taken, ...intent } = others;
  const { name, input, template } = args;
  return canonicalDigest([name, input, intent, ...(template === undefined ? [] : [template])]);
}

/** Equal requests have equal digests. */
export function canonicalDigest(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(canonical(value));
  } catch (cause) {
    // A getter succeeded before and throws now.
    throw unreadable('The input', cause);
  }
  return digestOf(Buffer.from(text));
}

/** Independent of the order of properties; ignores undefined ones. A hole in an array is an item. */
function canonical(value: unknown): unknown {
  if (value === undefined) return ['nothing'];
  if (Array.isArray(value)) return ['array', ...Array.from(value, canonical)];
  if (typeof value === 'bigint' || isOfClass(value)) return ['tagged', canonical(taggedOf(value))];
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return ['object', ...sorted.map(([name, each]) => [name, canonical(each)])];
}

/** True if the store keeps the value with a tag. */
function isOfClass(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype !== Object.prototype && prototype !== null;
}

export function projectOf(project: string | undefined): ProjectName {
  return project === undefined ? DEFAULT_PROJECT : parseProject(project);
}

export function cursorOf(cursor: unknown): ExecutionId {
  try {
    return parseExecutionId(cursor);
  } catch {
    throw new InvalidInput(`cursor must be the cursor of a page; got ${shown(cursor)}.`);
  }
}

/** The caller's transaction, which is needed before the other options are checked. */
export function clientOf(options: SubmitOptions | undefined): TransactionClient | undefined {
  try {
    return options?.client;
  } catch (cause) {
    throw unreadable('submit: client', cause);
  }
}

/** Returns a checked copy. */
export function checkedOptions(given: SubmitOptions | undefined): SubmitOptions {
  if (given === undefined) return NO_OPTIONS;
  const options = readOptions('submit', given, SUBMIT_NAMES);
  const { key, ifKeyTaken, actor, project, traceparent, release, ...rest } = options;
  const { ifNoWorker, client: _client, ...placing } = rest;
  if (ifKeyTaken !== undefined) requireOneOf('ifKeyTaken', ifKeyTaken, IF_KEY_TAKEN);
  if (release !== undefined) parseReleaseName(release);
  if (ifNoWorker !== undefined && ifNoWorker !== 'wait' && ifNoWorker !== 'refuse') {
    throw new InvalidInput(`ifNoWorker must be "wait" or "refuse"; got ${shown(ifNoWorker)}.`);
  }
  if (key !== undefined) boundedText('key', key, NAME_BYTES_MAX);
  if (actor !== undefined) boundedText('actor', actor, ACTOR_BYTES_MAX);
  if (project !== undefined) parseProject(project);
  if (traceparent !== undefined) boundedText('traceparent', traceparent, NAME_BYTES_MAX);
  return { ...options, ...checkedPlacing('submit', placing) };
}

/** Options of both submit and spawn: lane, times, limits, tags and attributes. */
export function checkedPlacing(what: string, given: Placing): Placing {
  const options = readOptions(what, given, PLACING_NAMES);
  const { lane, delayMs, deadlineMs, concurrency, rate, tags, attributes } = options;
  if (lane !== undefined && !LANES.includes(lane)) {
    throw new InvalidInput(`lane must be one of ${LANES.join(', ')}; got ${shown(lane)}.`);
  }
  if (delayMs !== undefined) integerOption('delayMs', delayMs, { min: 0, max: TEN_YEARS_MS });
  if (deadlineMs !== undefined)
    integerOption('deadlineMs', deadlineMs, { min: 1, max: TEN_YEARS_MS });
  return {
    ...options,
    ...(concurrency === undefined ? {} : { concurrency: checkedConcurrency(concurrency) }),
    ...(rate === undefined ? {} : { rate: checkedRate(rate) }),
    ...(tags === undefined ? {} : { tags: checkedTags(tags) }),
    ...(attributes === undefined ? {} : { attributes: checkedAttributes(attributes) }),
  };
}

export function checkedConcurrency(given: ConcurrencyKey, max = 1_000_000): ConcurrencyKey {
  const { key, limit } = readOptions('concurrency', given, ['key', 'limit']);
  return {
    key: boundedText('concurrency.key', key, NAME_BYTES_MAX),
    limit: integerOption('concurrency.limit', limit, { min: 1, max }),
  };
}

function checkedRate(given: RateKey): RateKey {
  const { key, limit, perMs } = readOptions('rate', given, ['key', 'limit', 'perMs']);
  return {
    key: boundedText('rate.key', key, NAME_BYTES_MAX),
    limit: integerOption('rate.limit', limit, { min: 1, max: 1_000_000 }),
    perMs: integerOption('rate.perMs', perMs, { min: 1, max: 86_400_000 }),
  };
}

function checkedTags(given: readonly string[]): readonly string[] {
  const tags = readList('tags', given);
  if (tags.length > TAGS_MAX) {
    throw new InvalidInput(`tags must have at most ${TAGS_MAX} entries; got ${tags.length}.`);
  }
  return tags.map((tag) => boundedText('Each of tags', tag, NAME_BYTES_MAX));
}

function checkedAttributes(given: Attributes): Attributes {
  const checked = readEntries('attributes', given).map(checkedAttribute);
  requireFewAttributes(checked.length);
  return Object.fromEntries(checked);
}

function checkedAttribute([name, value]: readonly [string, unknown]): [
  string,
  string | number | boolean,
] {
  boundedText('The name of an attribute', name, NAME_BYTES_MAX);
  if (!isLabel(value)) {
    throw new InvalidInput(
      `attributes.${name} must be a boolean, a finite number or text of at most ${NAME_BYTES_MAX} bytes; got ${shown(value)}.`,
    );
  }
  // JSON has no -0, so an exported store would come back with 0.
  return [name, Object.is(value, -0) ? 0 : value];
}

function requireFewAttributes(count: number): void {
  if (count > TAGS_MAX) {
    throw new InvalidInput(`attributes must have at most ${TAGS_MAX} entries; got ${count}.`);
  }
}

export interface AttributesChanged {
  /** Null removes an attribute. */
  readonly set: AttributeChanges;
  /** All attributes after the change. */
  readonly after: Attributes;
}

export function changedAttributes(before: Attributes, given: AttributeChanges): AttributesChanged {
  const changes = readEntries('attributes', given).map((entry): [string, unknown] =>
    entry[1] === null || entry[1] === undefined ? [entry[0], null] : checkedAttribute(entry),
  );
  const set = Object.fromEntries(changes) as AttributeChanges;
  const after = withChanges(before, set);
  requireFewAttributes(Object.keys(after).length);
  return { set, after };
}

export function withChanges(before: Attributes, set: AttributeChanges): Attributes {
  const merged = Object.entries({ ...before, ...set });
  return Object.fromEntries(
    merged.filter(([, value]) => value !== null && value !== undefined),
  ) as Attributes;
}

/** True if it can be the value of an attribute. */
export function isLabel(value: unknown): value is string | number | boolean {
  if (typeof value === 'string') return isFitText(value);
  return typeof value === 'boolean' || Number.isFinite(value);
}

function isFitText(value: string): boolean {
  const isPlain = !value.includes('\0') && value.isWellFormed();
  return isPlain && Buffer.byteLength(value) <= NAME_BYTES_MAX;
}
