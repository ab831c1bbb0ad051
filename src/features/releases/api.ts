// Releases for operators: register, preflight, activate, set a canary, promote, roll back,
// drain and retire.

import type { EngineConfig } from '../../engine/config.ts';
import { ReleaseRefused } from '../../engine/failures.ts';
import type { OperationOptions, Page } from '../../engine/holdfast.ts';
import {
  type AnyPipeline,
  asPipeline,
  type Pipelines,
  pipelinesByName,
} from '../../engine/pipeline.ts';
import { everyWorker } from '../../engine/possible-workers.ts';
import { commandOf } from '../../engine/requests.ts';
import { dryReplay } from '../../engine/run/dry-replay.ts';
import type { Ended } from '../../engine/run-on-worker.ts';
import { projectOf } from '../../engine/submission.ts';
import { DEV_RELEASE } from '../../execution/explain.ts';
import {
  type ExecutionId,
  type PipelineName,
  type ProjectName,
  parsePipelineName,
  parseProject,
} from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { digestOf } from '../../support/digest.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  present,
  readOptions,
  wordsIn,
} from '../../support/options.ts';
import { cursorPage } from '../../support/page-size.ts';
import { checkedOperation, OPERATION_OPTIONS, stampOf } from '../audit/api.ts';
import type { AuditAction } from '../audit/model.ts';
import { type Artifact, parseArtifacts } from './artifacts-model.ts';
import { contractOf } from './contract-api.ts';
import { contractVersion, parseContract } from './contract-model.ts';
import {
  type Activation,
  BROKEN_MAX,
  type BrokenReplay,
  type Release,
  type ReleaseState,
  type Rollout,
  type RolloutAction,
  releaseState,
  type WorkerRecord,
  type WorkerState,
  workerState,
} from './model.ts';
import type {
  ExecutionRepinned,
  PipelineRollout,
  RegisterRelease,
  ReleaseRegistered,
  RolloutChanged,
} from './port.ts';
import {
  type Compared,
  type CompareOptions,
  compare,
  IDLE,
  openElsewhere,
  type PreflightOptions,
  type PreflightResult,
  preflight,
} from './preflight-api.ts';
import { type RepinOptions, repin } from './repin-api.ts';

/** Options of a change to a rollout. */
export interface RolloutOptions extends OperationOptions {
  /**
   * The version of the rollout that you saw. If it has changed since, the change is refused. By
   * default it is not checked.
   */
  readonly expected?: number;
  /** True: make the change even if it breaks something. Needs `reason`. Default false. */
  readonly force?: boolean;
}

/** A release, its state and its executions. */
export interface ReleaseInfo extends Release {
  /** The state. */
  readonly state: ReleaseState;
  /** How many open executions are pinned to it. */
  readonly pinned: number;
}

/** A worker that announced itself, and its state. */
export interface WorkerInfo extends WorkerRecord {
  /** The state. */
  readonly is: WorkerState;
}

interface OfProject {
  /** The project. Default `default`. */
  readonly project?: string;
}

const PAGE = 1_000;
/** Contracts may be large, and a list decodes them all at once. */
const BYTES_MAX = 4 * 1_024 * 1_024;
/**
 * Builds of pipelines and their rollout. Reach it as `holdfast.releases`.
 *
 * Operations return refusals as values.
 *
 * @example
 * await holdfast.releases.register({ pipeline: order, name: 'v2', artifact: 'shop:2', digest: 'sha256:ab12' });
 * const preflight = await holdfast.releases.preflight('order', 'v2');
 * if (preflight.kind !== 'refused' && !preflight.breaking) await holdfast.releases.activate('order', 'v2');
 */
export class Releases {
  readonly #config: EngineConfig;
  readonly #ended: Ended;

  constructor(config: EngineConfig, ended: Ended) {
    this.#config = config;
    this.#ended = ended;
  }

  /**
   * Registers a build under a name. Registering the same again is safe; other content is refused.
   */
  async register(options: RegisterOptions): Promise<ReleaseRegistered> {
    return this.#store.registerRelease(registrationOf(options));
  }

  /**
   * Returns the releases of a pipeline with their states, newest first: at most 1,000, and at most
   * 4 MiB of contracts and preflights.
   */
  async list(pipeline: string, options: OfProject = {}): Promise<readonly ReleaseInfo[]> {
    const of = ofPipeline('releases.list', pipeline, options);
    const [found, rollout, pinned, log] = await Promise.all([
      this.#store.releases({ ...of, limit: PAGE, bytesMax: BYTES_MAX }),
      this.#store.rollout(of),
      this.#store.pinned(of),
      this.#store.activations({ ...of, limit: PAGE }),
    ]);
    const active = new Set(log.flatMap(({ after }) => after.active ?? []));
    return found.map((each) => {
      const open = pinned.find(({ release }) => release === each.name)?.open ?? 0;
      const about = { rollout, pinned: open, wasActive: active.has(each.name) };
      return { ...each, state: releaseState(each, about), pinned: open };
    });
  }

  /** Returns the rollout of a pipeline: the releases that new executions go to. */
  async rollout(pipeline: string, options: OfProject = {}): Promise<Rollout> {
    return this.#store.rollout(ofPipeline('releases.rollout', pipeline, options));
  }

  /**
   * Returns a page of rollouts: one per pipeline that has releases, by name. `cursor` is that of
   * the previous page; `limit` is 1 to 10,000 (default 100).
   */
  async rollouts(
    options: OfProject & { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<Page<PipelineRollout>> {
    const names = ['project', 'cursor', 'limit'] as const;
    const { project, cursor, limit = 100 } = readOptions('releases.rollouts', options, names);
    integerOption('limit', limit, { min: 1, max: 10_000 });
    const items = await this.#store.rollouts({
      project: projectOf(project),
      limit,
      ...(cursor === undefined ? {} : { after: boundedText('cursor', cursor, 256) }),
    });
    return cursorPage(items, { limit }, (last) => last.pipeline);
  }

  /** Returns the changes of a release's contract against the active or another release. */
  async compare(pipeline: string, name: string, options: CompareOptions = {}): Promise<Compared> {
    return compare(this.#config, { pipeline, name, options });
  }

  /** Returns the changes of a rollout, newest first, at most 1,000. */
  async log(pipeline: string, options: OfProject = {}): Promise<readonly Activation[]> {
    return this.#store.activations({
      ...ofPipeline('releases.log', pipeline, options),
      limit: PAGE,
    });
  }

  /**
   * Makes a release the active one: new executions go to it. Refused if its preflight found that it
   * breaks something, unless forced.
   */
  async activate(
    pipeline: string,
    name: string,
    options: RolloutOptions = {},
  ): Promise<RolloutChanged> {
    return this.#change('activate', { pipeline, name: parseReleaseName(name) }, options);
  }

  /**
   * Makes the release `name` the canary: `percent` (0 to 99) of new executions go to it, chosen by
   * their keys. 0 removes it.
   */
  async setCanary(
    pipeline: string,
    to: { readonly name: string; readonly percent: number },
    options: RolloutOptions = {},
  ): Promise<RolloutChanged> {
    const { name, percent } = readOptions('releases.setCanary', to, ['name', 'percent']);
    integerOption('percent', percent, { min: 0, max: 99 });
    return this.#change('set-canary', { pipeline, name: parseReleaseName(name), percent }, options);
  }

  /** Makes the canary the active release. */
  async promote(pipeline: string, options: RolloutOptions = {}): Promise<RolloutChanged> {
    return this.#change('promote', { pipeline }, options);
  }

  /** Removes the canary; if there is none, activates the release that was active before. */
  async rollBack(pipeline: string, options: RolloutOptions = {}): Promise<RolloutChanged> {
    return this.#change('roll-back', { pipeline }, options);
  }

  /** Pins new executions to no release. `rollBack` reverts it. */
  async deactivate(pipeline: string, options: RolloutOptions = {}): Promise<RolloutChanged> {
    return this.#change('deactivate', { pipeline }, options);
  }

  /**
   * Retires a release. Refused while it is active, the canary, or has open executions pinned to it.
   */
  async retire(
    pipeline: string,
    name: string,
    options: RolloutOptions = {},
  ): Promise<RolloutChanged> {
    return this.#change('retire', { pipeline, name: parseReleaseName(name) }, options);
  }

  /**
   * Replays open executions with the code of a release and returns which of them it would break.
   *
   * A worker with that release replays them and writes nothing. Refused with `no-worker` if there
   * is none.
   */
  async preflight(
    pipeline: string,
    name: string,
    options: PreflightOptions = {},
  ): Promise<PreflightResult> {
    return preflight(this.#config, this.#ended, { pipeline, name, options });
  }

  /**
   * Pins an open execution that no worker runs to another release, if a worker of that release can
   * replay its history.
   */
  async repin(id: string, to: string, options: RepinOptions = {}): Promise<ExecutionRepinned> {
    return repin(this.#config, this.#ended, { id, to, options });
  }

  /**
   * For development: registers and activates the code in this process, and repins open executions
   * whose replay passes. Start a worker with the returned release. Throws `ReleaseRefused`.
   */
  async adopt(pipelines: Pipelines, options: AdoptOptions): Promise<Adopted> {
    return adopt(this.#config, pipelines, options);
  }

  /**
   * Returns workers that announced themselves: those with a release, and those of a coordinator.
   */
  async workers(options: OfProject = {}): Promise<readonly WorkerInfo[]> {
    const { project } = readOptions('releases.workers', options, ['project']);
    const of = project === undefined ? undefined : parseProject(project);
    const [found, { now }] = await Promise.all([
      everyWorker(this.#config, of),
      // Read for the store's time; the clock of this host may differ.
      this.#store.dueSchedules({ limit: 1 }),
    ]);
    return found.map((each) => ({ ...each, is: workerState(each, now) }));
  }

  async #change(
    action: RolloutAction,
    of: { readonly pipeline: string; readonly name?: string; readonly percent?: number },
    options: RolloutOptions,
  ): Promise<RolloutChanged> {
    const names = [...OPERATION_OPTIONS, 'expected', 'force'];
    const given = readOptions(`releases.${action}`, options, names);
    optionalBooleans(`releases.${action}`, { force: given.force });
    const { actor, reason } = checkedOperation(given);
    const { expected, force } = given;
    if (expected !== undefined) {
      integerOption('expected', expected, { min: 0, max: Number.MAX_SAFE_INTEGER });
    }
    return this.#store.changeRollout({
      ...of,
      pipeline: parsePipelineName(of.pipeline),
      project: projectOf(given.project),
      ...{ action, actor, reason, ...present({ expected, force }) },
      audit: stampOf(this.#config, AUDITED[action], given),
    });
  }

  get #store(): EngineConfig['store']['executions'] {
    return this.#config.store.executions;
  }
}

const AUDITED: Readonly<Record<RolloutAction, AuditAction>> = {
  activate: 'activate-release',
  'set-canary': 'set-canary',
  promote: 'promote-canary',
  'roll-back': 'roll-back-release',
  deactivate: 'deactivate-release',
  retire: 'retire-release',
};

function ofPipeline(
  what: string,
  pipeline: string,
  options: OfProject,
): { readonly project: ReturnType<typeof projectOf>; readonly pipeline: PipelineName } {
  const { project } = readOptions(what, options, ['project']);
  return { project: projectOf(project), pipeline: parsePipelineName(pipeline) };
}

// Checks the registration of a build.

/** A build to register. */
export interface RegisterOptions {
  /** The pipeline, or its contract as `holdfast contract build` wrote it. */
  readonly pipeline: unknown;
  /** The name of the release. */
  readonly name: string;
  /** The image, package or bundle, at most 256 bytes. */
  readonly artifact: string;
  /**
   * The digest of the artifact. Workers that show neither this one nor that of one of `artifacts`
   * are refused.
   */
  readonly digest: string;
  /** Further artifacts, such as the images of workers for remote steps, at most 16. Default none. */
  readonly artifacts?: readonly Artifact[];
  /** The project. Default `default`. */
  readonly project?: string;
  /** The actor. */
  readonly actor?: string;
}

const REGISTER: readonly (keyof RegisterOptions)[] = wordsIn(
  'pipeline name artifact digest artifacts project actor',
);

function registrationOf(options: RegisterOptions): RegisterRelease {
  const given = readOptions('releases.register', options, REGISTER);
  const known = asPipeline(given.pipeline);
  const artifacts = given.artifacts === undefined ? [] : parseArtifacts(given.artifacts);
  const contract =
    known === undefined ? parseContract('pipeline', given.pipeline) : contractOf(known);
  return {
    project: projectOf(given.project),
    pipeline: parsePipelineName(contract.pipeline),
    name: parseReleaseName(given.name),
    artifact: boundedText('artifact', given.artifact, NAME_BYTES_MAX),
    digest: boundedText('digest', given.digest, NAME_BYTES_MAX),
    ...(artifacts.length > 0 && { artifacts }),
    contract,
    contractVersion: contractVersion(contract),
    createdBy: checkedOperation(given).actor,
  };
}

// Development: only the code in this process counts. The saved code becomes a release and is
// activated. Open executions whose replay passes are repinned to it. The others stay, each with a reason
// (RE-13).

/** Options of `releases.adopt`. */
export interface AdoptOptions {
  /** The source text, or another text that changes with the code. */
  readonly source: string;
  /** The project. Default `default`. */
  readonly project?: string;
  /** The actor. */
  readonly actor?: string;
}

/** The result of `releases.adopt`. */
export interface Adopted {
  /** The release for the worker: its `name` and `digest`. */
  readonly release: Pick<Release, 'name' | 'digest'>;
  /** How many executions were repinned. */
  readonly repinned: number;
  /** Executions that the new code cannot replay. They keep their release. */
  readonly broken: readonly BrokenReplay[];
}

const AT_A_TIME = 200;
const SOURCE_BYTES_MAX = 64 * 1_024 * 1_024;
/** Already aborted: report a store outage to the waiting caller at once. */
const AT_ONCE = AbortSignal.abort();
const REASON = 'the code was changed';

async function adopt(
  config: EngineConfig,
  pipelines: unknown,
  options: AdoptOptions,
): Promise<Adopted> {
  const given = readOptions('releases.adopt', options, ['source', 'project', 'actor']);
  const source = boundedText('source', given.source, SOURCE_BYTES_MAX);
  const { actor } = checkedOperation(given);
  const project = projectOf(given.project);
  const all = [...pipelinesByName('releases.adopt', pipelines).values()];
  const versions = all.map((each) => contractVersion(contractOf(each)));
  const digest = digestOf(Buffer.from(JSON.stringify([source, versions])));
  const release = { name: `${DEV_RELEASE}${digest.slice(0, 12)}`, digest: `sha256:${digest}` };
  const broken: BrokenReplay[] = [];
  let repinned = 0;
  for (const code of all) {
    const done = await adoptOne(config, { code, project, actor, release });
    broken.push(...done.broken);
    repinned += done.repinned;
  }
  return { release, repinned, broken };
}

interface Adopting {
  readonly code: AnyPipeline;
  readonly project: ProjectName;
  readonly actor: string;
  readonly release: Pick<Release, 'name' | 'digest'>;
}

async function adoptOne(
  config: EngineConfig,
  adopting: Adopting,
): Promise<{ readonly repinned: number; readonly broken: readonly BrokenReplay[] }> {
  const { executions } = config.store;
  const { code, project, release } = adopting;
  const key = { project, pipeline: code.name, name: release.name };
  await register(config, adopting);
  // Activate first: new executions then go to the release by themselves, and the list below has all
  // earlier ones.
  await activate(config, adopting);
  const open = await openElsewhere(config, key, IDLE);
  const replays = await inTurn(open, (id) => dryReplay(config, code, { id, over: AT_ONCE }));
  const broken = replays.flatMap((each) => each ?? []);
  const counts = { open: open.length, replayed: open.length, changes: [] };
  const found = { broken: broken.slice(0, BROKEN_MAX), brokenCount: broken.length };
  await executions.notePreflight({ ...key, preflight: { ...counts, ...found } });
  const isBroken = new Set(broken.map(({ execution }) => execution));
  const fit = open.filter((id) => !isBroken.has(id));
  const results = await inTurn(fit, (id) => repinOne(config, adopting, id));
  return { repinned: results.filter((kind) => kind === 'repinned').length, broken };
}

async function register(config: EngineConfig, adopting: Adopting): Promise<void> {
  const { code, project, actor, release } = adopting;
  const contract = contractOf(code);
  const result = await config.store.executions.registerRelease({
    ...{ project, pipeline: code.name, ...release, artifact: 'dev', contract, createdBy: actor },
    contractVersion: contractVersion(contract),
  });
  if (result.kind === 'refused') throw new ReleaseRefused(result);
}

/** Forced: there is no other code to run, and the result lists each execution that it breaks. */
async function activate(config: EngineConfig, adopting: Adopting): Promise<void> {
  const { code, project, actor, release } = adopting;
  const result = await config.store.executions.changeRollout({
    ...{ project, pipeline: code.name, action: 'activate', name: release.name },
    ...{ actor, reason: REASON, force: true },
    audit: stampOf(config, AUDITED.activate, { actor, reason: REASON }),
  });
  if (result.kind === 'refused') throw new ReleaseRefused(result);
}

async function repinOne(
  config: EngineConfig,
  adopting: Adopting,
  id: ExecutionId,
): Promise<string> {
  const { project, actor, release } = adopting;
  const operation = { project, actor, reason: REASON };
  const { body } = commandOf('releases.adopt', id, operation);
  const audit = stampOf(config, 'repin', operation);
  const request = { id, project, to: release.name, body, audit };
  return (await config.store.executions.repinExecution(request)).kind;
}

/** Runs a few at once. */
async function inTurn<Result>(
  ids: readonly ExecutionId[],
  work: (id: ExecutionId) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < ids.length; from += AT_A_TIME) {
    results.push(...(await Promise.all(ids.slice(from, from + AT_A_TIME).map(work))));
  }
  return results;
}
