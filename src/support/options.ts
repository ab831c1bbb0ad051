// Options are checked once, at the edge. A bad value causes an error that names it. No default ever
// replaces it, and an unknown name is never ignored.

import { InvalidInput } from './fault.ts';

/**
 * Returns a copy of the options, each read once. So the checked value is the used value, even if
 * the caller's object has getters. Undefined counts as absent. The caller must still check the
 * values.
 */
export function readOptions<Options extends object>(
  what: string,
  options: Options,
  known: readonly string[],
): Options {
  rejectUnknownOptions(what, options, known);
  const read: Record<string, unknown> = {};
  let reading = '';
  try {
    for (const name of known) {
      reading = name;
      const value = (options as Record<string, unknown>)[name];
      if (value !== undefined) read[name] = value;
    }
  } catch (cause) {
    throw unreadable(`${what}: ${reading}`, cause);
  }
  return read as Options;
}

type Present<Given> = {
  [Name in keyof Given as undefined extends Given[Name] ? never : Name]: Given[Name];
} & {
  [Name in keyof Given as undefined extends Given[Name] ? Name : never]?: Exclude<
    Given[Name],
    undefined
  >;
};

/** Leaves out undefined properties, which count as absent. */
export function present<Given extends object>(given: Given): Present<Given> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<Given>;
}

type WordIn<Text extends string> = Text extends `${infer First} ${infer Rest}`
  ? First | WordIn<Rest>
  : Text;

/** The words of a text, with their types: shorter than a list of texts. */
export function wordsIn<Text extends string>(text: Text): readonly WordIn<Text>[] {
  return text.split(' ') as WordIn<Text>[];
}

/** Refuses unknown names, and suggests the nearest known one. */
export function rejectUnknownOptions(
  what: string,
  options: object,
  known: readonly string[],
): void {
  for (const name of namesOf(what, options, known)) {
    if (known.includes(name)) continue;
    const nearest = meantBy(name, known);
    const hint =
      nearest === undefined ? `Known options: ${known.join(', ')}.` : `Did you mean "${nearest}"?`;
    throw new InvalidInput(`${what}: there is no option "${name}". ${hint}`);
  }
}

function namesOf(what: string, options: unknown, known: readonly string[]): readonly string[] {
  try {
    if (isOptions(options)) return Object.keys(options);
  } catch (cause) {
    throw unreadable(`${what}: options`, cause);
  }
  throw new InvalidInput(
    `${what}: options must be an object, such as { ${known[0] ?? ''}: … }; got ${shown(options)}.`,
  );
}

const OPTIONS: ReadonlySet<string> = new Set(['[object Object]', '[object Module]']);

/**
 * A list, a map or a promise that was not awaited is not an options object: nothing would be read
 * from it.
 */
export function isOptions(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    OPTIONS.has(Object.prototype.toString.call(value))
  );
}

/** A getter or a proxy of the caller threw. Wrap it, because it is not a fault of Holdfast. */
export function unreadable(what: string, cause: unknown): InvalidInput {
  return new InvalidInput(`${what} cannot be read: ${thrownText(cause)}.`, { cause });
}

/** Never throws, whatever the thrown value is. */
export function thrownText(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : `${shown(thrown)} was thrown`;
  } catch {
    return 'a value was thrown that cannot be described';
  }
}

/**
 * Names that other libraries use. A name that means something else here is not treated as a typing
 * error.
 */
const ELSEWHERE: Readonly<Record<string, string | undefined>> = {
  connectionString: 'url',
  uri: 'url',
  dsn: 'url',
  pool: undefined,
  path: 'file',
  filename: 'file',
  ttl: 'ttlMs',
  timeout: 'timeoutMs',
};

function meantBy(name: string, known: readonly string[]): string | undefined {
  if (!Object.hasOwn(ELSEWHERE, name)) return nearestName(name, known);
  const meant = ELSEWHERE[name];
  return meant !== undefined && known.includes(meant) ? meant : undefined;
}

/** The longest time that a caller may request. */
export const TEN_YEARS_MS: number = 10 * 366 * 86_400_000;

/** A whole number of milliseconds, bytes or things within stated limits. */
export function integerOption(
  what: string,
  value: unknown,
  range: { readonly min: number; readonly max: number },
): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new InvalidInput(`${what} must be a whole number; got ${shown(value)}.`);
  }
  if (value < range.min || value > range.max) {
    throw new InvalidInput(`${what} must be between ${range.min} and ${range.max}; got ${value}.`);
  }
  return value;
}

export function requireOneOf<Known>(what: string, value: Known, known: readonly Known[]): Known {
  if (known.includes(value)) return value;
  throw new InvalidInput(`${what} must be one of ${known.join(', ')}; got ${shown(value)}.`);
}

/** Text that is not empty and at most `bytesMax` bytes of UTF-8. */
export function boundedText(what: string, value: unknown, bytesMax: number): string {
  if (typeof value !== 'string') {
    throw new InvalidInput(`${what} must be a string; got ${shown(value)}.`);
  }
  if (value.length === 0) throw new InvalidInput(`${what} must not be empty.`);
  if (value.includes('\0')) {
    throw new InvalidInput(`${what} must not contain the NUL character.`);
  }
  if (!value.isWellFormed()) {
    throw new InvalidInput(`${what} must be well-formed text; it has half of a surrogate pair.`);
  }
  // A character has at most three bytes, so short text needs no measuring.
  if (value.length * 3 <= bytesMax) return value;
  const bytes = Buffer.byteLength(value);
  if (bytes > bytesMax) {
    throw new InvalidInput(`${what} must be at most ${bytesMax} bytes of UTF-8; got ${bytes}.`);
  }
  return value;
}

/** The URL of a coordinator. The message does not show it, because it may contain a key. */
export function requireUrl(what: string, value: unknown): void {
  const isUrl = typeof value === 'string' && URL.canParse(value) && /^https?:/i.test(value);
  if (isUrl) return;
  const kind = typeof value === 'string' ? 'other text' : shown(value);
  throw new InvalidInput(
    `${what}: url must be an http or https URL, such as http://127.0.0.1:7433; got ${kind}.`,
  );
}

/** One URL, or a list with at least one. Returns them without slashes at their ends. */
export function requireUrls(what: string, value: unknown): readonly string[] {
  const urls = typeof value === 'string' ? [value] : readList(`${what}: url`, value);
  requireUrl(what, urls[0]);
  for (const each of urls) requireUrl(what, each);
  return (urls as readonly string[]).map((each) => each.replace(/\/+$/, ''));
}

const PRINTABLE = /^[\x21-\x7e]+$/;

/** Text for a header, such as an access key. The message does not show it. */
export function headerText(what: string, value: unknown, bytesMax: number): string {
  const text = boundedText(what, value, bytesMax);
  if (PRINTABLE.test(text)) return text;
  throw new InvalidInput(
    `${what} has a space or another character that is not allowed in it, such as “…”. Copy the whole value.`,
  );
}

/** The properties of an object with arbitrary names, each read once as in `readOptions`. */
export function readEntries(what: string, value: unknown): readonly (readonly [string, unknown])[] {
  try {
    if (isOptions(value)) return Object.entries(value);
  } catch (cause) {
    throw unreadable(what, cause);
  }
  throw new InvalidInput(`${what} must be an object; got ${shown(value)}.`);
}

/** A copy of a list, for the same reason. */
export function readList(what: string, value: unknown): readonly unknown[] {
  try {
    if (Array.isArray(value)) return copied(value);
  } catch (cause) {
    throw unreadable(what, cause);
  }
  throw new InvalidInput(`${what} must be an array; got ${shown(value)}.`);
}

/** Throws `InvalidInput` for a revoked proxy. */
export function isList(what: string, value: unknown): boolean {
  try {
    return Array.isArray(value);
  } catch (cause) {
    throw unreadable(what, cause);
  }
}

/** By index, because the caller may have replaced the iterator. */
function copied(values: readonly unknown[]): readonly unknown[] {
  return Array.from({ length: values.length }, (_, index) => values[index]);
}

/** An abort signal, also one of another realm. */
export function signalOption(what: string, value: AbortSignal | undefined): void {
  if (value === undefined) return;
  requireMethods(what, value, ['addEventListener', 'removeEventListener', 'throwIfAborted']);
}

/**
 * Requires an object with these methods: an observer, a codec, a clock. The message does not show
 * it, because it may contain secrets.
 */
export function requireMethods(what: string, value: unknown, methods: readonly string[]): void {
  try {
    const object = (value ?? {}) as Record<string, unknown>;
    if (methods.every((name) => typeof object[name] === 'function')) return;
  } catch (cause) {
    throw unreadable(what, cause);
  }
  const kind = value === null ? 'null' : typeof value;
  throw new InvalidInput(
    `${what} must be an object with the functions ${methods.join(' and ')}; got ${kind === 'object' ? 'an object without them' : kind}.`,
  );
}

/** Requires the work of a recipe, or a mandatory callback. */
export function requireFunction(what: string, value: unknown): void {
  if (typeof value === 'function') return;
  throw new InvalidInput(`${what} must be a function; got ${shown(value)}.`);
}

export function optionalFunctions(what: string, named: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined) requireFunction(`${what}: ${name}`, value);
  }
}

export function optionalBooleans(what: string, named: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(named)) {
    if (value === undefined || typeof value === 'boolean') continue;
    throw new InvalidInput(`${what}: ${name} must be true or false; got ${shown(value)}.`);
  }
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return shortened(JSON.stringify(value));
  if (typeof value === 'bigint' || typeof value === 'symbol') return value.toString();
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return `object ${shownObject(value)}`.trim();
  // JSON cannot express NaN and infinity.
  return typeof value === 'number' ? `number ${value}` : String(value);
}

const SHOWN_CHARACTERS_MAX = 100;

function shortened(text: string): string {
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
}

function shownObject(value: object): string {
  try {
    return shortened(JSON.stringify(value) ?? '');
  } catch {
    return '';
  }
}

/**
 * Bounded, because the comparison takes the product of both lengths, and the input may have
 * megabytes.
 */
const WRITTEN_MAX = 64;

/** The known name closest to the input, if it is close enough to be a typing error. */
export function nearestName(written: string, known: readonly string[]): string | undefined {
  if (written.length > WRITTEN_MAX) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(written.length / 3)) + 1;
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= bestDistance) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Two swapped letters count as one error. */
function editDistance(a: string, b: string): number {
  let beforePrevious: readonly number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const insertion = (current[column - 1] ?? 0) + 1;
      const deletion = (previous[column] ?? 0) + 1;
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const best = Math.min(substitution, insertion, deletion);
      const isSwap = row > 1 && column > 1 && swapped;
      current.push(isSwap ? Math.min(best, (beforePrevious[column - 2] ?? 0) + 1) : best);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
