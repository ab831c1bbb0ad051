// Releases: builds of a pipeline, their rollout, and what a release would break.

import { type Static, Type } from 'typebox';
import { idParams } from '../../protocol/messages/execution.ts';
import { ADMIN, type Operations } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  documented,
  executionId,
  instant,
  name,
  pageOf,
  paging,
  pipelineName,
  reason,
  releaseName,
  seq,
} from '../../protocol/messages/words.ts';
import { bulkRepinBody, MADE } from '../repair/messages.ts';
import { ROLLOUT_ACTIONS } from './model.ts';

const digest = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'Digest of the artifact.',
  examples: ['sha256:7d41c2'],
});
const percent = Type.Integer({
  minimum: 0,
  maximum: 99,
  description: 'Percent of new executions that go to the canary.',
  examples: [10],
});

const pipelineParams = closed({ pipeline: pipelineName });
const releaseParams = closed({ pipeline: pipelineName, name: releaseName });

const registerBody = closed(
  {
    name: releaseName,
    artifact: documented(name, 'The build: an image, a package or a bundle.', 'shop/orders'),
    digest,
    contract: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Contract of the pipeline, as `holdfast contract build` writes it.',
    }),
  },
  {
    title: 'RegisterBody',
    examples: [
      {
        name: 'v2',
        artifact: 'shop/orders',
        digest: 'sha256:7d41c2',
        contract: { pipeline: 'order' },
      },
    ],
  },
);

export type RegisterBody = Static<typeof registerBody>;

export const registered = closed({
  existing: Type.Boolean({ description: 'True if the same release was registered before.' }),
});

const change = closed(
  {
    part: Type.String({ description: 'Part of the contract, such as `input` or `await:approve`.' }),
    path: Type.String({ description: 'Path inside that part. Empty: all of it.' }),
    breaking: Type.Boolean({ description: 'True if existing callers or executions would break.' }),
    what: Type.String({ description: 'The change, for people.' }),
  },
  {
    title: 'ContractChange',
    examples: [
      { part: 'input', path: '/currency', breaking: true, what: 'The property is required now.' },
    ],
  },
);

const broken = closed(
  {
    execution: executionId,
    release: Type.Optional(Type.String({ description: 'Release that it is pinned to.' })),
    seq: Type.Optional(documented(count, 'Event in its history where the new code differs.')),
    why: Type.String({ description: 'The recorded call and the call of the code, for people.' }),
  },
  { title: 'BrokenReplay' },
);

const FOUND = {
  against: Type.Optional(
    Type.String({ description: 'Release that the contract was compared with, if there was one.' }),
  ),
  changes: Type.Array(change, { description: 'Changes of the contract.' }),
  open: documented(count, 'Number of open executions.'),
  replayed: documented(count, 'Number of open executions that a worker replayed.'),
  broken: Type.Array(broken, {
    description: 'Executions whose replay failed: the first 100.',
  }),
  brokenCount: documented(count, 'Number of executions whose replay failed.'),
};

const preflightBody = closed(
  {
    sample: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000_000,
        description: 'Number of open executions to replay, spread over all. Default: all.',
      }),
    ),
    waitMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 60_000,
        description: 'Time that workers have for each hundred, in milliseconds. Default: 30000.',
      }),
    ),
  },
  { examples: [{ sample: 1_000 }] },
);

export type PreflightBody = Static<typeof preflightBody>;

const FOUND_EXAMPLE = {
  against: 'v1',
  changes: [],
  open: 120,
  replayed: 120,
  broken: [],
  brokenCount: 0,
};

const preflightFound = closed(
  {
    breaking: Type.Boolean({
      description: 'True if the contract or at least one open execution would break.',
    }),
    ...FOUND,
  },
  { title: 'PreflightFound', examples: [{ breaking: false, ...FOUND_EXAMPLE }] },
);

export type PreflightMessage = Static<typeof preflightFound>;

const release = closed(
  {
    pipeline: Type.String({ description: 'Name of the pipeline.' }),
    name: releaseName,
    state: Type.Enum(['registered', 'canary', 'active', 'draining', 'drained', 'retired'], {
      description:
        '`draining`: not active any more, but open executions are pinned to it. `drained`: none are.',
    }),
    pinned: documented(count, 'Number of open executions that are pinned to it.'),
    artifact: Type.String({ description: 'The build.' }),
    digest,
    contractVersion: Type.String({ description: 'Digest of its contract.' }),
    input: Type.Optional(
      Type.Unknown({ description: 'JSON Schema of its input, if its contract has one.' }),
    ),
    createdAt: documented(instant, 'When it was registered.'),
    createdBy: Type.String({ description: 'The actor that registered it.' }),
    preflight: Type.Optional(
      closed(
        { at: documented(instant, 'When it ran.'), ...FOUND },
        { description: 'Result of its last preflight.' },
      ),
    ),
    retiredAt: Type.Optional(documented(instant, 'When it was retired.')),
  },
  {
    title: 'Release',
    examples: [
      {
        pipeline: 'order',
        name: 'v2',
        state: 'active',
        pinned: 42,
        artifact: 'shop/orders',
        digest: 'sha256:7d41c2',
        contractVersion: '9f86d081884c7d65',
        input: { type: 'object', properties: { item: { type: 'string' } } },
        createdAt: '2026-11-17T09:00:00.000Z',
        createdBy: 'ci (a2b3c4d5e6f7a2b3)',
        preflight: { at: '2026-11-17T09:05:00.000Z', ...FOUND_EXAMPLE },
      },
    ],
  },
);

export type ReleaseMessage = Static<typeof release>;

const ROLLOUT = {
  active: Type.Optional(Type.String({ description: 'Release that new executions go to.' })),
  previous: Type.Optional(Type.String({ description: 'Release that was active before.' })),
  canary: Type.Optional(Type.String({ description: 'Release that gets `percent` of them.' })),
  percent: Type.Optional(percent),
};

const rolloutVersion = documented(
  count,
  'Rises by one with each change. 0: nothing was changed yet.',
);

const ROLLOUT_EXAMPLE = { version: 3, active: 'v1', canary: 'v2', percent: 10 };

export const rollout = closed(
  { version: rolloutVersion, ...ROLLOUT },
  { title: 'Rollout', examples: [ROLLOUT_EXAMPLE] },
);

export type RolloutMessage = Static<typeof rollout>;

const rolloutPage = pageOf(
  closed(
    {
      pipeline: Type.String({ description: 'Name of the pipeline.' }),
      version: rolloutVersion,
      ...ROLLOUT,
    },
    { title: 'PipelineRollout', examples: [{ pipeline: 'order', ...ROLLOUT_EXAMPLE }] },
  ),
);

export type PipelineRolloutMessage = Static<typeof rolloutPage>['items'][number];

const compared = closed(
  {
    against: Type.Optional(
      Type.String({
        description: 'Release that it was compared with. Absent if there was none.',
      }),
    ),
    breaking: Type.Boolean({ description: 'True if at least one change breaks something.' }),
    changes: Type.Array(change, { description: 'All changes.' }),
  },
  { examples: [{ against: 'v1', breaking: false, changes: [] }] },
);

export type ComparedMessage = Static<typeof compared>;

const rolloutAction = Type.Enum([...ROLLOUT_ACTIONS], {
  description:
    '`set-canary` makes a release the canary, `promote` activates the canary, `deactivate` stops pinning new executions.',
});

const rolloutBody = closed(
  {
    action: rolloutAction,
    name: Type.Optional(
      documented(releaseName, 'Release to activate, to make the canary, or to retire.'),
    ),
    percent: Type.Optional(
      documented(percent, 'Percent of new executions, for `set-canary`. 0 removes the canary.'),
    ),
    expected: Type.Optional(
      documented(count, 'Version that you saw. The change is refused if it differs.'),
    ),
    force: Type.Optional(
      Type.Boolean({
        description: 'Change it although something would break. Needs a `reason`. Default: false.',
      }),
    ),
    reason: Type.Optional(reason),
  },
  {
    title: 'RolloutBody',
    description: 'Pass `name` for `activate`, `set-canary` and `retire`.',
    examples: [{ action: 'set-canary', name: 'v2', percent: 10, expected: 2 }],
  },
);

export type RolloutBody = Static<typeof rolloutBody>;

const rolloutChanged = closed(
  {
    kind: Type.Enum(['changed', 'no-change'], {
      description: '`no-change`: the rollout was like this already.',
    }),
    rollout,
  },
  { examples: [{ kind: 'changed', rollout: ROLLOUT_EXAMPLE }] },
);

const activationList = closed({
  items: Type.Array(
    closed(
      {
        version: documented(count, 'Version of the rollout that it made.'),
        at: documented(instant, 'When it was changed.'),
        action: rolloutAction,
        name: Type.String({ description: 'Release that it was about.' }),
        actor: Type.String({ description: 'The actor.' }),
        reason: Type.String({ description: 'Reason that the caller gave. Empty if none.' }),
        forced: Type.Boolean({ description: 'True if it was forced.' }),
        before: closed(ROLLOUT, { description: 'The rollout before the change.' }),
        after: closed(ROLLOUT, { description: 'The rollout after the change.' }),
      },
      {
        title: 'Activation',
        examples: [
          {
            version: 3,
            at: '2026-11-17T09:10:00.000Z',
            action: 'set-canary',
            name: 'v2',
            actor: 'ann (a2b3c4d5e6f7a2b3)',
            reason: '',
            forced: false,
            before: { active: 'v1' },
            after: { active: 'v1', canary: 'v2', percent: 10 },
          },
        ],
      },
    ),
    { description: 'Changes, newest first, at most 1,000.' },
  ),
});

export type ActivationMessage = Static<typeof activationList>['items'][number];

const repinBody = closed(
  {
    to: documented(releaseName, 'Release to pin it to.'),
    from: Type.Optional(
      Type.Union([releaseName, Type.Null()], {
        description: 'Release that it must be pinned to now; null: none. Default: any.',
      }),
    ),
    force: Type.Optional(
      Type.Boolean({
        description: 'Repin it without a replay. Needs a `reason`. Default: false.',
      }),
    ),
    reason: Type.Optional(reason),
  },
  { title: 'RepinBody', examples: [{ to: 'v2', from: 'v1', reason: 'v1 is to be retired.' }] },
);

export type RepinBody = Static<typeof repinBody>;

/** The release that a worker announces, with the contracts of its code. */
export const announcedRelease = closed(
  {
    name: releaseName,
    digest,
    contracts: Type.Record(Type.String(), Type.String({ maxLength: 256 }), {
      maxProperties: 1_000,
      description: 'Digest of the contract of each pipeline, as the code of the worker has it.',
    }),
  },
  { description: 'Release that the worker runs. Absent: none.' },
);

/** A worker's claim loop sends it. */
export const announceBody = closed(
  {
    session: Type.String({
      pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
      description: 'Session of the worker.',
    }),
    pipelines: Type.Array(name, { maxItems: 1_000, description: 'Pipelines that it runs.' }),
    release: Type.Optional(announcedRelease),
    state: Type.Enum(['starting', 'ready', 'draining'], {
      description: '`starting`: before its first claim. `draining`: it takes no new work.',
    }),
    everyMs: Type.Integer({
      minimum: 1,
      maximum: 86_400_000,
      description: 'Interval of its announcements, in milliseconds.',
    }),
    room: documented(seq, 'Number of executions that it could take now.'),
  },
  {
    examples: [
      {
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        pipelines: ['order'],
        release: { name: 'v2', digest: 'sha256:7d41c2', contracts: { order: '9f86d081884c7d65' } },
        state: 'ready',
        everyMs: 5_000,
        room: 8,
      },
    ],
  },
);

const READERS = ['submit', 'operate', 'admin'] as const;

const NO_RELEASE = {
  404: { what: 'The pipeline has no such release.', codes: ['release-unknown'] },
} as const;

export const releaseOperations = {
  registerRelease: {
    at: 'POST /v1/pipelines/:pipeline/releases',
    tag: 'Releases',
    summary: 'Register a release',
    description:
      'Writes a release: name, artifact, digest and contract. A release never changes: repeating the same content writes nothing, and other content is refused. New executions do not use it until you activate it.',
    ...ADMIN,
    params: pipelineParams,
    body: registerBody,
    responses: {
      200: { what: 'The release is stored.', schema: registered },
      409: {
        what: 'The name is taken by another build, or by a retired release. Nothing was written.',
        codes: ['release-differs', 'release-retired'],
      },
    },
  },
  listReleases: {
    at: 'GET /v1/pipelines/:pipeline/releases',
    tag: 'Releases',
    summary: 'List the releases of a pipeline',
    description:
      'Returns the last 1,000 releases of a pipeline, newest first, with state and number of pinned executions.',
    allows: READERS,
    params: pipelineParams,
    responses: {
      200: {
        what: 'The releases.',
        schema: closed({ items: Type.Array(release, { description: 'The releases.' }) }),
      },
    },
  },
  listRollouts: {
    at: 'GET /v1/pipelines',
    tag: 'Releases',
    summary: 'List the rollouts of all pipelines',
    description:
      'Returns each pipeline that has releases, by name, and where its new executions go.',
    allows: READERS,
    query: closed(paging(pipelineName)),
    responses: { 200: { what: 'One page of rollouts.', schema: rolloutPage } },
  },
  compareRelease: {
    at: 'GET /v1/pipelines/:pipeline/releases/:name/changes',
    tag: 'Releases',
    summary: 'Compare the contracts of two releases',
    description:
      'Returns how the contract of a release differs from the active release, or from the one that you name.',
    allows: READERS,
    params: releaseParams,
    query: closed({
      against: Type.Optional(
        documented(
          releaseName,
          'Release to compare with. Default: the active one, or else the last active one.',
          'v1',
        ),
      ),
    }),
    responses: {
      200: { what: 'The changes, and whether they break something.', schema: compared },
      ...NO_RELEASE,
    },
  },
  readRollout: {
    at: 'GET /v1/pipelines/:pipeline/rollout',
    tag: 'Releases',
    summary: 'Read the rollout of a pipeline',
    description:
      'Returns where new executions of a pipeline go: the active release, and the canary with its percentage.',
    allows: READERS,
    params: pipelineParams,
    responses: { 200: { what: 'The rollout.', schema: rollout } },
  },
  listActivations: {
    at: 'GET /v1/pipelines/:pipeline/activations',
    tag: 'Releases',
    summary: 'List the changes of a rollout',
    description:
      'Returns who changed the rollout of a pipeline, when and why: the last 1,000 changes, newest first.',
    allows: READERS,
    params: pipelineParams,
    responses: { 200: { what: 'The changes.', schema: activationList } },
  },
  changeRollout: {
    at: 'POST /v1/pipelines/:pipeline/rollout',
    tag: 'Releases',
    summary: 'Change the rollout of a pipeline',
    description:
      'Activates a release, sets a canary, promotes it, rolls back, deactivates or retires. Writes the new rollout and one entry in its log, in one transaction. Send `expected` to make retries safe. A release that would break something is refused unless you force it.',
    ...ADMIN,
    params: pipelineParams,
    body: rolloutBody,
    responses: {
      200: { what: 'The rollout as it is now.', schema: rolloutChanged },
      ...NO_RELEASE,
      409: {
        what: 'The rollout does not allow this change. Nothing was written.',
        codes: [
          ...(['release-breaks', 'release-in-use', 'release-pinned', 'release-retired'] as const),
          ...(['rollout-changed', 'no-canary', 'already-active', 'nothing-before'] as const),
          ...(['nothing-active', 'force-without-reason'] as const),
        ],
      },
    },
  },
  preflightRelease: {
    at: 'POST /v1/pipelines/:pipeline/releases/:name/preflight',
    tag: 'Releases',
    summary: 'Check what a release would break',
    description:
      'Compares the contract, and lets workers of this release replay open executions with recorded results only. Stores the result with the release; executions do not change. Repeating it replaces the result.',
    ...ADMIN,
    isLong: true,
    params: releaseParams,
    body: preflightBody,
    responses: {
      200: { what: 'The result of the preflight.', schema: preflightFound },
      ...NO_RELEASE,
      409: {
        what: 'The worker that replayed for this release has another artifact.',
        codes: ['release-differs'],
      },
      503: {
        what: 'No worker of that release replayed the executions in time, or the store is unavailable.',
        codes: ['no-worker', 'store-unavailable'],
      },
    },
  },
  repinExecution: {
    at: 'POST /v1/executions/:id/repin',
    tag: 'Releases',
    summary: 'Repin an execution to another release',
    description:
      'Pins an open execution that no worker runs to another release, after a worker of that release has replayed it. Writes a history event and an audit record. Repeating it changes nothing.',
    ...ADMIN,
    isLong: true,
    params: idParams,
    body: repinBody,
    responses: {
      200: {
        what: 'The execution is pinned to that release.',
        schema: closed(
          {
            kind: Type.Enum(['repinned', 'no-change'], {
              description: '`no-change`: it was pinned there already.',
            }),
            id: executionId,
            release: Type.String({ description: 'Release that it is pinned to.' }),
          },
          {
            examples: [
              { kind: 'repinned', id: '01890a5d-ac96-774b-bcce-b302099a8057', release: 'v2' },
            ],
          },
        ),
      },
      404: {
        what: 'The project has no such execution, or the pipeline no such release.',
        codes: ['execution-unknown', 'release-unknown'],
      },
      409: {
        what: 'The execution cannot be repinned now. Nothing was written.',
        codes: [
          ...([
            'already-ended',
            'repin-while-running',
            'pinned-elsewhere',
            'repin-breaks',
          ] as const),
          ...(['repin-unchecked', 'execution-went-on', 'release-retired'] as const),
          ...(['release-differs', 'force-without-reason'] as const),
        ],
      },
    },
  },
  repinMany: {
    at: 'POST /v1/pipelines/:pipeline/repin',
    tag: 'Jobs',
    summary: 'Repin many executions to another release',
    description:
      'Starts a job that repins every open execution of a release, each after a worker has replayed it. Writes an audit record, unless it is a dry run. To make retries safe, send a `key`.',
    ...ADMIN,
    params: pipelineParams,
    body: bulkRepinBody,
    responses: {
      ...MADE,
      ...NO_RELEASE,
      409: {
        what: 'The release is retired, or the key belongs to a job with other content. Nothing was written.',
        codes: ['release-retired', 'key-conflict'],
      },
    },
  },
} as const satisfies Operations;
