// What may cross a boundary: plain JSON. Anything that would come back as something else is refused
// with the path to it, before it is stored; a value that changes its type on recovery is a bug that
// shows itself on the worst day. What JSON only leaves out or rounds off (a property that is undefined,
// -0, what an array has beside its items) is stored without it, and given to the code without it at once.

import { InvalidInput } from '../support/fault.ts';
import { thrownText } from '../support/options.ts';

/** Deep enough for anything made by hand; a cycle is found before the stack ends. */
const DEPTH_MAX = 200;

/** The value was seen to have something that JSON leaves out. Of the walk under way: there is one at a time. */
let isLessened = false;

/**
 * JSON text of the value, or undefined for `undefined`. Throws with the path of what cannot be stored. Where the
 * value goes on being used, as `live`, that becomes what the text will be read as.
 */
export function toJson(
  what: string,
  value: unknown,
  live?: { value: unknown },
): string | undefined {
  if (value === undefined) return undefined;
  isLessened = false;
  let trouble: Trouble | undefined;
  let json: string | undefined;
  try {
    trouble = findTrouble(value, 0);
    if (trouble !== undefined && trouble.path.length > DEPTH_MAX)
      trouble = findCycle(value) ?? trouble;
    if (trouble === undefined) json = JSON.stringify(value);
  } catch (cause) {
    // A getter, or a proxy.
    throw new InvalidInput(`${what} cannot be stored: reading it threw: ${thrownText(cause)}.`, {
      cause,
    });
  }
  if (trouble !== undefined) {
    throw new InvalidInput(
      `${what} cannot be stored: ${at(trouble.path)} is ${trouble.found}. ${trouble.advice}`,
    );
  }
  if (json === undefined) {
    throw new InvalidInput(`${what} cannot be stored: its toJSON gives nothing.`);
  }
  if (isLessened && live !== undefined) live.value = JSON.parse(json);
  return json;
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
      if (Object.is(value, -0)) isLessened = true;
      return Number.isFinite(value)
        ? undefined
        : trouble(`${value}`, 'JSON has no such number; use null or text.');
    case 'undefined':
      isLessened = true;
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
    return trouble(`nested more than ${DEPTH_MAX} deep`, 'Store something flatter.');
  }
  if (Array.isArray(value)) return findInArray(value, depth);
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype !== Object.prototype && prototype !== null) {
    return trouble(
      `a ${value.constructor?.name ?? 'class instance'}`,
      'It would come back as a plain object; convert it to plain data first.',
    );
  }
  if (prototype === null) isLessened = true;
  for (const name in value) {
    const found = findTrouble((value as Record<string, unknown>)[name], depth + 1);
    if (found === undefined) continue;
    found.path.push(segment(name));
    return found;
  }
  return undefined;
}

function segment(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** Looked for only in what is nested too deep: to remember what contains what would cost every value. */
function findCycle(
  value: unknown,
  above: readonly object[] = [],
  done: Set<object> = new Set(),
): Trouble | undefined {
  if (typeof value !== 'object' || value === null || done.has(value)) return undefined;
  if (above.includes(value)) {
    return trouble('a value that contains itself', 'Store a copy without the cycle, or an id.');
  }
  for (const [name, each] of Object.entries(value)) {
    const found = findCycle(each, [...above, value], done);
    if (found === undefined) continue;
    found.path.push(Array.isArray(value) ? `[${name}]` : segment(name));
    return found;
  }
  done.add(value);
  return undefined;
}

function findInArray(values: readonly unknown[], depth: number): Trouble | undefined {
  // Rows of some drivers, and what `match` of a text gives: an array with more than its items.
  if (values.constructor !== Array || 'groups' in values) isLessened = true;
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
