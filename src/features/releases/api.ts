// Releases, as people deploy them: registered, looked through before they are activated, given a share, promoted,
// rolled back, drained and retired.

import type { EngineConfig } from '../../engine/config.ts';
import type { Acting, Page } from '../../engine/holdfast.ts';
import { asPipeline, type Pipelines } from '../../engine/pipeline.ts';
import { workersOf } from '../../engine/possible-workers.ts';
import { projectOf } from '../../engine/submission.ts';
import { type PipelineName, parsePipelineName, parseProject } from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import { boundedText, optionalBooleans, readOptions, wholeNumber } from '../../support/options.ts';
import { ACTING, checkedActing } from '../audit/api.ts';
import { type Adopted, type AdoptOptions, adopt } from './adopting-api.ts';
import { contractVersion, parseContract } from './contract-model.ts';
import { contractOf } from './contract-of-api.ts';
import {
  type Activation,
  type Line,
  type LineAct,
  type Release,
  type ReleaseState,
  stateOf,
} from './model.ts';
import { type MoveOptions, move } from './moving-api.ts';
import type {
  ExecutionMoved,
  LineChanged,
  LineOf,
  RegisterRelease,
  ReleaseRegistered,
} from './port.ts';
import {
  type Compared,
  type CompareOptions,
  compare,
  type PreflightAnswer,
  type PreflightOptions,
  preflight,
} from './preflight-api.ts';
import type { Ended } from './replaying-api.ts';
import { type WorkerRecord, type WorkerState, workerState } from './worker-model.ts';

export interface LineOptions extends Acting {
  /** The version of the line that was looked at: refused when it is another one by now. */
  readonly expected?: number;
  /** Although it would break something; needs a reason. */
  readonly force?: boolean;
}

export interface ReleaseInfo extends Release {
  readonly state: ReleaseState;
  /** Open executions that are pinned to it. */
  readonly pinned: number;
}

export interface WorkerInfo extends WorkerRecord {
  readonly is: WorkerState;
}

export interface OfProject {
  readonly project?: string;
}

const PAGE = 1_000;
export class Releases {
  readonly #config: EngineConfig;
  readonly #ended: Ended;

  constructor(config: EngineConfig, ended: Ended) {
    this.#config = config;
    this.#ended = ended;
  }

  /** The same again is fine; anything else under its name is refused. */
  async register(options: RegisterOptions): Promise<ReleaseRegistered> {
    return this.#store.registerRelease(registrationOf(options));
  }

  /** Newest first, the last thousand. */
  async list(pipeline: string, options: OfProject = {}): Promise<readonly ReleaseInfo[]> {
    const of = ofPipeline('releases.list', pipeline, options);
    const [found, line, pinned, log] = await Promise.all([
      this.#store.releases({ ...of, limit: PAGE }),
      this.#store.line(of),
      this.#store.pinned(of),
      this.#store.activations({ ...of, limit: PAGE }),
    ]);
    const active = new Set(log.flatMap(({ after }) => after.active ?? []));
    return found.map((each) => {
      const open = pinned.find(({ release }) => release === each.name)?.open ?? 0;
      const about = { line, pinned: open, wasActive: active.has(each.name) };
      return { ...each, state: stateOf(each, about), pinned: open };
    });
  }

  /** Where new executions go. */
  async line(pipeline: string, options: OfProject = {}): Promise<Line> {
    return this.#store.line(ofPipeline('releases.line', pipeline, options));
  }

  /** Of every pipeline that has releases, by name. */
  async lines(
    options: OfProject & { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<Page<LineOf>> {
    const names = ['project', 'cursor', 'limit'] as const;
    const { project, cursor, limit = 100 } = readOptions('releases.lines', options, names);
    wholeNumber('limit', limit, { min: 1, max: 10_000 });
    const items = await this.#store.lines({
      project: projectOf(project),
      limit,
      ...(cursor === undefined ? {} : { after: boundedText('cursor', cursor, 256) }),
    });
    const last = items.at(-1);
    const isLast = last === undefined || items.length < limit;
    return { items, ...(isLast ? {} : { cursor: last.pipeline }) };
  }

  /** What its contract changes, against what is active or another release. */
  async compare(pipeline: string, name: string, options: CompareOptions = {}): Promise<Compared> {
    return compare(this.#config, { pipeline, name, options });
  }

  /** Who changed it, when and why; newest first, the last thousand. */
  async log(pipeline: string, options: OfProject = {}): Promise<readonly Activation[]> {
    return this.#store.activations({
      ...ofPipeline('releases.log', pipeline, options),
      limit: PAGE,
    });
  }

  /** New executions go there from now on. */
  async activate(pipeline: string, name: string, options: LineOptions = {}): Promise<LineChanged> {
    return this.#change('activate', { pipeline, name: parseReleaseName(name) }, options);
  }

  /** So many per cent of new executions go there, by their keys; 0 takes it back. */
  async share(
    pipeline: string,
    to: { readonly name: string; readonly percent: number },
    options: LineOptions = {},
  ): Promise<LineChanged> {
    const { name, percent } = readOptions('releases.share', to, ['name', 'percent']);
    wholeNumber('percent', percent, { min: 0, max: 99 });
    return this.#change('percentage', { pipeline, name: parseReleaseName(name), percent }, options);
  }

  /** The candidate becomes the active one. */
  async promote(pipeline: string, options: LineOptions = {}): Promise<LineChanged> {
    return this.#change('promote', { pipeline }, options);
  }

  /** Without the candidate, or, where there is none, to what was active before. */
  async rollBack(pipeline: string, options: LineOptions = {}): Promise<LineChanged> {
    return this.#change('roll-back', { pipeline }, options);
  }

  /** New executions are pinned to nothing from now on; rolling back undoes it. */
  async deactivate(pipeline: string, options: LineOptions = {}): Promise<LineChanged> {
    return this.#change('deactivate', { pipeline }, options);
  }

  /** Refused while anything is pinned to it. */
  async retire(pipeline: string, name: string, options: LineOptions = {}): Promise<LineChanged> {
    return this.#change('retire', { pipeline, name: parseReleaseName(name) }, options);
  }

  /** What it would break: asks a worker that has it, which writes nothing. */
  async preflight(
    pipeline: string,
    name: string,
    options: PreflightOptions = {},
  ): Promise<PreflightAnswer> {
    return preflight(this.#config, this.#ended, { pipeline, name, options });
  }

  /** Another release for an open execution that nobody runs, when a worker that has it finds that its history fits. */
  async move(id: string, to: string, options: MoveOptions = {}): Promise<ExecutionMoved> {
    return move(this.#config, this.#ended, { id, to, options });
  }

  /**
   * For development, where the code that is here is all there is: it becomes a release and is activated, and what
   * is open moves to it where its replay passes. Start a worker with the release that it answers with.
   */
  async adopt(pipelines: Pipelines, options: AdoptOptions): Promise<Adopted> {
    return adopt(this.#config, pipelines, options);
  }

  /** Those that say what they have: with a release, or by a coordinator. */
  async workers(options: OfProject = {}): Promise<readonly WorkerInfo[]> {
    const { project } = readOptions('releases.workers', options, ['project']);
    const of = project === undefined ? undefined : parseProject(project);
    const [found, { now }] = await Promise.all([
      workersOf(this.#config, of),
      // For its time: that of this host may be another.
      this.#store.dueSchedules({ limit: 1 }),
    ]);
    return found.map((each) => ({ ...each, is: workerState(each, now) }));
  }

  async #change(
    act: LineAct,
    of: { readonly pipeline: string; readonly name?: string; readonly percent?: number },
    options: LineOptions,
  ): Promise<LineChanged> {
    const names = [...ACTING, 'expected', 'force'];
    const given = readOptions(`releases.${act}`, options, names);
    optionalBooleans(`releases.${act}`, { force: given.force });
    const { by: actor, reason } = checkedActing(given);
    const { expected, force } = given;
    if (expected !== undefined) {
      wholeNumber('expected', expected, { min: 0, max: Number.MAX_SAFE_INTEGER });
    }
    return this.#store.changeLine({
      ...of,
      pipeline: parsePipelineName(of.pipeline),
      project: projectOf(given.project),
      ...{ act, actor, reason },
      ...(expected === undefined ? {} : { expected }),
      ...(force === undefined ? {} : { force }),
    });
  }

  get #store(): EngineConfig['store']['executions'] {
    return this.#config.store.executions;
  }
}

function ofPipeline(
  what: string,
  pipeline: string,
  options: OfProject,
): { readonly project: ReturnType<typeof projectOf>; readonly pipeline: PipelineName } {
  const { project } = readOptions(what, options, ['project']);
  return { project: projectOf(project), pipeline: parsePipelineName(pipeline) };
}

// What a person says of a build, checked.

export interface RegisterOptions {
  /** The pipeline itself, or its contract as `holdfast contract build` wrote it. */
  readonly pipeline: unknown;
  readonly name: string;
  readonly artifact: string;
  readonly digest: string;
  readonly project?: string;
  readonly by?: string;
}

const NAME_BYTES_MAX = 256;
const REGISTER: readonly (keyof RegisterOptions)[] = [
  ...(['pipeline', 'name', 'artifact', 'digest', 'project', 'by'] as const),
];

export function registrationOf(options: RegisterOptions): RegisterRelease {
  const given = readOptions('releases.register', options, REGISTER);
  const known = asPipeline(given.pipeline);
  const contract =
    known === undefined ? parseContract('pipeline', given.pipeline) : contractOf(known);
  return {
    project: projectOf(given.project),
    pipeline: parsePipelineName(contract.pipeline),
    name: parseReleaseName(given.name),
    artifact: boundedText('artifact', given.artifact, NAME_BYTES_MAX),
    digest: boundedText('digest', given.digest, NAME_BYTES_MAX),
    contract,
    contractVersion: contractVersion(contract),
    createdBy: checkedActing(given).by,
  };
}
