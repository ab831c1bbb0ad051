// Templates: submissions that the store keeps under an id and a version that never changes.

import type { EngineConfig } from '../../engine/config.ts';
import { TemplateRefused } from '../../engine/failures.ts';
import type { Page } from '../../engine/holdfast.ts';
import type { Pipeline } from '../../engine/pipeline.ts';
import {
  canonicalDigest,
  checkedOptions,
  checkedPlacing,
  projectOf,
  type SubmitArguments,
  submissionOf,
} from '../../engine/submission.ts';
import { expected, templatePlace } from '../../engine/values/place.ts';
import { type PipelineName, type ProjectName, parsePipelineName } from '../../execution/names.ts';
import type { Submit } from '../../store/contract/execution-store.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  present,
  readEntries,
  readOptions,
  shown,
  unreadable,
  wordsIn,
} from '../../support/options.ts';
import { cursorPage, openedWithin } from '../../support/page-size.ts';
import { stampOf } from '../audit/api.ts';
import { ACTOR_BYTES_MAX } from '../audit/model.ts';
import type { Template, TemplateOptions, TemplateVersion } from './model.ts';

/** A template as the target of a submission. */
export interface TemplateRef {
  /** The id of the template. */
  readonly template: string;
  /** The version. Default: the newest. */
  readonly version?: number;
}

/** A version of a template. */
export interface PutTemplateOptions extends TemplateOptions {
  /** The id, at most 256 bytes. */
  readonly id: string;
  /** The version, from 1. Other content under an existing version is refused. */
  readonly version: number;
  /** The pipeline, or its `name`. */
  readonly pipeline: string | { readonly name: string };
  /** Default parameters. The input of a submission is merged over them. */
  readonly defaults?: unknown;
  /** The project. Default `default`. */
  readonly project?: string;
  /** The actor. */
  readonly actor?: string;
  /** Why, for the audit. */
  readonly reason?: string;
}

/** A version of a template, with its default parameters decoded. */
export interface TemplateInfo extends Omit<Template, 'defaults' | 'digest'> {
  /** The default parameters. */
  readonly defaults: unknown;
}

/** Filter and page of a list of templates. */
export interface TemplateListOptions {
  /** The project. Default `default`. */
  readonly project?: string;
  /** Only versions of this template. */
  readonly id?: string;
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** Templates per page, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

const NAMES: readonly (keyof PutTemplateOptions)[] = wordsIn(
  'id version pipeline defaults project actor reason lane tags deadlineMs concurrency rate',
);
const LIST_NAMES: readonly (keyof TemplateListOptions)[] = ['project', 'id', 'cursor', 'limit'];
const ID_BYTES_MAX = 256;
const VERSION_MAX = 1_000_000_000;

/**
 * Stored submissions. Reach it as `holdfast.templates`.
 *
 * @example
 * await holdfast.templates.put({ id: 'welcome', version: 1, pipeline: 'send-mail', defaults: { lang: 'en' } });
 * await holdfast.submit({ template: 'welcome' }, { to: 'ada@example.org' });
 */
export class Templates {
  readonly #config: EngineConfig;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /**
   * Stores a version of a template; `existing` is true if it was there. Throws `TemplateRefused` if
   * the version has other content.
   */
  async put(options: PutTemplateOptions): Promise<{ readonly existing: boolean }> {
    const read = readOptions('templates.put', options, NAMES);
    const { id, version, defaults, actor, ...given } = read;
    const ref = { id: checkedId(id), version: checkedVersion(version) };
    const placing = checkedPlacing('templates.put', optionsOf(given));
    const pipeline = nameOf(given.pipeline);
    const project = projectOf(given.project);
    const { payloads } = this.#config;
    const result = await this.#config.store.executions.putTemplate({
      project,
      ...ref,
      pipeline,
      ...(actor === undefined ? {} : { actor: boundedText('actor', actor, ACTOR_BYTES_MAX) }),
      defaults: await payloads
        .of(project)
        .encode(`The defaults of "${ref.id}"`, defaults, templatePlace(ref)),
      digest: canonicalDigest([pipeline, defaults, placing]),
      ...placing,
      audit: stampOf(this.#config, 'put-template', read),
    });
    if (result.kind === 'refused') throw new TemplateRefused(result);
    return { existing: result.existing };
  }

  /**
   * Returns a template, or undefined if there is none. `version` defaults to the newest, `project`
   * to `default`.
   */
  async get(
    id: string,
    options: { readonly version?: number; readonly project?: string } = {},
  ): Promise<TemplateInfo | undefined> {
    const { version, project } = readOptions('templates.get', options, ['version', 'project']);
    const query = {
      project: projectOf(project),
      ...checkedRef(present({ template: id, version })),
    };
    const template = await this.#config.store.executions.template(query);
    return template === undefined ? undefined : this.#info(template);
  }

  /** Returns a page of templates by id, the newest version of each first. */
  async list(options: TemplateListOptions = {}): Promise<Page<TemplateInfo>> {
    const { id, cursor, project, limit = 100 } = readOptions('templates.list', options, LIST_NAMES);
    integerOption('limit', limit, { min: 1, max: 10_000 });
    const found = await this.#config.store.executions.templates({
      project: projectOf(project),
      limit,
      ...(id === undefined ? {} : { id: checkedId(id) }),
      ...(cursor === undefined ? {} : { after: versionOf(cursor) }),
    });
    const { items, isCut } = await openedWithin(found, (each) => this.#info(each));
    return cursorPage(items, { limit, isCut }, ({ version, id: of }) => `${version}:${of}`);
  }

  async #info(template: Template): Promise<TemplateInfo> {
    const { digest: _, ...rest } = template;
    const payloads = this.#config.payloads.of(template.project);
    return {
      ...rest,
      defaults: await payloads.decode(template.defaults, expected(templatePlace(template))),
    };
  }
}

/** Builds the submission from a pipeline or a template. */
export function submissionFor<Input>(
  config: EngineConfig,
  target: Pipeline<Input, unknown> | string | TemplateRef,
  args: SubmitArguments<Input>,
): Promise<Submit> {
  return isTemplateRef(target)
    ? submissionByTemplate(config, target, args)
    : submissionOf(config, target, args);
}

export function isTemplateRef(target: unknown): target is TemplateRef {
  try {
    return typeof target === 'object' && target !== null && 'template' in target;
  } catch {
    // It is not a pipeline either, and the caller learns that.
    return false;
  }
}

/** Parameters override the template's defaults, and options override its options. */
async function submissionByTemplate<Input>(
  config: EngineConfig,
  ref: TemplateRef,
  { input, options: given, owner }: SubmitArguments<Input>,
): Promise<Submit> {
  const options = checkedOptions(given);
  const templated = await templatedBy(config, projectOf(options.project), ref);
  return submissionOf(config, templated.pipeline as string, {
    input: templated.inputOf(input),
    options: { ...templated.options, ...options },
    template: templated.template,
    ...(owner === undefined ? {} : { owner }),
  });
}

/** A template, ready to build inputs. */
interface Templated {
  readonly template: TemplateVersion;
  readonly pipeline: PipelineName;
  readonly options: TemplateOptions;
  inputOf(given: unknown): unknown;
}

export async function templatedBy(
  config: EngineConfig,
  project: ProjectName,
  ref: TemplateRef,
): Promise<Templated> {
  const template = await requireTemplate(config, project, ref);
  const { id, version, pipeline } = template;
  const defaults = await config.payloads
    .of(project)
    .decode(template.defaults, expected(templatePlace(template)));
  return {
    template: { id, version },
    pipeline,
    options: optionsOf(template),
    inputOf: (given) => mergedParameters(id, defaults, given),
  };
}

async function requireTemplate(
  config: EngineConfig,
  project: ProjectName,
  ref: TemplateRef,
): Promise<Template> {
  const which = checkedRef(ref);
  const template = await config.store.executions.template({ project, ...which });
  if (template !== undefined) return template;
  throw new TemplateRefused({ why: 'template-unknown', ...which });
}

export function checkedRef(given: TemplateRef): Partial<TemplateVersion> & { readonly id: string } {
  const { template, version } = readOptions('template', given, ['template', 'version']);
  const id = checkedId(template);
  return { id, ...(version === undefined ? {} : { version: checkedVersion(version) }) };
}

function checkedId(id: unknown): string {
  return boundedText('The id of a template', id, ID_BYTES_MAX);
}

function checkedVersion(version: unknown): number {
  return integerOption('The version of a template', version, { min: 1, max: VERSION_MAX });
}

/** A name, or the name of a pipeline. */
function nameOf(given: PutTemplateOptions['pipeline']): PipelineName {
  if (typeof given === 'string') return parsePipelineName(given);
  let name: unknown;
  try {
    if (typeof given === 'object') name = given?.name;
  } catch (cause) {
    throw unreadable('templates.put: pipeline', cause);
  }
  return parsePipelineName(name);
}

/** Parses a cursor of `list`. */
function versionOf(cursor: unknown): TemplateVersion {
  const parts = typeof cursor === 'string' ? /^(\d{1,10}):(.+)$/s.exec(cursor) : null;
  if (parts === null) {
    throw new InvalidInput(`cursor must be the cursor of a page; got ${shown(cursor)}.`);
  }
  return { version: checkedVersion(Number(parts[1])), id: checkedId(parts[2]) };
}

function optionsOf(options: TemplateOptions): TemplateOptions {
  const { lane, tags, deadlineMs, concurrency, rate } = options;
  return present({ lane, tags, deadlineMs, concurrency, rate });
}

function mergedParameters(id: string, defaults: unknown, given: unknown): unknown {
  if (given === undefined) return defaults;
  if (defaults === undefined) return given;
  if (typeof defaults !== 'object' || defaults === null || Array.isArray(defaults)) {
    throw new InvalidInput(
      `Template "${id}" has default parameters that are not an object, so parameters cannot be merged into them; got ${shown(given)}. Submit without parameters.`,
    );
  }
  const parameters = readEntries(`The parameters of template "${id}"`, given);
  return { ...defaults, ...present(Object.fromEntries(parameters)) };
}
