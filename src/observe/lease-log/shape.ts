// A small checker for what a log line holds. It says which field is wrong and why, in the words of
// the log; what passes has the shape of its type.

import { shown } from '../../support/options.ts';

export type Check = (value: unknown, path: string) => string | undefined;

export const text: Check = (value, path) =>
  typeof value === 'string' && value !== ''
    ? undefined
    : `${path} must be text; got ${shown(value)}`;

export const number: Check = (value, path) =>
  typeof value === 'number' && Number.isFinite(value)
    ? undefined
    : `${path} must be a number; got ${shown(value)}`;

export const whole: Check = (value, path) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? undefined
    : `${path} must be a whole number, zero or more; got ${shown(value)}`;

export function oneOf(words: readonly string[]): Check {
  return (value, path) =>
    typeof value === 'string' && words.includes(value)
      ? undefined
      : `${path} must be one of ${words.join(', ')}; got ${shown(value)}`;
}

export function optional(check: Check): Check {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

export type Shape = Readonly<Record<string, Check>>;

/** Every field checked, none unknown. */
export function object(shape: Shape): Check {
  return (value, path) => {
    if (!isRecord(value)) return `${path} must be an object; got ${shown(value)}`;
    for (const [name, check] of Object.entries(shape)) {
      const problem = check(value[name], path === '' ? name : `${path}.${name}`);
      if (problem !== undefined) return problem;
    }
    const extra = Object.keys(value).find((name) => !Object.hasOwn(shape, name));
    return extra === undefined ? undefined : `${path} has an unknown field "${extra}"`;
  };
}

/** The shape is chosen by the field `kind`. */
export function tagged(shapes: Readonly<Record<string, Shape>>): Check {
  return (value, path) => {
    const tag = isRecord(value) ? value['kind'] : undefined;
    const shape = typeof tag === 'string' && Object.hasOwn(shapes, tag) ? shapes[tag] : undefined;
    if (shape === undefined) {
      const where = path === '' ? 'kind' : `${path}.kind`;
      return `${where} must be one of ${Object.keys(shapes).join(', ')}; got ${shown(tag)}`;
    }
    return object({ kind: text, ...shape })(value, path);
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
