// Every argument of release calls.

import type { Releases } from '../../../src/features/releases/api.ts';
import type { Argument, Fits, Options } from './argument.ts';
import { type Given, IN_PROJECT, OPERATION } from './of-holdfast.ts';
import { fine } from './on-holdfast.ts';
import { NONE, NUMBER, optional, TEXT } from './wrong-values.ts';

const ROLLOUT: Fits = {
  ...OPERATION,
  expected: optional([...NUMBER, 'a number']),
  force: optional(['true']),
};

type Method = keyof Releases;

const ofRollout = (of: 'promote' | 'rollBack' | 'deactivate'): Options<Given> => ({
  of: `releases.${of}`,
  names: ROLLOUT,
  call: ({ holdfast }, options) => holdfast.releases[of]('p', options as object),
});

const ofRelease = (of: 'activate' | 'retire'): Options<Given> => ({
  of: `releases.${of}`,
  names: ROLLOUT,
  call: ({ holdfast }, options) => holdfast.releases[of]('p', 'v1', options as object),
});

const ofProject = (of: 'list' | 'rollout' | 'log'): Options<Given> => ({
  of: `releases.${of}`,
  names: IN_PROJECT,
  call: ({ holdfast }, options) => holdfast.releases[of]('p', options as object),
});

export const OPTIONS_OF_RELEASES: readonly Options<Given>[] = [
  {
    of: 'releases.register',
    with: { pipeline: fine, name: 'v1', artifact: 'a', digest: 'd' },
    fits: NONE,
    names: {
      ...IN_PROJECT,
      pipeline: NONE,
      name: ['text'],
      artifact: TEXT,
      digest: TEXT,
      artifacts: optional(['an array']),
      actor: optional(TEXT),
    },
    call: ({ holdfast }, options) => holdfast.releases.register(options as never),
  },
  ...(['list', 'rollout', 'log'] as const).map(ofProject),
  ...(['activate', 'retire'] as const).map(ofRelease),
  ...(['promote', 'rollBack', 'deactivate'] as const).map(ofRollout),
  {
    of: 'releases.setCanary',
    names: ROLLOUT,
    call: ({ holdfast }, options) =>
      holdfast.releases.setCanary('p', { name: 'v1', percent: 5 }, options as object),
  },
  {
    of: 'releases.setCanary: to',
    with: { name: 'v1', percent: 5 },
    fits: NONE,
    names: { name: ['text'], percent: NUMBER },
    call: ({ holdfast }, to) => holdfast.releases.setCanary('p', to as never),
  },
  {
    of: 'releases.rollouts',
    names: { ...IN_PROJECT, cursor: optional(TEXT), limit: optional(['a number']) },
    call: ({ holdfast }, options) => holdfast.releases.rollouts(options as object),
  },
  {
    of: 'releases.compare',
    names: { ...IN_PROJECT, against: optional(['text']) },
    call: ({ holdfast }, options) => holdfast.releases.compare('p', 'v1', options as object),
  },
  {
    of: 'releases.preflight',
    names: { ...IN_PROJECT, sample: optional(['a number']), waitMs: optional(['a number']) },
    call: ({ holdfast }, options) => holdfast.releases.preflight('p', 'v1', options as object),
  },
  {
    of: 'releases.repin',
    names: {
      ...OPERATION,
      from: optional(['text', 'null']),
      force: optional(['true']),
      waitMs: optional(['a number']),
    },
    call: ({ holdfast, handle }, options) =>
      holdfast.releases.repin(handle.id, 'v1', options as object),
  },
  {
    of: 'bulk.repin',
    with: { filter: { pipeline: 'p', release: 'v1' }, to: 'v2' },
    fits: NONE,
    names: {
      filter: ['an object'],
      to: ['text'],
      perSecond: optional(['a number']),
      dryRun: optional(['true']),
      actor: optional(TEXT),
      reason: optional(['text', 'empty text']),
      key: optional(TEXT),
    },
    call: ({ holdfast }, options) => holdfast.bulk.repin(options as never),
  },
  {
    of: 'bulk.repin filter',
    with: { pipeline: 'p', release: 'v1' },
    fits: NONE,
    names: { ...IN_PROJECT, pipeline: TEXT, release: ['text', 'null'] },
    call: ({ holdfast }, filter) => holdfast.bulk.repin({ filter, to: 'v2' } as never),
  },
  {
    of: 'releases.adopt',
    with: { source: 'x' },
    fits: NONE,
    names: { ...IN_PROJECT, source: TEXT, actor: optional(TEXT) },
    call: ({ holdfast }, options) => holdfast.releases.adopt([], options as never),
  },
  {
    of: 'releases.workers',
    names: IN_PROJECT,
    call: ({ holdfast }, options) => holdfast.releases.workers(options as object),
  },
];

const pipelineOf = (of: Method, hand: Argument<Given>['hand']): Argument<Given> => ({
  of: `releases.${of}`,
  expected: /pipeline/,
  fits: TEXT,
  hand,
});
const nameOf = (of: Method, hand: Argument<Given>['hand']): Argument<Given> => ({
  of: `releases.${of}`,
  expected: /release/,
  fits: ['text'],
  hand,
});

/** Arguments that are not options. */
export const ARGUMENTS_OF_RELEASES: readonly Argument<Given>[] = [
  ...(['list', 'rollout', 'log', 'promote', 'rollBack', 'deactivate'] as const).map((of) =>
    pipelineOf(of, ({ holdfast }, pipeline) => holdfast.releases[of](pipeline as string)),
  ),
  ...(['activate', 'retire', 'preflight', 'compare'] as const).flatMap((of) => [
    pipelineOf(of, ({ holdfast }, pipeline) => holdfast.releases[of](pipeline as string, 'v1')),
    nameOf(of, ({ holdfast }, name) => holdfast.releases[of]('p', name as string)),
  ]),
  {
    of: 'releases.adopt',
    expected: /pipelines/,
    fits: ['an array'],
    hand: ({ holdfast }, pipelines) => holdfast.releases.adopt(pipelines as [], { source: 'x' }),
  },
  nameOf('repin', ({ holdfast, handle }, to) => holdfast.releases.repin(handle.id, to as string)),
  {
    of: 'releases.repin',
    expected: /execution id/,
    fits: NONE,
    hand: ({ holdfast }, id) => holdfast.releases.repin(id as string, 'v1'),
  },
];
