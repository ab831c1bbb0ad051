// What a caller passes is checked where it is passed: a guard that is made wrongly would otherwise
// fail at its first request, in words that are not about the mistake.

import { InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';

export interface Need {
  /** What is needed, and by whom: "expressFence: `marks` keeps the highest fence". */
  readonly what: string;
  /** As code: `expressFence({ marks: memoryMarks() })`. */
  readonly pass: string;
}

export function refuse(value: unknown, { what, pass }: Need): never {
  throw new InvalidInput(`${what}; got ${received(value)}. It should be ${pass}.`);
}

export function needFunction(value: unknown, need: Need): void {
  if (typeof value !== 'function') refuse(value, need);
}

/** Of an object of somebody else's, what is going to be called. */
export function needMethod(value: unknown, method: string, need: Need): void {
  if (!isObject(value) || typeof value[method] !== 'function') refuse(value, need);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Never the content of objects: connections have passwords, and loops. */
function received(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (!isObject(value)) return shown(value);
  if (Array.isArray(value)) return 'an array';
  const maker: unknown = value['constructor'];
  if (typeof maker === 'function' && maker !== Object) return `a ${maker.name}`;
  const names = Object.keys(value).join(', ');
  return names === '' ? '{}' : `{ ${names} }`;
}
