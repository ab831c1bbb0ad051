// What people look after executions with: awaits, the audit, refused writes.

import { type Argument, argumentsOf, type Options } from './argument.ts';
import { ACTING, type Given, IN_PROJECT } from './of-holdfast.ts';
import { NONE, NUMBER, optional, TEXT } from './wrong-values.ts';

export const OPTIONS_OF_OPERATORS: readonly Options<Given>[] = [
  ...(['answer', 'assign'] as const).map((of) => ({
    of: `awaits.${of}`,
    names: ACTING,
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast.awaits[of]({ execution: handle.id, name: 'q' }, 'x', options as object),
  })),
  {
    of: 'awaits.cancel',
    names: ACTING,
    call: ({ holdfast, handle }, options) =>
      holdfast.awaits.cancel({ execution: handle.id, name: 'q' }, options as object),
  },
  {
    of: 'awaits.extend',
    with: { timeoutMs: 1_000 },
    fits: NONE,
    names: { ...ACTING, timeoutMs: NUMBER },
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
      act: optional(NONE),
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
    names: { ...ACTING, reason: TEXT },
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
];

export const OF_OPERATORS: readonly Argument<Given>[] = [
  ...OPTIONS_OF_OPERATORS.flatMap(argumentsOf),
  {
    of: 'audit.note',
    says: /execution id/,
    fits: NONE,
    hand: ({ holdfast }, id) => holdfast.audit.note(id as string, { reason: 'seen' }),
  },
];
