// Templates: what to submit, kept in the store under an id and a version that never changes.

import { type ProjectName, parsePipelineName } from '../execution/names.ts';
import type { Template, TemplateOptions, TemplateVersion } from '../execution/template.ts';
import type { Submit } from '../store/contract/execution-store.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, rejectUnknownOptions, shown, wholeNumber } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { TemplateRefused } from './failures.ts';
import type { Page } from './holdfast-types.ts';
import type { Pipeline } from './pipeline.ts';
import {
  type Asked,
  canonicalDigest,
  checkPlacing,
  projectOf,
  submissionOf,
} from './submission.ts';

/** What to submit instead of a pipeline: a template, in a version or in the newest. */
export interface TemplateRef {
  readonly template: string;
  readonly version?: number;
}

export interface PutTemplateOptions extends TemplateOptions {
  readonly id: string;
  /** From 1 on. Other content under a version that exists is refused. */
  readonly version: number;
  readonly pipeline: string | { readonly name: string };
  /** Parameters that whoever submits does not give. */
  readonly defaults?: unknown;
  readonly project?: string;
  /** Who puts it there, for people to see. */
  readonly by?: string;
}

/** A template with its default parameters as they were given. */
export interface TemplateInfo extends Omit<Template, 'defaults' | 'digest'> {
  readonly defaults: unknown;
}

export interface TemplateListOptions {
  readonly project?: string;
  /** Only the versions of this one. */
  readonly id?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

const OPTION_NAMES = ['lane', 'tags', 'deadlineMs', 'concurrency', 'rate'] as const;
const ID_BYTES_MAX = 256;
const VERSION_MAX = 1_000_000_000;

export class Templates {
  readonly #config: EngineConfig;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /** Once for each version: the same again is fine, another content is refused. */
  async put(options: PutTemplateOptions): Promise<{ readonly existing: boolean }> {
    rejectUnknownOptions('templates.put', options, [
      ...['id', 'version', 'pipeline', 'defaults', 'project', 'by'],
      ...OPTION_NAMES,
    ]);
    const { id, version, defaults, by } = options;
    const { pipeline: given } = options;
    const placing = optionsOf(options);
    checkPlacing('templates.put', placing);
    const pipeline = parsePipelineName(typeof given === 'string' ? given : given?.name);
    const answer = await this.#config.store.executions.putTemplate({
      project: projectOf(options.project),
      ...checkedRef({ template: id, version }),
      version: checkedVersion(version),
      pipeline,
      defaults: await this.#config.payloads.encode(`The defaults of "${id}"`, defaults),
      digest: canonicalDigest([pipeline, defaults, placing]),
      ...placing,
      ...(by === undefined ? {} : { by: boundedText('by', by, ID_BYTES_MAX) }),
    });
    if (answer.kind === 'refused') throw new TemplateRefused(answer);
    return { existing: answer.existing };
  }

  /** The version, or the newest; undefined when there is none. */
  async get(
    id: string,
    options: { readonly version?: number; readonly project?: string } = {},
  ): Promise<TemplateInfo | undefined> {
    rejectUnknownOptions('templates.get', options, ['version', 'project']);
    const { version } = options;
    const ref = { template: id, ...(version === undefined ? {} : { version }) };
    const template = await find(this.#config, projectOf(options.project), ref);
    return template === undefined ? undefined : this.#info(template);
  }

  /** By id; the newest version of each first. */
  async list(options: TemplateListOptions = {}): Promise<Page<TemplateInfo>> {
    rejectUnknownOptions('templates.list', options, ['project', 'id', 'cursor', 'limit']);
    const { id, cursor } = options;
    const limit = wholeNumber('limit', options.limit ?? 100, { min: 1, max: 10_000 });
    const found = await this.#config.store.executions.templates({
      project: projectOf(options.project),
      limit,
      ...(id === undefined ? {} : { id: checkedRef({ template: id }).id }),
      ...(cursor === undefined ? {} : { after: versionOf(cursor) }),
    });
    const items = await Promise.all(found.map((each) => this.#info(each)));
    const last = items.at(-1);
    const isLast = last === undefined || items.length < limit;
    return { items, ...(isLast ? {} : { cursor: `${last.version}:${last.id}` }) };
  }

  async #info(template: Template): Promise<TemplateInfo> {
    const { digest: _, ...rest } = template;
    return { ...rest, defaults: await this.#config.payloads.decode(template.defaults) };
  }
}

/** What a pipeline or a template makes of what was asked for. */
export function submissionFor<Input>(
  config: EngineConfig,
  target: Pipeline<Input, unknown> | string | TemplateRef,
  asked: Asked<Input>,
): Promise<Submit> {
  return isTemplateRef(target)
    ? submissionByTemplate(config, target, asked)
    : submissionOf(config, target, asked);
}

function isTemplateRef(target: unknown): target is TemplateRef {
  return typeof target === 'object' && target !== null && 'template' in target;
}

/** parameters over the defaults, options over those of the template. */
async function submissionByTemplate<Input>(
  config: EngineConfig,
  ref: TemplateRef,
  { input, options }: Asked<Input>,
): Promise<Submit> {
  const template = await requireTemplate(config, projectOf(options.project), ref);
  const { id, version, pipeline } = template;
  const defaults = await config.payloads.decode(template.defaults);
  return submissionOf(config, pipeline as string, {
    input: mergedParameters(id, defaults, input),
    options: { ...optionsOf(template), ...present(options) },
    template: { id, version },
  });
}

export async function requireTemplate(
  config: EngineConfig,
  project: ProjectName,
  ref: TemplateRef,
): Promise<Template> {
  const template = await find(config, project, ref);
  if (template !== undefined) return template;
  const { template: id, version } = ref;
  const which = { id, ...(version === undefined ? {} : { version }) };
  throw new TemplateRefused({ why: 'template-unknown', ...which });
}

function find(
  config: EngineConfig,
  project: ProjectName,
  ref: TemplateRef,
): Promise<Template | undefined> {
  return config.store.executions.template({ project, ...checkedRef(ref) });
}

function checkedRef(ref: TemplateRef): Partial<TemplateVersion> & { readonly id: string } {
  rejectUnknownOptions('template', ref, ['template', 'version']);
  const id = boundedText('The id of a template', ref.template, ID_BYTES_MAX);
  return { id, ...(ref.version === undefined ? {} : { version: checkedVersion(ref.version) }) };
}

function checkedVersion(version: unknown): number {
  return wholeNumber('The version of a template', version, { min: 1, max: VERSION_MAX });
}

/** A cursor, as `list` made it. */
function versionOf(cursor: string): TemplateVersion {
  const parts = /^(\d+):(.+)$/s.exec(cursor);
  if (parts === null) {
    throw new InvalidInput(`cursor is what a list answered with; got ${shown(cursor)}.`);
  }
  return { version: Number(parts[1]), id: parts[2] ?? '' };
}

function optionsOf(options: TemplateOptions): TemplateOptions {
  const { lane, tags, deadlineMs, concurrency, rate } = options;
  return present({ lane, tags, deadlineMs, concurrency, rate }) as TemplateOptions;
}

/** What is undefined was not given. */
export function present<Given extends object>(given: Given): Partial<Given> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Given>;
}

function mergedParameters(id: string, defaults: unknown, given: unknown): unknown {
  if (given === undefined) return defaults;
  if (defaults === undefined) return given;
  if (isObject(defaults) && isObject(given)) return { ...defaults, ...present(given) };
  throw new InvalidInput(
    `Template "${id}" has default parameters, and only an object can be laid over an object; got ${shown(given)}.`,
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
