// One argument of one function, as data: how to hand something in there, and what an answer must name.

import type { WrongName } from './wrong-values.ts';

export interface Argument<Given> {
  /** The function, and which part of what it takes: `submit: key`. */
  readonly of: string;
  readonly expected: RegExp;
  /** These are not wrong here. */
  readonly fits: readonly WrongName[];
  hand(given: Given, value: unknown): unknown;
}

export type Fits = Readonly<Record<string, readonly WrongName[]>>;

/** Of a function that takes an object of options, one of which is handed in at a time. */
export interface Options<Given> {
  readonly of: string;
  /** What it must have, besides the one that is wrong. */
  readonly with?: object;
  /** All there are: a test compares them with those that the function knows. */
  readonly names: Fits;
  /** What it may be given instead of options. */
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
