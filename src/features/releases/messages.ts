// Releases: builds of a pipeline, their rollout, and what a release would break.

import { type Static, Type } from 'typebox';
import { refParams } from '../../protocol/messages/execution.ts';
import { ADMIN, operationsOf } from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  count,
  documented,
  executionId,
  flag,
  instant,
  integerWithin,
  json,
  listOf,
  name,
  optional,
  pageOf,
  paging,
  pipelineName,
  reason,
  releaseName,
  seq,
  text,
  textLike,
  textWithin,
  titled,
  withExample,
} from '../../protocol/messages/words.ts';
import { bulkRepinBody, MADE } from '../repair/messages.ts';
import { ARTIFACT_URL_MAX, ARTIFACTS_MAX, MEDIA_TYPE, MEDIA_TYPE_MAX } from './artifacts-model.ts';
import { ROLLOUT_ACTIONS } from './model.ts';

const digest = textWithin(1, 256, 'Digest of the artifact.', 'sha256:7d41c2');
const percent = integerWithin(0, 99, 'Percent of new executions that go to the canary.', 10);

const pipelineParams = closed({ pipeline: pipelineName });
const releaseParams = closed({ pipeline: pipelineName, name: releaseName });

const artifacts = optional(
  Type.Array(
    closed(
      {
        name: documented(name, 'Name of the artifact, unique in the release.'),
        digest,
        size: optional(count, 'Size in bytes.'),
        url: optional(
          textWithin(1, ARTIFACT_URL_MAX, 'Place to get it from, without user name or password.'),
        ),
        mediaType: optional(
          Type.String({
            pattern: MEDIA_TYPE,
            maxLength: MEDIA_TYPE_MAX,
            description: 'Media type.',
          }),
        ),
      },
      titled('Artifact', {
        name: 'shop/mailer',
        digest: 'sha256:1f0be2',
        size: 48_211_968,
        url: 'oci://registry.example/shop/mailer',
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
      }),
    ),
    {
      maxItems: ARTIFACTS_MAX,
      description:
        'Further artifacts, by name. A worker of the release may show any of their digests.',
    },
  ),
);

const registerBody = closed(
  {
    name: releaseName,
    artifact: documented(name, 'The build: an image, a package or a bundle.', 'shop/orders'),
    digest,
    artifacts,
    contract: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Contract of the pipeline, as `holdfast contract build` writes it.',
    }),
  },
  titled('RegisterBody', {
    name: 'v2',
    artifact: 'shop/orders',
    digest: 'sha256:7d41c2',
    contract: { pipeline: 'order' },
  }),
);

export type RegisterBody = Static<typeof registerBody>;

export const registered = closed({
  existing: flag('True if the same release was registered before.'),
});

const change = closed(
  {
    part: text('Part of the contract, such as `input` or `await:approve`.'),
    path: text('Path inside that part. Empty: all of it.'),
    breaking: flag('True if existing callers or executions would break.'),
    what: text('The change, for people.'),
  },
  titled('ContractChange', {
    part: 'input',
    path: '/currency',
    breaking: true,
    what: 'The property is required now.',
  }),
);

const broken = closed(
  {
    execution: executionId,
    release: optional(text('Release that it is pinned to.')),
    seq: optional(count, 'Event in its history where the new code differs.'),
    why: text('The recorded call and the call of the code, for people.'),
  },
  { title: 'BrokenReplay' },
);

const FOUND = {
  against: optional(text('Release that the contract was compared with, if there was one.')),
  changes: listOf(change, 'Changes of the contract.'),
  open: documented(count, 'Number of open executions.'),
  replayed: documented(count, 'Number of open executions that a worker replayed.'),
  broken: listOf(broken, 'Executions whose replay failed: the first 100.'),
  brokenCount: documented(count, 'Number of executions whose replay failed.'),
};

const preflightBody = closed(
  {
    sample: optional(
      integerWithin(
        1,
        10_000_000,
        'Number of open executions to replay, spread over all. Default: all.',
      ),
    ),
    waitMs: optional(
      integerWithin(
        1,
        60_000,
        'Time that workers have for each hundred, in milliseconds. Default: 30000.',
      ),
    ),
  },
  withExample({ sample: 1_000 }),
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
  { breaking: flag('True if the contract or at least one open execution would break.'), ...FOUND },
  titled('PreflightFound', { breaking: false, ...FOUND_EXAMPLE }),
);

export type PreflightMessage = Static<typeof preflightFound>;

const release = closed(
  {
    pipeline: text('Name of the pipeline.'),
    name: releaseName,
    state: choice(
      ['registered', 'canary', 'active', 'draining', 'drained', 'retired'],
      '`draining`: not active any more, but open executions are pinned to it. `drained`: none are.',
    ),
    pinned: documented(count, 'Number of open executions that are pinned to it.'),
    artifact: text('The build.'),
    digest,
    artifacts,
    contractVersion: text('Digest of its contract.'),
    input: optional(json('JSON Schema of its input, if its contract has one.')),
    createdAt: documented(instant, 'When it was registered.'),
    createdBy: text('The actor that registered it.'),
    preflight: optional(
      closed(
        { at: documented(instant, 'When it ran.'), ...FOUND },
        { description: 'Result of its last preflight.' },
      ),
    ),
    retiredAt: optional(instant, 'When it was retired.'),
  },
  titled('Release', {
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
  }),
);

export type ReleaseMessage = Static<typeof release>;

const ROLLOUT = {
  active: optional(text('Release that new executions go to.')),
  previous: optional(text('Release that was active before.')),
  canary: optional(text('Release that gets `percent` of them.')),
  percent: optional(percent),
};

const rolloutVersion = documented(
  count,
  'Rises by one with each change. 0: nothing was changed yet.',
);

const ROLLOUT_EXAMPLE = { version: 3, active: 'v1', canary: 'v2', percent: 10 };

export const rollout = closed(
  { version: rolloutVersion, ...ROLLOUT },
  titled('Rollout', ROLLOUT_EXAMPLE),
);

export type RolloutMessage = Static<typeof rollout>;

const rolloutPage = pageOf(
  closed(
    { pipeline: text('Name of the pipeline.'), version: rolloutVersion, ...ROLLOUT },
    titled('PipelineRollout', { pipeline: 'order', ...ROLLOUT_EXAMPLE }),
  ),
);

export type PipelineRolloutMessage = Static<typeof rolloutPage>['items'][number];

const compared = closed(
  {
    against: optional(text('Release that it was compared with. Absent if there was none.')),
    breaking: flag('True if at least one change breaks something.'),
    changes: listOf(change, 'All changes.'),
  },
  withExample({ against: 'v1', breaking: false, changes: [] }),
);

export type ComparedMessage = Static<typeof compared>;

const rolloutAction = choice(
  [...ROLLOUT_ACTIONS],
  '`set-canary` makes a release the canary, `promote` activates the canary, `deactivate` stops pinning new executions.',
);

const rolloutBody = closed(
  {
    action: rolloutAction,
    name: optional(releaseName, 'Release to activate, to make the canary, or to retire.'),
    percent: optional(
      percent,
      'Percent of new executions, for `set-canary`. 0 removes the canary.',
    ),
    expected: optional(count, 'Version that you saw. The change is refused if it differs.'),
    force: optional(
      flag('Change it although something would break. Needs a `reason`. Default: false.'),
    ),
    reason: optional(reason),
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
    kind: choice(['changed', 'no-change'], '`no-change`: the rollout was like this already.'),
    rollout,
  },
  withExample({ kind: 'changed', rollout: ROLLOUT_EXAMPLE }),
);

const activationList = closed({
  items: listOf(
    closed(
      {
        version: documented(count, 'Version of the rollout that it made.'),
        at: documented(instant, 'When it was changed.'),
        action: rolloutAction,
        name: text('Release that it was about.'),
        actor: text('The actor.'),
        reason: text('Reason that the caller gave. Empty if none.'),
        forced: flag('True if it was forced.'),
        before: closed(ROLLOUT, { description: 'The rollout before the change.' }),
        after: closed(ROLLOUT, { description: 'The rollout after the change.' }),
      },
      titled('Activation', {
        version: 3,
        at: '2026-11-17T09:10:00.000Z',
        action: 'set-canary',
        name: 'v2',
        actor: 'ann (a2b3c4d5e6f7a2b3)',
        reason: '',
        forced: false,
        before: { active: 'v1' },
        after: { active: 'v1', canary: 'v2', percent: 10 },
      }),
    ),
    'Changes, newest first, at most 1,000.',
  ),
});

export type ActivationMessage = Static<typeof activationList>['items'][number];

const repinBody = closed(
  {
    to: documented(releaseName, 'Release to pin it to.'),
    from: optional(
      Type.Union([releaseName, Type.Null()], {
        description: 'Release that it must be pinned to now; null: none. Default: any.',
      }),
    ),
    force: optional(flag('Repin it without a replay. Needs a `reason`. Default: false.')),
    reason: optional(reason),
  },
  titled('RepinBody', { to: 'v2', from: 'v1', reason: 'v1 is to be retired.' }),
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
    session: textLike('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 'Session of the worker.'),
    pipelines: Type.Array(name, { maxItems: 1_000, description: 'Pipelines that it runs.' }),
    release: optional(announcedRelease),
    inputs: optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: 1_000,
        description:
          'JSON Schema of the input of each pipeline that has one, for forms; at most 65,536 characters together. Default: as announced before.',
      }),
    ),
    state: choice(
      ['starting', 'ready', 'draining'],
      '`starting`: before its first claim. `draining`: it takes no new work.',
    ),
    everyMs: integerWithin(1, 86_400_000, 'Interval of its announcements, in milliseconds.'),
    room: documented(seq, 'Number of executions that it could take now.'),
  },
  withExample({
    session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
    pipelines: ['order'],
    release: { name: 'v2', digest: 'sha256:7d41c2', contracts: { order: '9f86d081884c7d65' } },
    state: 'ready',
    everyMs: 5_000,
    room: 8,
  }),
);

const READERS = ['submit', 'operate', 'admin'] as const;

const NO_RELEASE = {
  404: { what: 'The pipeline has no such release.', codes: ['release-unknown'] },
} as const;

export const releaseOperations = operationsOf('Releases', {
  registerRelease: {
    at: 'POST /v1/pipelines/:pipeline/releases',
    summary: 'Register a release',
    description:
      'Writes a release: name, artifacts, digests and contract. A release never changes: repeating the same content writes nothing, and other content is refused. New executions do not use it until you activate it.',
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
    summary: 'List the releases of a pipeline',
    description:
      'Returns the last 1,000 releases of a pipeline, newest first, with state and number of pinned executions. Fewer if their contracts and preflights have more than 4 MiB together.',
    allows: READERS,
    params: pipelineParams,
    responses: {
      200: { what: 'The releases.', schema: closed({ items: listOf(release, 'The releases.') }) },
    },
  },
  readInput: {
    at: 'GET /v1/pipelines/:pipeline/input',
    summary: "Read the schema of a pipeline's input",
    description:
      'Returns the JSON Schema that the active release has, or else the worker that announced itself last. Use it for forms. The response has no schema if neither has one.',
    allows: READERS,
    params: pipelineParams,
    responses: {
      200: {
        what: 'The schema, if there is one.',
        schema: closed({ input: optional(json('JSON Schema of the input.')) }),
      },
    },
  },
  listRollouts: {
    at: 'GET /v1/pipelines',
    summary: 'List the rollouts of all pipelines',
    description:
      'Returns each pipeline that has releases, by name, and where its new executions go.',
    allows: READERS,
    query: closed(paging(pipelineName)),
    responses: { 200: { what: 'One page of rollouts.', schema: rolloutPage } },
  },
  compareRelease: {
    at: 'GET /v1/pipelines/:pipeline/releases/:name/changes',
    summary: 'Compare the contracts of two releases',
    description:
      'Returns how the contract of a release differs from the active release, or from the one that you name.',
    allows: READERS,
    params: releaseParams,
    query: closed({
      against: optional(
        releaseName,
        'Release to compare with. Default: the active one, or else the last active one.',
        'v1',
      ),
    }),
    responses: {
      200: { what: 'The changes, and whether they break something.', schema: compared },
      ...NO_RELEASE,
    },
  },
  readRollout: {
    at: 'GET /v1/pipelines/:pipeline/rollout',
    summary: 'Read the rollout of a pipeline',
    description:
      'Returns where new executions of a pipeline go: the active release, and the canary with its percentage.',
    allows: READERS,
    params: pipelineParams,
    responses: { 200: { what: 'The rollout.', schema: rollout } },
  },
  listActivations: {
    at: 'GET /v1/pipelines/:pipeline/activations',
    summary: 'List the changes of a rollout',
    description:
      'Returns who changed the rollout of a pipeline, when and why: the last 1,000 changes, newest first.',
    allows: READERS,
    params: pipelineParams,
    responses: { 200: { what: 'The changes.', schema: activationList } },
  },
  changeRollout: {
    at: 'POST /v1/pipelines/:pipeline/rollout',
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
    summary: 'Repin an execution to another release',
    description:
      'Pins an open execution that no worker runs to another release, after a worker of that release has replayed it. Writes a history event and an audit record. Repeating it changes nothing.',
    ...ADMIN,
    isLong: true,
    params: refParams,
    body: repinBody,
    responses: {
      200: {
        what: 'The execution is pinned to that release.',
        schema: closed(
          {
            kind: choice(['repinned', 'no-change'], '`no-change`: it was pinned there already.'),
            id: executionId,
            release: text('Release that it is pinned to.'),
          },
          withExample({
            kind: 'repinned',
            id: '01890a5d-ac96-774b-bcce-b302099a8057',
            release: 'v2',
          }),
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
});
