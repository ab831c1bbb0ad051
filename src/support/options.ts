// Options are checked once, at the edge. A bad value is an error that names itself; it is never
// replaced by a default, and an unknown name is never ignored.

import { InvalidInput } from './fault.ts';
import { nearestName } from './nearest.ts';

/** Refuses names that are not known, and says which known one was probably meant. */
export function rejectUnknownOptions(
  what: string,
  options: object,
  known: readonly string[],
): void {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidInput(
      `${what}: options are an object, such as { ${known[0] ?? ''}: … }; got ${shown(options)}.`,
    );
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const nearest = meantBy(name, known);
    const hint =
      nearest === undefined ? `Known options: ${known.join(', ')}.` : `Did you mean "${nearest}"?`;
    throw new InvalidInput(`${what}: there is no option "${name}". ${hint}`);
  }
}

/** What other libraries call it; a name that stands for something else here is no slip of the pen. */
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

/** A whole number of milliseconds, bytes or things within stated limits. */
export function wholeNumber(
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
  const bytes = Buffer.byteLength(value);
  if (bytes > bytesMax) {
    throw new InvalidInput(`${what} must be at most ${bytesMax} bytes of UTF-8; got ${bytes}.`);
  }
  return value;
}

/** The work that a recipe is for, or a callback it cannot do without. */
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
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint' || typeof value === 'symbol') return value.toString();
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return `object ${shownObject(value)}`.trim();
  // JSON has no words for numbers that are none.
  return typeof value === 'number' ? `number ${value}` : String(value);
}

const SHOWN_CHARACTERS_MAX = 100;

function shownObject(value: object): string {
  try {
    const text = JSON.stringify(value) ?? '';
    return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
  } catch {
    return '';
  }
}
