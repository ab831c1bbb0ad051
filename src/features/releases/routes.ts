// Releases, as people deploy them through a coordinator.

import { ReleaseRefused } from '../../engine/failures.ts';
import type { NoSuchRelease } from '../../execution/refusal.ts';
import { idParams } from '../../protocol/messages/execution.ts';
import { requireOpenName } from '../../protocol/rest/handling.ts';
import {
  actingFor,
  type Coordinator,
  ProblemReply,
  type Route,
  route,
} from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { keyOf, MADE, madeReply } from '../repair/bulk-routes.ts';
import { bulkMoveBody } from '../repair/messages.ts';
import type { LineOptions } from './api.ts';
import {
  type ActivationMessage,
  activationList,
  compared,
  compareQuery,
  type LineBody,
  line,
  lineBody,
  lineChanged,
  lineListQuery,
  linePage,
  moveBody,
  moved,
  pipelineParams,
  preflightBody,
  preflightFound,
  type ReleaseMessage,
  registerBody,
  registered,
  releaseList,
  releaseParams,
} from './messages.ts';
import {
  describeReleaseRefusal,
  type MoveRefusal,
  type Preflight,
  type ReleaseRefusal,
} from './model.ts';
import type { LineChanged } from './port.ts';

const READERS = ['submit', 'operate', 'admin'] as const;
const ADMIN = { allows: ['admin'], listener: 'admin' } as const;
const NO = { 409: { what: 'Refused, and why.' } } as const;

const register = route({
  method: 'POST',
  path: '/v1/pipelines/:pipeline/releases',
  name: 'registerRelease',
  summary: 'A build of a pipeline. The same again is fine.',
  ...ADMIN,
  params: pipelineParams,
  body: registerBody,
  answers: { 200: { what: 'It is there.', schema: registered }, ...NO },
  async handle({ holdfast }, { params, body, caller }) {
    requireOpenName('A pipeline', params.pipeline);
    const { contract, ...build } = body;
    if (contract['pipeline'] !== params.pipeline) {
      throw new ProblemReply(400, 'invalid-input', 'The contract is that of another pipeline.');
    }
    const about = { pipeline: contract, ...build, ...actingFor(caller) };
    const answer = await holdfast.releases.register(about);
    if (answer.kind === 'refused') throw releaseRefused(answer);
    return { status: 200, body: { existing: answer.existing } };
  },
});

const list = route({
  method: 'GET',
  path: '/v1/pipelines/:pipeline/releases',
  name: 'listReleases',
  summary: 'Releases of a pipeline, newest first, with what is pinned to each.',
  allows: READERS,
  params: pipelineParams,
  answers: { 200: { what: 'The last thousand.', schema: releaseList } },
  async handle({ holdfast }, { params, caller }) {
    const { project } = caller;
    const found = await holdfast.releases.list(params.pipeline, { project });
    const items = found.map(({ contract: _, project: __, ...rest }): ReleaseMessage => {
      const { createdAt, retiredAt, preflight, ...plain } = rest;
      return {
        ...plain,
        createdAt: formatInstant(createdAt),
        ...(preflight && { preflight: preflightMessage(preflight) }),
        ...(retiredAt === undefined ? {} : { retiredAt: formatInstant(retiredAt) }),
      };
    });
    return { status: 200, body: { items } };
  },
});

function preflightMessage(found: Preflight): NonNullable<ReleaseMessage['preflight']> {
  const { changes, broken, at, ...rest } = found;
  return { ...rest, at: formatInstant(at), changes: [...changes], broken: [...broken] };
}

const listLines = route({
  method: 'GET',
  path: '/v1/pipelines',
  name: 'listLines',
  summary: 'Pipelines that have releases, by name, and where new executions of each go.',
  allows: READERS,
  query: lineListQuery,
  answers: { 200: { what: 'A page.', schema: linePage } },
  async handle({ holdfast }, { query, caller }) {
    const { items, cursor } = await holdfast.releases.lines({ ...query, project: caller.project });
    return { status: 200, body: { items: [...items], ...(cursor && { cursor }) } };
  },
});

const compareRelease = route({
  method: 'GET',
  path: '/v1/pipelines/:pipeline/releases/:name/changes',
  name: 'compareRelease',
  summary: 'What the contract of a release changes, against what is active or against another.',
  allows: READERS,
  params: releaseParams,
  query: compareQuery,
  answers: { 200: { what: 'Each change, and whether it breaks.', schema: compared } },
  async handle({ holdfast }, { params, query, caller }) {
    const options = { ...query, project: caller.project };
    const answer = await holdfast.releases.compare(params.pipeline, params.name, options);
    if (answer.kind === 'refused') throw releaseRefused(answer);
    const { kind: _, changes, ...rest } = answer;
    return { status: 200, body: { ...rest, changes: [...changes] } };
  },
});

const readLine = route({
  method: 'GET',
  path: '/v1/pipelines/:pipeline/line',
  name: 'readLine',
  summary: 'Where new executions of a pipeline go.',
  allows: READERS,
  params: pipelineParams,
  answers: { 200: { what: 'As it is now; version 0 before the first act.', schema: line } },
  async handle({ holdfast }, { params, caller }) {
    const { project } = caller;
    return { status: 200, body: await holdfast.releases.line(params.pipeline, { project }) };
  },
});

const log = route({
  method: 'GET',
  path: '/v1/pipelines/:pipeline/activations',
  name: 'listActivations',
  summary: 'Who changed where new executions go, when and why; newest first.',
  allows: READERS,
  params: pipelineParams,
  answers: { 200: { what: 'The last thousand.', schema: activationList } },
  async handle({ holdfast }, { params, caller }) {
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
});

const changeLine = route({
  method: 'POST',
  path: '/v1/pipelines/:pipeline/line',
  name: 'changeLine',
  summary: 'Activates a release, gives it a share, promotes, rolls back, deactivates or retires.',
  ...ADMIN,
  params: pipelineParams,
  body: lineBody,
  answers: { 200: { what: 'As it is now.', schema: lineChanged }, ...NO },
  async handle(coordinator, { params, body, caller }) {
    const answer = await change(
      coordinator,
      { ...body, pipeline: params.pipeline },
      {
        ...actingFor(caller),
        ...(body.reason === undefined ? {} : { reason: body.reason }),
        ...(body.expected === undefined ? {} : { expected: body.expected }),
        ...(body.force === undefined ? {} : { force: body.force }),
      },
    );
    if (answer.kind === 'refused') throw releaseRefused(answer);
    return { status: 200, body: answer };
  },
});

function change(
  { holdfast }: Coordinator,
  { pipeline, act, name, percent = 0 }: LineBody & { readonly pipeline: string },
  options: LineOptions,
): Promise<LineChanged> {
  const { releases } = holdfast;
  if (act === 'promote') return releases.promote(pipeline, options);
  if (act === 'roll-back') return releases.rollBack(pipeline, options);
  if (act === 'deactivate') return releases.deactivate(pipeline, options);
  if (name === undefined) throw new ProblemReply(400, 'invalid-input', 'Say which: name.');
  if (act === 'activate') return releases.activate(pipeline, name, options);
  if (act === 'retire') return releases.retire(pipeline, name, options);
  return releases.share(pipeline, { name, percent }, options);
}

const preflight = route({
  method: 'POST',
  path: '/v1/pipelines/:pipeline/releases/:name/preflight',
  name: 'preflightRelease',
  summary:
    'What a release would break: its contract, and open executions replayed by a worker of it.',
  ...ADMIN,
  isLong: true,
  params: releaseParams,
  body: preflightBody,
  answers: {
    200: { what: 'What was found; it stays with the release.', schema: preflightFound },
    503: { what: 'No worker of that release did it in time.' },
  },
  async handle({ holdfast }, { params, body, caller }) {
    const { project } = caller;
    const { pipeline, name } = params;
    const answer = await holdfast.releases.preflight(pipeline, name, { ...body, project });
    if (answer.kind === 'looked') {
      const { kind: _, ...found } = answer;
      return { status: 200, body: found };
    }
    if (answer.why !== 'no-worker') throw releaseRefused(answer);
    throw new ProblemReply(
      503,
      'no-worker',
      `No worker of release "${name}" replayed what is open in time. Start one that has it; it need not be active.`,
    );
  },
});

const move = route({
  method: 'POST',
  path: '/v1/executions/:id/move',
  name: 'moveExecution',
  summary:
    'Gives an open execution that nobody runs another release, when a worker of it finds that its history fits.',
  ...ADMIN,
  isLong: true,
  params: idParams,
  body: moveBody,
  answers: { 200: { what: 'It is pinned there now.', schema: moved }, ...NO },
  async handle({ holdfast }, { params, body, caller }) {
    const { to, ...options } = body;
    const acting = { ...options, ...actingFor(caller) };
    const answer = await holdfast.releases.move(params.id, to, acting);
    if (answer.kind === 'refused') throw releaseRefused(answer);
    return { status: 200, body: answer };
  },
});

const moveMany = route({
  method: 'POST',
  path: '/v1/pipelines/:pipeline/move',
  name: 'moveMany',
  summary:
    'Gives all that is open and pinned to a release another one, where a worker of it finds that its history fits: a job.',
  ...ADMIN,
  params: pipelineParams,
  body: bulkMoveBody,
  answers: { ...MADE, 409: { what: 'Refused, and why.' } },
  async handle({ holdfast }, { params, body, caller, header }) {
    const { from: release, ...rest } = body;
    const { name: by, project } = caller;
    const filter = { project, pipeline: params.pipeline, release };
    try {
      return madeReply(await holdfast.bulk.move({ ...rest, ...keyOf(body, header), filter, by }));
    } catch (error) {
      throw error instanceof ReleaseRefused ? releaseRefused(error.refusal) : error;
    }
  },
});

function releaseRefused(refusal: ReleaseRefusal | MoveRefusal | NoSuchRelease): ProblemReply {
  const isUnknown = refusal.why === 'release-unknown' || refusal.why === 'execution-unknown';
  const detail = describeReleaseRefusal(refusal);
  const reply = new ProblemReply(isUnknown ? 404 : 409, refusal.why, detail);
  const { ...told } = refusal;
  reply.refusal = told;
  return reply;
}

export const releaseRoutes: readonly Route[] = [
  ...[register, list, listLines, compareRelease, readLine, log],
  ...[changeLine, preflight, move, moveMany],
];
