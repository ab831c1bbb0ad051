// Every argument of a context: the values that pipeline code can pass.

import type { Context } from '../../../src/engine/context.ts';
import { remoteStep } from '../../../src/engine/pipeline.ts';
import { type Argument, argumentsOf, type Fits, type Options } from './argument.ts';
import { PLACING, partsOfLimits } from './of-holdfast.ts';
import { ANY_TEXT, FUNCTION, LABEL, NONE, NUMBER, optional, TEXT, VALUE } from './wrong-values.ts';

const STEP: Fits = {
  retry: optional(['an object']),
  timeoutMs: optional(NUMBER),
  heartbeatTimeoutMs: optional(NUMBER),
  circuit: optional(TEXT),
  compensate: optional(FUNCTION),
};

export const OPTIONS_OF_CODE: readonly Options<Context>[] = [
  {
    of: 'step',
    names: STEP,
    call: (ctx, options) => ctx.step('s', () => 1, options as object),
  },
  {
    of: 'map',
    with: { run: () => 1 },
    fits: NONE,
    names: { ...STEP, run: FUNCTION, concurrency: optional(NUMBER) },
    call: (ctx, over) => ctx.map('m', [1], over as never),
  },
  {
    of: 'spawn',
    names: { ...PLACING, name: optional(TEXT), key: optional(TEXT), onParentEnd: optional(NONE) },
    call: (ctx, options) => ctx.spawn('p', 1, options as object),
  },
  {
    of: 'call',
    names: { ...PLACING, name: optional(TEXT), key: optional(NONE), onParentEnd: optional(NONE) },
    call: (ctx, options) => ctx.call(nowhere, 1, options as object),
  },
  {
    of: 'receive',
    names: { timeoutMs: optional(NUMBER), update: optional(['true']) },
    call: (ctx, options) => ctx.receive('r', options as object),
  },
  {
    of: 'fanOut',
    names: { ...PLACING, name: optional(TEXT), key: optional(NONE), onParentEnd: optional(NONE) },
    call: (ctx, options) => ctx.fanOut('p', [1], options as object),
  },
  {
    of: 'scope',
    with: { onCancel: () => undefined },
    names: { onCancel: FUNCTION, cleanupMs: optional(NUMBER) },
    call: (ctx, options) => ctx.scope(() => undefined, options as never),
  },
];

const nowhere = remoteStep({ name: 'nowhere' });

const one = (
  of: string,
  expected: RegExp,
  rest: Pick<Argument<Context>, 'fits' | 'hand'>,
): Argument<Context> => ({ of, expected, ...rest });

const PLAIN: readonly Argument<Context>[] = [
  one('step', /name/, { fits: TEXT, hand: (ctx, name) => ctx.step(name as string, () => 1) }),
  one('step', /function/, {
    fits: FUNCTION,
    hand: (ctx, fn) => ctx.step('s', fn as () => number),
  }),
  one('lease', /resource|[Kk]ey/, {
    fits: TEXT,
    hand: (ctx, resource) => ctx.lease(resource as string, () => 1),
  }),
  one('lease', /second argument/, {
    fits: FUNCTION,
    hand: (ctx, block) => ctx.lease('r', block as () => number),
  }),
  one('assertHeld', /marginMs/, {
    fits: optional(NUMBER),
    hand: (ctx, margin) => ctx.step('s', (step) => step.assertHeld(margin as number)),
  }),
  one('heartbeat', /heartbeat details/, {
    fits: VALUE,
    hand: (ctx, details) => ctx.step('s', (step) => step.heartbeat(details)),
  }),
  one('map', /name/, {
    fits: TEXT,
    hand: (ctx, name) => ctx.map(name as string, [1], { run: () => 1 }),
  }),
  one('map', /items/, {
    fits: ['an array', 'an array of null'],
    hand: (ctx, items) => ctx.map('m', items as [], { run: () => 1 }),
  }),
  one('transaction', /name/, {
    fits: TEXT,
    hand: (ctx, name) => ctx.transaction(name as string, () => 1),
  }),
  one('transaction', /function/, {
    fits: FUNCTION,
    hand: (ctx, fn) => ctx.transaction('t', fn as () => number),
  }),
  one('sleep', /sleep/, { fits: NUMBER, hand: (ctx, ms) => ctx.sleep(ms as number) }),
  one('sleep', /name/, {
    fits: optional(TEXT),
    hand: (ctx, name) => ctx.sleep(1, name as string),
  }),
  one('sleepUntil', /sleepUntil/, {
    fits: NONE,
    hand: (ctx, time) => ctx.sleepUntil(time as Date),
  }),
  one('sleepUntil', /name/, {
    fits: optional(TEXT),
    hand: (ctx, name) => ctx.sleepUntil(new Date(0), name as string),
  }),
  one('spawn', /pipeline/, { fits: TEXT, hand: (ctx, wrong) => ctx.spawn(wrong as string, 1) }),
  one('spawn', /template/, {
    fits: TEXT,
    hand: (ctx, template) => ctx.spawn({ template: template as string }, 1),
  }),
  one('spawn', /version/, {
    fits: [...NUMBER, 'nothing'],
    hand: (ctx, version) => ctx.spawn({ template: 't', version: version as number }, 1),
  }),
  one('spawn', /input/, { fits: VALUE, hand: (ctx, wrong) => ctx.spawn('p', wrong) }),
  one('call', /step/, { fits: NONE, hand: (ctx, wrong) => ctx.call(wrong as never, 1) }),
  one('call', /input/, { fits: VALUE, hand: (ctx, wrong) => ctx.call(nowhere, wrong) }),
  one('fanOut', /pipeline/, {
    fits: TEXT,
    hand: (ctx, wrong) => ctx.fanOut(wrong as string, [1]),
  }),
  one('fanOut', /inputs/, {
    fits: ['an array', 'an array of null'],
    hand: (ctx, inputs) => ctx.fanOut('p', inputs as []),
  }),
  one('fanOut', /input/, { fits: VALUE, hand: (ctx, wrong) => ctx.fanOut('p', [1, wrong]) }),
  one('scope', /first argument/, {
    fits: FUNCTION,
    hand: (ctx, block) => ctx.scope(block as never, { onCancel: () => undefined }),
  }),
  one('receive', /name/, { fits: TEXT, hand: (ctx, name) => ctx.receive(name as string) }),
  one('await', /name|question/, { fits: TEXT, hand: (ctx, name) => ctx.await(name as string) }),
  one('checkpoint', /checkpoint/, { fits: VALUE, hand: (ctx, state) => ctx.checkpoint(state) }),
  one('publish', /name/, { fits: TEXT, hand: (ctx, name) => ctx.publish(name as string, 1) }),
  one('publish', /value/, { fits: VALUE, hand: (ctx, value) => ctx.publish('x', value) }),
  one('onQuery', /query|function/, {
    fits: NONE,
    hand: (ctx, name) => ctx.onQuery(name as string, () => 1),
  }),
  one('onQuery', /function/, {
    fits: FUNCTION,
    hand: (ctx, answer) => ctx.onQuery('q', answer as never),
  }),
  one('attach', /name/, { fits: TEXT, hand: (ctx, name) => ctx.attach(name as string, 'x') }),
  one('attach', /content/, {
    fits: ['text', 'empty text', 'text with NUL'],
    hand: (ctx, content) => ctx.attach('a', content as string),
  }),
  one('attach', /type/, {
    fits: optional(TEXT),
    hand: (ctx, type) => ctx.attach('a', 'x', type as string),
  }),
  one('continueAsNew', /input/, {
    fits: VALUE,
    hand: (ctx, input) => ctx.continueAsNew(input),
  }),
  one('setAttributes', /attributes/, {
    fits: ['an object', 'an object with an odd name', 'an object whose properties throw'],
    hand: (ctx, changes) => ctx.setAttributes(changes as never),
  }),
  one('setAttributes: odd', /attributes\.odd/, {
    fits: ['nothing', 'null', ...LABEL],
    hand: (ctx, odd) => ctx.setAttributes({ odd } as never),
  }),
  one('patched', /name/i, { fits: ANY_TEXT, hand: (ctx, name) => ctx.patched(name as string) }),
  one('log', /message/, { fits: ANY_TEXT, hand: (ctx, message) => ctx.log(message as string) }),
  one('progress', /progress/i, { fits: VALUE, hand: (ctx, value) => ctx.progress(value) }),
];

export const OF_CODE: readonly Argument<Context>[] = [
  ...OPTIONS_OF_CODE.flatMap(argumentsOf),
  ...PLAIN,
  ...partsOfLimits<Context>('spawn', (ctx, options) => ctx.spawn('p', 1, options)),
  ...partsOfLimits<Context>('fanOut', (ctx, options) => ctx.fanOut('p', [1], options)),
  one('spawn: attributes.odd', /attributes\.odd/, {
    fits: LABEL,
    hand: (ctx, odd) => ctx.spawn('p', 1, { attributes: { odd } as never }),
  }),
];
