// Every argument of operator calls: awaits, the audit, refused writes, releases, the archive.

import { type Argument, argumentsOf, type Fits, type Options } from './argument.ts';
import { type Given, IN_PROJECT, OPERATION } from './of-holdfast.ts';
import { ARGUMENTS_OF_RELEASES, OPTIONS_OF_RELEASES } from './of-releases.ts';
import { NONE, NUMBER, optional, TEXT, WRONG_NAMES } from './wrong-values.ts';

export const OPTIONS_OF_OPERATORS: readonly Options<Given>[] = [
  {
    of: 'decode',
    names: IN_PROJECT,
    call: ({ holdfast }, options) => holdfast.decode({}, options as object),
  },
  ...(['answer', 'assign'] as const).map((of) => ({
    of: `awaits.${of}`,
    names: OPERATION,
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast.awaits[of]({ execution: handle.id, name: 'q' }, 'x', options as object),
  })),
  {
    of: 'awaits.answerAll',
    names: OPERATION,
    call: ({ holdfast, handle }, options) =>
      holdfast.awaits.answerAll([{ execution: handle.id, name: 'q' }], 'x', options as object),
  },
  {
    of: 'awaits.cancel',
    names: OPERATION,
    call: ({ holdfast, handle }, options) =>
      holdfast.awaits.cancel({ execution: handle.id, name: 'q' }, options as object),
  },
  {
    of: 'awaits.extend',
    with: { timeoutMs: 1_000 },
    fits: NONE,
    names: { ...OPERATION, timeoutMs: NUMBER },
    call: ({ holdfast, handle }, options) =>
      holdfast.awaits.extend({ execution: handle.id, name: 'q' }, options as never),
  },
  {
    of: 'repair.reconcile',
    names: { dryRun: optional(['true']), limit: optional(['a number']) },
    call: ({ holdfast }, options) => holdfast.repair.reconcile(options as object),
  },
  {
    of: 'audit.list',
    names: {
      ...IN_PROJECT,
      target: optional(NONE),
      actor: optional(TEXT),
      action: optional(NONE),
      execution: optional(NONE),
      from: optional(NUMBER),
      to: optional(NUMBER),
      cursor: optional(NONE),
      limit: optional(NUMBER),
    },
    call: ({ holdfast }, options) => holdfast.audit.list(options as object),
  },
  {
    of: 'audit.list: target',
    with: { kind: 'schedule', id: 's' },
    fits: ['nothing'],
    names: { kind: NONE, id: TEXT },
    call: ({ holdfast }, target) => holdfast.audit.list({ target } as object),
  },
  {
    of: 'audit.note',
    with: { reason: 'seen' },
    fits: NONE,
    names: { ...OPERATION, reason: TEXT },
    call: ({ holdfast, handle }, options) => holdfast.audit.note(handle.id, options as never),
  },
  {
    of: 'refusals',
    names: {
      ...IN_PROJECT,
      execution: optional(NONE),
      cursor: optional(NONE),
      limit: optional(NUMBER),
    },
    call: ({ holdfast }, options) => holdfast.refusals(options as object),
  },
  ...OPTIONS_OF_RELEASES,
];

const ARCHIVED: Fits = {
  ...IN_PROJECT,
  pipeline: optional(TEXT),
  status: optional(NONE),
  tag: optional(TEXT),
  text: optional(TEXT),
  from: optional(NONE),
  to: optional(NONE),
  cursor: optional(NONE),
  limit: optional(NUMBER),
};

export const OPTIONS_OF_ARCHIVE: readonly Options<Given>[] = [
  {
    of: 'archive.list',
    names: ARCHIVED,
    call: ({ holdfast }, options) => holdfast.archive.list(options as object),
  },
  {
    of: 'archive.search',
    // The first argument overrides this option.
    names: { ...ARCHIVED, text: [...WRONG_NAMES] },
    call: ({ holdfast }, options) => holdfast.archive.search('x', options as object),
  },
  {
    of: 'archive.run',
    names: { ...IN_PROJECT, cursor: optional(NONE), limit: optional(NUMBER) },
    call: ({ holdfast }, options) => holdfast.archive.run(options as object),
  },
];

export const OF_OPERATORS: readonly Argument<Given>[] = [
  ...(['get', 'verify'] as const).map((of) => ({
    of: `archive.${of}`,
    expected: /execution id/,
    fits: NONE,
    hand: ({ holdfast }: Given, id: unknown) => holdfast.archive[of](id as string),
  })),
  {
    of: 'archive.document',
    expected: /execution id/,
    fits: NONE,
    hand: ({ holdfast }, id) => holdfast.archive.document(id as string, 'report.md'),
  },
  {
    of: 'archive.document',
    expected: /document/,
    fits: TEXT,
    hand: ({ holdfast, handle }, name) => holdfast.archive.document(handle.id, name as string),
  },
  {
    of: 'archive.search',
    expected: /text/,
    fits: TEXT,
    hand: ({ holdfast }, text) => holdfast.archive.search(text as string),
  },
  ...OPTIONS_OF_OPERATORS.flatMap(argumentsOf),
  ...OPTIONS_OF_ARCHIVE.flatMap(argumentsOf),
  {
    of: 'audit.note',
    expected: /execution id/,
    fits: NONE,
    hand: ({ holdfast }, id) => holdfast.audit.note(id as string, { reason: 'seen' }),
  },
  ...ARGUMENTS_OF_RELEASES,
];

export { Releases } from '../../../src/features/releases/api.ts';
