// Routes for releases and rollouts.

import { ReleaseRefused } from '../../engine/failures.ts';
import { type ProjectName, parsePipelineName } from '../../execution/names.ts';
import type { NoSuchRelease } from '../../execution/refusal.ts';
import type { SessionId } from '../../lease/names.ts';
import type { RefusedWorkerMessage } from '../../protocol/messages/sessions.ts';
import { requireOpenName } from '../../protocol/rest/handling.ts';
import {
  type Coordinator,
  operationFor,
  ProblemReply,
  type Route,
  routesOf,
} from '../../protocol/rest/route.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { formatInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { keyOf, madeReply } from '../repair/routes.ts';
import type { RolloutOptions } from './api.ts';
import { digestsOf } from './artifacts-model.ts';
import type { Contract } from './contract-model.ts';
import {
  type ActivationMessage,
  type ReleaseMessage,
  type RolloutBody,
  releaseOperations,
} from './messages.ts';
import {
  type Announcement,
  describeReleaseRefusal,
  type Preflight,
  type Release,
  type ReleaseRefusal,
  type RepinRefusal,
} from './model.ts';
import type { Announced, RolloutChanged } from './port.ts';

function inputOf({ input }: Contract): Pick<ReleaseMessage, 'input'> {
  return input === true || 'opaque' in input ? {} : { input };
}

export const releaseRoutes: readonly Route[] = routesOf(releaseOperations, {
  async registerRelease({ holdfast }, { params, body, caller }) {
    requireOpenName('A pipeline', params.pipeline);
    const { contract, ...build } = body;
    if (contract['pipeline'] !== params.pipeline) {
      throw new ProblemReply(
        'invalid-input',
        'The contract is of another pipeline than the one in the path. Nothing was written.',
      );
    }
    const about = { pipeline: contract, ...build, ...operationFor(caller) };
    const result = await holdfast.releases.register(about);
    if (result.kind === 'refused') throw releaseRefused(result);
    return { status: 200, body: { existing: result.existing } };
  },

  async listReleases({ holdfast, search }, { params, caller }) {
    const { project } = caller;
    const found = await search(project, () => holdfast.releases.list(params.pipeline, { project }));
    const items = found.map(({ contract, artifacts, project: _, ...rest }): ReleaseMessage => {
      const { createdAt, retiredAt, preflight, ...plain } = rest;
      return {
        ...plain,
        ...(artifacts && { artifacts: [...artifacts] }),
        ...inputOf(contract),
        createdAt: formatInstant(createdAt),
        ...(preflight && { preflight: preflightMessage(preflight) }),
        ...(retiredAt === undefined ? {} : { retiredAt: formatInstant(retiredAt) }),
      };
    });
    return { status: 200, body: { items } };
  },

  async readInput({ holdfast, store }, { params: { pipeline }, caller: { project } }) {
    const { active } = await holdfast.releases.rollout(pipeline, { project });
    const releases =
      active === undefined ? [] : await holdfast.releases.list(pipeline, { project });
    const release = releases.find(({ name }) => name === active);
    const own = release === undefined ? {} : inputOf(release.contract);
    if (own.input !== undefined) return { status: 200, body: own };
    const named = { project, pipeline: parsePipelineName(pipeline) };
    const announced = await store.executions.announcedInput(named);
    return {
      status: 200,
      body: announced === undefined ? {} : { input: JSON.parse(announced) as unknown },
    };
  },

  async listRollouts({ holdfast }, { query, caller }) {
    const { items, cursor } = await holdfast.releases.rollouts({
      ...query,
      project: caller.project,
    });
    return { status: 200, body: { items: [...items], ...(cursor && { cursor }) } };
  },

  async compareRelease({ holdfast, search }, { params, query, caller }) {
    const { project } = caller;
    const options = { ...query, project };
    const result = await search(project, () =>
      holdfast.releases.compare(params.pipeline, params.name, options),
    );
    if (result.kind === 'refused') throw releaseRefused(result);
    const { kind: _, changes, ...rest } = result;
    return { status: 200, body: { ...rest, changes: [...changes] } };
  },

  async readRollout({ holdfast }, { params, caller }) {
    const { project } = caller;
    return { status: 200, body: await holdfast.releases.rollout(params.pipeline, { project }) };
  },

  async listActivations({ holdfast }, { params, caller }) {
    const { project } = caller;
    const found = await holdfast.releases.log(params.pipeline, { project });
    const items = found.map(
      ({ project: _, pipeline: __, at, ...rest }): ActivationMessage => ({
        ...rest,
        at: formatInstant(at),
      }),
    );
    return { status: 200, body: { items } };
  },

  async changeRollout(coordinator, { params, body, caller }) {
    const result = await change(
      coordinator,
      { ...body, pipeline: params.pipeline },
      {
        ...operationFor(caller),
        ...present({ reason: body.reason, expected: body.expected, force: body.force }),
      },
    );
    if (result.kind === 'refused') throw releaseRefused(result);
    return { status: 200, body: result };
  },

  async preflightRelease({ holdfast }, { params, body, caller }) {
    const { project } = caller;
    const { pipeline, name } = params;
    const result = await holdfast.releases.preflight(pipeline, name, { ...body, project });
    if (result.kind === 'replayed') {
      const { kind: _, ...found } = result;
      return { status: 200, body: found };
    }
    if (result.why !== 'no-worker') throw releaseRefused(result);
    throw new ProblemReply(
      'no-worker',
      `No worker of release "${name}" replayed the open executions in time. Nothing was changed. Start a worker with that release; it need not be active.`,
    );
  },

  async repinExecution({ holdfast }, { params, body, caller }) {
    const { to, ...options } = body;
    const operation = { ...options, ...operationFor(caller) };
    const result = await holdfast.releases.repin(params.id, to, operation);
    if (result.kind === 'refused') throw releaseRefused(result);
    return { status: 200, body: result };
  },

  async repinMany({ holdfast }, { params, body, caller, header }) {
    const { from: release, ...rest } = body;
    const { project, actor } = operationFor(caller);
    const filter = { project, pipeline: params.pipeline, release };
    try {
      return madeReply(
        await holdfast.bulk.repin({ ...rest, ...keyOf(body, header), filter, actor }),
      );
    } catch (error) {
      throw error instanceof ReleaseRefused ? releaseRefused(error.refusal) : error;
    }
  },
});

function preflightMessage(found: Preflight): NonNullable<ReleaseMessage['preflight']> {
  const { changes, broken, at, ...rest } = found;
  return { ...rest, at: formatInstant(at), changes: [...changes], broken: [...broken] };
}

function change(
  { holdfast }: Coordinator,
  { pipeline, action, name, percent = 0 }: RolloutBody & { readonly pipeline: string },
  options: RolloutOptions,
): Promise<RolloutChanged> {
  const { releases } = holdfast;
  if (action === 'promote') return releases.promote(pipeline, options);
  if (action === 'roll-back') return releases.rollBack(pipeline, options);
  if (action === 'deactivate') return releases.deactivate(pipeline, options);
  if (name === undefined)
    throw new ProblemReply(
      'invalid-input',
      '`name` is required: pass the release to activate, to give a percentage or to retire. Nothing was changed.',
    );
  if (action === 'activate') return releases.activate(pipeline, name, options);
  if (action === 'retire') return releases.retire(pipeline, name, options);
  return releases.setCanary(pipeline, { name, percent }, options);
}

function releaseRefused(refusal: ReleaseRefusal | RepinRefusal | NoSuchRelease): ProblemReply {
  const detail = describeReleaseRefusal(refusal);
  const reply = new ProblemReply(refusal.why, detail);
  const { ...copy } = refusal;
  reply.refusal = copy;
  return reply;
}

// Lists workers whose announced release was refused (RE-9). The store keeps only the accepted
// release. The coordinator that refused an announcement remembers it until the worker sends
// another. Only callers that list workers see the registered values, never the worker: it could
// announce those next.

type Refusal = Exclude<
  Extract<Announced, { readonly kind: 'refused' }>,
  { readonly why: 'session-not-live' }
>;

interface Refused {
  readonly refusal: Refusal;
  readonly digest: string;
  /** The contract version of its code, for the refused pipeline. */
  readonly contract: string;
}

/** The limit per project; beyond it, the coordinator forgets the oldest. */
const KNOWN_MAX = 1_000;

type OfProjects = Map<ProjectName, Map<SessionId, Refused>>;

const known: WeakMap<CoordinatorStore, OfProjects> = new WeakMap();

/** Call this for every announcement: a success removes the earlier refusal. */
export function noteAnnounced(
  store: CoordinatorStore,
  announcement: Announcement & { readonly project: ProjectName },
  result: Announced,
): void {
  const { session, project, release } = announcement;
  const all: OfProjects = known.get(store) ?? new Map();
  known.set(store, all);
  const own = all.get(project) ?? new Map<SessionId, Refused>();
  own.delete(session);
  const isRefused = result.kind === 'refused' && result.why !== 'session-not-live';
  if (isRefused && release !== undefined) {
    const contract = release.contracts[result.pipeline] ?? '';
    own.set(session, { refusal: result, digest: release.digest, contract });
  }
  for (const oldest of own.keys()) {
    if (own.size <= KNOWN_MAX) break;
    own.delete(oldest);
  }
  all.set(project, own);
}

/** The sessions that this coordinator has refused. */
export async function refusedAmong(
  store: CoordinatorStore,
  sessions: readonly { readonly id: SessionId; readonly project: ProjectName | undefined }[],
): Promise<ReadonlyMap<SessionId, RefusedWorkerMessage>> {
  const messages = new Map<SessionId, RefusedWorkerMessage>();
  for (const { id, project } of sessions) {
    if (project === undefined) continue;
    const refused = known.get(store)?.get(project)?.get(id);
    if (refused === undefined) continue;
    const { pipeline, name } = refused.refusal;
    const registered = await store.executions.release({ project, pipeline, name });
    messages.set(id, messageOf(refused, registered));
  }
  return messages;
}

function messageOf(refused: Refused, registered: Release | undefined): RefusedWorkerMessage {
  const { refusal, digest } = refused;
  const { why, pipeline, name } = refusal;
  const differs = differenceOf(refused, registered);
  return {
    ...{ release: name, digest, pipeline, why },
    ...(differs === undefined ? {} : { differs }),
    detail: detailOf({ pipeline, name, why, digest }, differs),
  };
}

type Difference = NonNullable<RefusedWorkerMessage['differs']>;

function differenceOf(
  { refusal, digest, contract }: Refused,
  registered: Release | undefined,
): Difference | undefined {
  if (refusal.why !== 'release-differs' || registered === undefined) return undefined;
  return refusal.part === 'contract'
    ? { part: 'contract', announced: contract, registered: registered.contractVersion }
    : { part: 'digest', announced: digest, registered: digestsOf(registered).join(', ') };
}

/** Gives the announcement, the reason for the refusal, and the fix. */
function detailOf(
  { pipeline, name, why, digest }: Pick<Refusal, 'pipeline' | 'name' | 'why'> & { digest: string },
  differs: Difference | undefined,
): string {
  const announced = `The worker announced release "${name}" of pipeline "${pipeline}", with digest ${digest}`;
  if (why === 'release-unknown') {
    return `${announced}, which is not registered for any of its pipelines. Register it (holdfast releases register ${pipeline} ${name} …), or start the worker with a registered release.`;
  }
  if (why === 'release-retired') {
    return `${announced}, which is retired. Stop the worker, or register its build under a name of its own.`;
  }
  if (differs?.part === 'contract') {
    return `${announced}. Its code has contract ${differs.announced}; the registered one is ${differs.registered}. Deploy the registered code, or register this build under a name of its own.`;
  }
  return `${announced}; the registered digest is ${differs?.registered ?? 'another'}. Deploy the registered artifact, or register this build under a name of its own.`;
}
