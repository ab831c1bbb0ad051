// One argument of one function, as data: how to pass a value for it, and the name that the error
// must contain.

import type { WrongName } from './wrong-values.ts';

export interface Argument<Given> {
  /** The function, and the part of its arguments: `submit: key`. */
  readonly of: string;
  readonly expected: RegExp;
  /** Values that are not wrong here. */
  readonly fits: readonly WrongName[];
  hand(given: Given, value: unknown): unknown;
}

export type Fits = Readonly<Record<string, readonly WrongName[]>>;

/** For a function with an options object: the test passes one wrong option at a time. */
export interface Options<Given> {
  readonly of: string;
  /** The required options beside the wrong one. */
  readonly with?: object;
  /** All options. A test compares them with those that the function declares. */
  readonly names: Fits;
  /** Values that are valid in place of the options. */
  readonly fits?: readonly WrongName[];
  call(given: Given, options: unknown): unknown;
}

export function argumentsOf<Given>(options: Options<Given>): readonly Argument<Given>[] {
  const { of, with: base = {}, names, call } = options;
  const whole: Argument<Given> = {
    of,
    expected: /\w/,
    fits: options.fits ?? ['nothing', 'an object'],
    hand: call,
  };
  const parts = Object.entries(names).map(([name, fits]) => ({
    of: `${of}: ${name}`,
    expected: new RegExp(name, 'i'),
    fits,
    hand: (given: Given, value: unknown) => call(given, { ...base, [name]: value }),
  }));
  return [whole, ...parts];
}
