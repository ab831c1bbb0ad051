// The values that can be stored and sent: JSON, and JavaScript's Date, Map, Set, bigint, undefined
// and typed arrays, as objects with one tag, such as {"$date":"…"}. The envelope marks values with
// tags, so user data that looks like a tag is never taken for one.
//
// Any other value that would come back as something else is refused with its path, before it is
// stored. A value that changes its type on recovery would be a bug that shows only after a crash.
// Some parts are dropped: undefined properties, the sign of -0, and properties of an array besides
// its items. The code then gets the value without them at once.

import { isArrayBuffer, isDate, isMap, isSet, isTypedArray } from 'node:util/types';
import { dateOf, type Instant } from './clock.ts';
import { Fault, InvalidInput } from './fault.ts';
import { thrownText } from './options.ts';

/** Deep enough for any reasonable value; finds a cycle before the stack overflows. */
const DEPTH_MAX = 200;

/** The current walk found something that is dropped. There is one walk at a time. */
let isLossy = false;
/** The current walk found something that JSON cannot express. */
let isTagged = false;

interface Text {
  readonly json: string;
  /** Objects with one property that begins with `$` are tags. */
  readonly tagged: boolean;
}

/**
 * The text of the value, or undefined for `undefined`. Throws with the path of a value that cannot
 * be stored. If the code keeps using the value, `live` gets what the text decodes to.
 */
export function toText(what: string, value: unknown, live?: { value: unknown }): Text | undefined {
  if (value === undefined) return undefined;
  isLossy = false;
  isTagged = false;
  let found: Trouble | undefined;
  let json: string | undefined;
  try {
    found = findTrouble(value, 0);
    if (found === undefined) json = JSON.stringify(isTagged ? taggedOf(value) : value);
    else if (found === TOO_DEEP) found = findCycle(value) ?? found;
  } catch (cause) {
    // A getter or a proxy threw.
    throw new InvalidInput(`${what} cannot be stored: reading it threw: ${thrownText(cause)}.`, {
      cause,
    });
  }
  if (found !== undefined) {
    throw new InvalidInput(
      `${what} cannot be stored: ${at(found.path)} ${found.found}. ${found.advice}`,
    );
  }
  if (json === undefined) {
    throw new InvalidInput(`${what} cannot be stored: its toJSON returns nothing.`);
  }
  const text = { json, tagged: isTagged };
  if (isLossy && live !== undefined) live.value = fromParsed(JSON.parse(json), text.tagged);
  return text;
}

/** The value of a parsed text. */
export function fromParsed(parsed: unknown, tagged: boolean | undefined): unknown {
  if (tagged !== true) return parsed;
  try {
    return untagged(parsed);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw unknownTag(thrownText(cause));
  }
}

/**
 * Adds tags for everything that JSON cannot express. Equal values yield equal results, for digests.
 */
export function taggedOf(value: unknown): unknown {
  if (value === undefined) return { $undefined: true };
  if (typeof value === 'bigint') return { $bigint: String(value) };
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Array.from(value, taggedOf);
  if (isDate(value)) return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (isMap(value)) return { $map: Array.from(value, (entry) => entry.map(taggedOf)) };
  if (isSet(value)) return { $set: Array.from(value, taggedOf) };
  if (isTypedArray(value) || isArrayBuffer(value)) return { $bytes: bytesOf(value) };
  const own = propertiesOf(value, taggedOf);
  return tagOf(own) === undefined ? own : { $object: own };
}

/** A plain JSON view, for readers that do not know tags: a Date as text, a Map as its entries. */
export function viewOf(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value === undefined || typeof value !== 'object' || value === null) return value;
  if (isDate(value)) return value.toJSON();
  if (isTypedArray(value) || isArrayBuffer(value)) return bytesOf(value)[1];
  if (isMap(value)) return viewOf([...value]);
  if (Array.isArray(value) || isSet(value))
    return Array.from(value, (each) => viewOf(each) ?? null);
  return propertiesOf(value, viewOf);
}

function untagged(parsed: unknown): unknown {
  if (typeof parsed !== 'object' || parsed === null) return parsed;
  if (Array.isArray(parsed)) return parsed.map(untagged);
  const tag = tagOf(parsed);
  if (tag === undefined) return propertiesOf(parsed, untagged);
  const read = Object.hasOwn(READ, tag) ? READ[tag] : undefined;
  if (read === undefined) throw unknownTag(tag);
  return read((parsed as Readonly<Record<string, unknown>>)[tag]);
}

const READ: Readonly<Record<string, (content: unknown) => unknown>> = {
  $undefined: () => undefined,
  $bigint: (text) => bigintOf(String(text)),
  $date: (text) => dateOf(Date.parse(text as string) as Instant),
  $map: (entries) => new Map((untagged(entries) as [unknown, unknown][]).values()),
  $set: (items) => new Set((untagged(items) as unknown[]).values()),
  $bytes: (content) => bytesFrom(content as Bytes),
  $object: (own) => propertiesOf(own as object, untagged),
};

/** Bounded, because reading and writing digits takes more than linear time. */
const DIGITS_MAX = 1_000;
const BIGINT_MAX = 10n ** BigInt(DIGITS_MAX);

function bigintOf(text: string): bigint {
  if (text.length > DIGITS_MAX + 1) throw unknownTag(`a bigint of ${text.length} digits`);
  return BigInt(text);
}

/** The class, and base64. */
type Bytes = readonly [string, string];

const TYPED = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
] as const;

function bytesOf(value: NodeJS.TypedArray | ArrayBufferLike): Bytes {
  const bytes = isTypedArray(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value);
  return [value.constructor.name, bytes.toString('base64')];
}

function bytesFrom([name, text]: Bytes): unknown {
  const bytes = Buffer.from(text, 'base64');
  if (name === 'Buffer') return bytes;
  // A copy, because a Buffer may share its memory.
  const { buffer } = Uint8Array.from(bytes);
  if (name === 'ArrayBuffer') return buffer;
  const Typed = TYPED.find((each) => each.name === name);
  if (Typed === undefined) throw unknownTag(name);
  return new Typed(buffer);
}

/** Also copies a property called `__proto__`. */
function propertiesOf(value: object, of: (each: unknown) => unknown): object {
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries.map(([name, each]) => [name, of(each)]));
}

function tagOf(value: object): string | undefined {
  const [name, ...others] = Object.keys(value);
  return name?.startsWith('$') === true && others.length === 0 ? name : undefined;
}

function unknownTag(what: string): Fault {
  return new Fault(
    'codec-refused',
    `A value cannot be decoded: it has a type that this version does not know (${what}). Upgrade this process to the version that wrote it.`,
  );
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

const TOO_DEEP: Trouble = Object.freeze({
  path: [],
  found: `is nested more than ${DEPTH_MAX} deep`,
  advice: 'Store it in parts, or as text.',
});

function findTrouble(value: unknown, depth: number): Trouble | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      if (Object.is(value, -0)) isLossy = true;
      return Number.isFinite(value)
        ? undefined
        : trouble(`is ${value}`, 'JSON has no such number; use null or text.');
    case 'bigint':
      isTagged = true;
      return value < BIGINT_MAX && value > -BIGINT_MAX
        ? undefined
        : trouble(`is a bigint of more than ${DIGITS_MAX} digits`, 'Store it as bytes.');
    case 'undefined':
      isTagged = true;
      return undefined;
    case 'function':
    case 'symbol':
      return trouble(`is a ${typeof value}`, 'Store data, not code.');
    default:
      return value === null ? undefined : findInObject(value as object, depth);
  }
}

function findInObject(value: object, depth: number): Trouble | undefined {
  if (depth > DEPTH_MAX) return TOO_DEEP;
  if (Array.isArray(value)) return findInArray(value, depth);
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype !== Object.prototype && prototype !== null) {
    return findInClass(value, prototype, depth);
  }
  if (prototype === null) isLossy = true;
  for (const name in value) {
    const each = (value as Record<string, unknown>)[name];
    if (each === undefined) {
      isLossy = true;
      continue;
    }
    const found = findTrouble(each, depth + 1);
    if (found !== undefined) return within(found, nameText(name));
  }
  return undefined;
}

/** Only these classes themselves: a subclass would lose its additions. */
function findInClass(value: object, prototype: unknown, depth: number): Trouble | undefined {
  isTagged = true;
  if (prototype === Date.prototype && isDate(value)) return undefined;
  if (prototype === Map.prototype && isMap(value)) {
    for (const [key, each] of value) {
      const found = findTrouble(key, depth + 1) ?? findTrouble(each, depth + 1);
      if (found !== undefined)
        return within(found, typeof key === 'string' ? nameText(key) : '[…]');
    }
    return undefined;
  }
  if (prototype === Set.prototype && isSet(value)) return findInArray([...value], depth);
  if (prototype === ArrayBuffer.prototype && isArrayBuffer(value)) return undefined;
  if (isTypedArray(value)) {
    const isOwn = (each: { readonly prototype: object }): boolean => each.prototype === prototype;
    if (isOwn(Buffer) || TYPED.some(isOwn)) return undefined;
  }
  return trouble(
    `is a ${value.constructor?.name ?? 'class instance'}`,
    'It would come back as a plain object; convert it to plain data first.',
  );
}

function findInArray(values: readonly unknown[], depth: number): Trouble | undefined {
  // Rows of some drivers, and results of `match`, are arrays with further properties.
  if (values.constructor !== Array || 'groups' in values) isLossy = true;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    // A hole becomes an item.
    if (value === undefined && !(index in values)) isLossy = true;
    const found = findTrouble(value, depth + 1);
    if (found !== undefined) return within(found, `[${index}]`);
  }
  return undefined;
}

/** For a value that is too deep: finds the place where it contains itself. */
function findCycle(
  value: unknown,
  above: Set<unknown> = new Set(),
  done: Set<unknown> = new Set(),
): Trouble | undefined {
  if (typeof value !== 'object' || value === null || done.has(value)) return undefined;
  if (above.has(value)) {
    return trouble('is a value that contains itself', 'Store a copy without the cycle, or an id.');
  }
  if (above.size > DEPTH_MAX) return undefined;
  above.add(value);
  const parts: Iterable<readonly [unknown, unknown]> =
    isMap(value) || isSet(value) ? value.entries() : Object.entries(value);
  for (const [name, each] of parts) {
    const found = findCycle(each, above, done);
    if (found === undefined) continue;
    if (typeof name !== 'string') return within(found, '[…]');
    return within(found, Array.isArray(value) ? `[${name}]` : nameText(name));
  }
  above.delete(value);
  done.add(value);
  return undefined;
}

function nameText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function within(found: Trouble, part: string): Trouble {
  if (found !== TOO_DEEP) found.path.push(part);
  return found;
}

function trouble(found: string, advice: string): Trouble {
  return { path: [], found, advice };
}
