// What a caller asks for, checked and turned into a submission.

import { type Attributes, LANES, type Lane } from '../execution/execution.ts';
import {
  DEFAULT_PROJECT,
  type ProjectName,
  parsePipelineName,
  parseProject,
} from '../execution/names.ts';
import type { TemplateVersion } from '../execution/template.ts';
import type { Submit } from '../store/contract/execution-store.ts';
import { digestOf } from '../support/digest.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, rejectUnknownOptions, shown, wholeNumber } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import type { Pipeline } from './pipeline.ts';
import { validated } from './schema.ts';

export interface SubmitOptions {
  /** Same key and same intent: the same execution. Same key, another input or other options: refused. */
  readonly key?: string;
  readonly project?: string;
  readonly lane?: Lane;
  /** Not before this long from now. */
  readonly delayMs?: number;
  /** The overall deadline, from now. */
  readonly deadlineMs?: number;
  /** At most `limit` executions of this key are open and started at once. */
  readonly concurrency?: { readonly key: string; readonly limit: number };
  /** At most `limit` executions of this key start in any `perMs`. */
  readonly rate?: { readonly key: string; readonly limit: number; readonly perMs: number };
  readonly tags?: readonly string[];
  readonly attributes?: Attributes;
  /** Who submits, for people to see. */
  readonly by?: string;
  readonly traceparent?: string;
}

type Placing = Omit<SubmitOptions, 'key' | 'project' | 'by' | 'traceparent'>;

const PLACING_NAMES: readonly (keyof Placing)[] = [
  'lane',
  'delayMs',
  'deadlineMs',
  'concurrency',
  'rate',
  'tags',
  'attributes',
];

const NAMES: readonly (keyof SubmitOptions)[] = [
  'key',
  'project',
  ...PLACING_NAMES,
  'by',
  'traceparent',
];

const TIME_MS_MAX = 10 * 366 * 86_400_000;
const NAME_BYTES_MAX = 256;
const TAGS_MAX = 64;
const NO_TAGS: readonly string[] = Object.freeze([]);
const NO_ATTRIBUTES: Attributes = Object.freeze({});

export interface Asked<Input> {
  readonly input: Input;
  readonly options: SubmitOptions;
  /** It came by this template, merged into the rest already. */
  readonly template?: TemplateVersion;
}

export async function submissionOf<Input>(
  config: EngineConfig,
  pipeline: Pipeline<Input, unknown> | string,
  asked: Asked<Input>,
): Promise<Submit> {
  const { options, template } = asked;
  checkOptions(options);
  const name = parsePipelineName(typeof pipeline === 'string' ? pipeline : pipeline.name);
  // Stored as it was given: whoever runs it checks it again, and a schema may change what it lets pass.
  const { input } = asked;
  if (typeof pipeline !== 'string' && pipeline.input !== undefined) {
    const checked = validated(`The input of "${name}"`, pipeline.input, input);
    if (checked instanceof Promise) await checked;
  }
  const encoded = config.payloads.encode(`The input of "${name}"`, input);
  const payload = encoded instanceof Promise ? await encoded : encoded;
  const id = config.ids.next();
  return {
    id,
    project: projectOf(options.project),
    pipeline: name,
    lane: options.lane ?? 'interactive',
    input: payload,
    lineage: id,
    tags: options.tags ?? NO_TAGS,
    attributes: options.attributes ?? NO_ATTRIBUTES,
    ...keyOf(options, { name, input, template }),
    ...(options.delayMs === undefined ? {} : { delayMs: options.delayMs }),
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    ...(options.rate === undefined ? {} : { rate: options.rate }),
    ...(options.by === undefined ? {} : { submittedBy: options.by }),
    ...(options.traceparent === undefined ? {} : { traceparent: options.traceparent }),
    ...(template === undefined ? {} : { template }),
  };
}

/** The intent is what the caller asked for, before any codec: encryption never gives the same bytes twice. */
function keyOf(
  { key, ...rest }: SubmitOptions,
  asked: Pick<Asked<unknown>, 'input'> & {
    readonly name: string;
    readonly template: TemplateVersion | undefined;
  },
): Pick<Submit, 'key' | 'intent'> {
  // Without a key only a repeat of this very call has this id, and it has the same intent.
  if (key === undefined) return {};
  const { by: _by, traceparent: _traceparent, ...intent } = rest;
  const { name, input, template } = asked;
  const parts = [name, input, intent, ...(template === undefined ? [] : [template])];
  return { key, intent: canonicalDigest(parts) };
}

/** The same for what a caller would call the same. */
export function canonicalDigest(value: unknown): string {
  return digestOf(Buffer.from(JSON.stringify(canonical(value))));
}

/** The same whatever the order in which properties were written; absent ones do not count. */
function canonical(value: unknown): unknown {
  if (value === undefined) return ['nothing'];
  if (Array.isArray(value)) return ['array', ...value.map(canonical)];
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return ['object', ...sorted.map(([name, each]) => [name, canonical(each)])];
}

export function projectOf(project: string | undefined): ProjectName {
  return project === undefined ? DEFAULT_PROJECT : parseProject(project);
}

function checkOptions(options: SubmitOptions): void {
  const { key, by, project: _project, traceparent, ...placing } = options;
  rejectUnknownOptions('submit', options, NAMES);
  if (key !== undefined) boundedText('key', key, NAME_BYTES_MAX);
  if (by !== undefined) boundedText('by', by, NAME_BYTES_MAX);
  if (traceparent !== undefined) boundedText('traceparent', traceparent, NAME_BYTES_MAX);
  checkPlacing('submit', placing);
}

/** What submit and spawn have in common: where in the queue, under which limits, how to be found. */
export function checkPlacing(what: string, options: Placing): void {
  rejectUnknownOptions(what, options, PLACING_NAMES);
  const { lane, delayMs, deadlineMs, concurrency, rate, tags, attributes } = options;
  if (lane !== undefined && !LANES.includes(lane)) {
    throw new InvalidInput(`lane must be one of ${LANES.join(', ')}; got ${shown(lane)}.`);
  }
  if (delayMs !== undefined) wholeNumber('delayMs', delayMs, { min: 0, max: TIME_MS_MAX });
  if (deadlineMs !== undefined) wholeNumber('deadlineMs', deadlineMs, { min: 1, max: TIME_MS_MAX });
  if (concurrency !== undefined) {
    boundedText('concurrency.key', concurrency.key, NAME_BYTES_MAX);
    wholeNumber('concurrency.limit', concurrency.limit, { min: 1, max: 1_000_000 });
  }
  if (rate !== undefined) {
    boundedText('rate.key', rate.key, NAME_BYTES_MAX);
    wholeNumber('rate.limit', rate.limit, { min: 1, max: 1_000_000 });
    wholeNumber('rate.perMs', rate.perMs, { min: 1, max: 86_400_000 });
  }
  if (tags !== undefined) checkTags(tags);
  if (attributes !== undefined) checkAttributes(attributes);
}

function checkTags(tags: readonly string[]): void {
  if (!Array.isArray(tags) || tags.length > TAGS_MAX) {
    throw new InvalidInput(
      `tags must be an array of at most ${TAGS_MAX} texts; got ${shown(tags)}.`,
    );
  }
  for (const tag of tags) boundedText('A tag', tag, NAME_BYTES_MAX);
}

function checkAttributes(attributes: Attributes): void {
  const entries = Object.entries(attributes);
  if (entries.length > TAGS_MAX) {
    throw new InvalidInput(
      `attributes may have ${TAGS_MAX} entries at most; got ${entries.length}.`,
    );
  }
  for (const [name, value] of entries) {
    boundedText('The name of an attribute', name, NAME_BYTES_MAX);
    const isFit =
      typeof value === 'boolean' ||
      (typeof value === 'number' && Number.isFinite(value)) ||
      (typeof value === 'string' && isFitText(value));
    if (!isFit) {
      throw new InvalidInput(
        `attributes.${name} must be a boolean, a finite number or text of at most ${NAME_BYTES_MAX} bytes; got ${shown(value)}.`,
      );
    }
  }
}

function isFitText(value: string): boolean {
  const isPlain = !value.includes('\0') && value.isWellFormed();
  return isPlain && Buffer.byteLength(value) <= NAME_BYTES_MAX;
}
