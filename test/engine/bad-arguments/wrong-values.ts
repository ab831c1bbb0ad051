// Values that people and their libraries pass by mistake, and values of hostile callers. Each is
// wrong somewhere; `fits` of an argument lists the exceptions.

const hostile: ProxyHandler<object> = {
  get: thrower,
  has: thrower,
  ownKeys: thrower,
  getPrototypeOf: thrower,
  getOwnPropertyDescriptor: thrower,
  isExtensible: thrower,
};

function thrower(): never {
  // Not even an error: no part of it can be shown.
  throw null;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

export const WRONG: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  null: null,
  true: true,
  'a number': 5,
  'a negative number': -1,
  'a fraction': 1.5,
  NaN: Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
  'a bigint': 1n,
  'a symbol': Symbol('wrong'),
  text: 'x',
  'empty text': '',
  'text with NUL': 'a\0b',
  'half a character': '\udc00',
  'an array': [],
  'an array of null': [null],
  'an object': {},
  'an object with an odd name': { unknownOption: 1 },
  'a function': () => 1,
  'a date': new Date(Number.NaN),
  'a map': new Map(),
  'a promise': Promise.resolve(1),
  'a getter that throws': {
    get unknownOption(): never {
      throw new RangeError('from inside');
    },
  },
  'an object whose properties throw': new Proxy(
    {},
    {
      get() {
        throw new RangeError('from inside');
      },
    },
  ),
  'a proxy that throws at everything': new Proxy({}, hostile),
  'a proxy that was revoked': revoked(),
};

/** The name of each value above. A test checks that it exists. */
export type WrongName = string;

export const WRONG_NAMES: readonly WrongName[] = Object.keys(WRONG);

// The values that are right, by type of argument.

export const TEXT: readonly WrongName[] = ['text'];
export const NUMBER: readonly WrongName[] = ['a number'];
export const FUNCTION: readonly WrongName[] = ['a function'];
export const NONE: readonly WrongName[] = [];
/** Values that can be stored. */
export const VALUE: readonly WrongName[] = [
  ...['nothing', 'null', 'true', 'a number', 'a negative number', 'a fraction', 'text'],
  ...['empty text', 'text with NUL', 'half a character', 'an array', 'an array of null'],
  ...['an object', 'an object with an odd name', 'a bigint', 'a date', 'a map'],
];
/** Values of an attribute. */
export const LABEL: readonly WrongName[] = [
  ...['true', 'a number', 'a negative number', 'a fraction', 'text', 'empty text'],
];
export const ANY_TEXT: readonly WrongName[] = [
  ...['text', 'empty text', 'text with NUL', 'half a character'],
];

export function optional(fits: readonly WrongName[]): readonly WrongName[] {
  return ['nothing', ...fits];
}

/** The common options of submits. */
export const SUBMITTING: Readonly<Record<string, readonly WrongName[]>> = {
  project: optional(TEXT),
  actor: optional(TEXT),
  traceparent: optional(TEXT),
  release: optional(TEXT),
  ifNoWorker: optional(NONE),
  ifKeyTaken: optional(NONE),
};
