// What may cross a boundary: plain JSON. Anything that would come back as something else is refused
// with the path to it, before it is stored; a value that changes its type on recovery is a bug that
// shows itself on the worst day.

import { InvalidInput } from '../support/fault.ts';

/** Deep enough for anything made by hand; a cycle is found before the stack ends. */
const DEPTH_MAX = 200;

/** JSON text of the value, or undefined for `undefined`. Throws with the path of what cannot be stored. */
export function toJson(what: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const trouble = findTrouble(value, 0);
  if (trouble !== undefined) {
    throw new InvalidInput(
      `${what} cannot be stored: ${at(trouble.path)} is ${trouble.found}. ${trouble.advice}`,
    );
  }
  return JSON.stringify(value);
}

interface Trouble {
  /** Innermost first. */
  readonly path: string[];
  readonly found: string;
  readonly advice: string;
}

function at(path: readonly string[]): string {
  return path.length === 0 ? 'it' : `value${path.toReversed().join('')}`;
}

function findTrouble(value: unknown, depth: number): Trouble | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : trouble(`${value}`, 'JSON has no such number; use null or text.');
    case 'undefined':
      return undefined;
    case 'bigint':
      return trouble('a bigint', 'Convert it to text or, if it is small, to a number.');
    case 'function':
    case 'symbol':
      return trouble(`a ${typeof value}`, 'Store data, not code.');
    default:
      return value === null ? undefined : findInObject(value as object, depth);
  }
}

function findInObject(value: object, depth: number): Trouble | undefined {
  if (depth > DEPTH_MAX) {
    return trouble(`nested more than ${DEPTH_MAX} deep`, 'It may refer to itself; store a copy.');
  }
  if (Array.isArray(value)) return findInArray(value, depth);
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype !== Object.prototype && prototype !== null) {
    return trouble(
      `a ${value.constructor?.name ?? 'class instance'}`,
      'It would come back as a plain object; convert it to plain data first.',
    );
  }
  for (const name in value) {
    const found = findTrouble((value as Record<string, unknown>)[name], depth + 1);
    if (found === undefined) continue;
    found.path.push(/^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);
    return found;
  }
  return undefined;
}

function findInArray(values: readonly unknown[], depth: number): Trouble | undefined {
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    const found =
      value === undefined
        ? trouble('undefined', 'In an array it would come back as null; use null.')
        : findTrouble(value, depth + 1);
    if (found === undefined) continue;
    found.path.push(`[${index}]`);
    return found;
  }
  return undefined;
}

function trouble(found: string, advice: string): Trouble {
  return { path: [], found, advice };
}
