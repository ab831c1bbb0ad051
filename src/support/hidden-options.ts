// Options that contain secrets. A message about a misplaced value names the expected content and
// never the value, because messages go to terminals and logs.

import { InvalidInput } from './fault.ts';
import { isOptions, nearestName, readEntries, readOptions, unreadable } from './options.ts';

/** Like `readOptions`, without showing values. */
export function readHidden<Options extends object>(
  what: string,
  options: Options,
  known: readonly string[],
): Options {
  const shape = `{ ${known.join(', ')} }`;
  for (const [name] of readHiddenEntries(what, options, shape)) {
    if (known.includes(name)) continue;
    const nearest = nearestName(name, known);
    const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    throw new InvalidInput(
      `${what} must be an object such as ${shape}; it has another name, which is hidden.${hint}`,
    );
  }
  return readOptions(what, options, known);
}

/** Like `readEntries`, without showing values. */
export function readHiddenEntries(
  what: string,
  value: unknown,
  shape: string,
): readonly (readonly [string, unknown])[] {
  if (isReadable(what, value)) return readEntries(what, value);
  throw new InvalidInput(
    `${what} must be an object such as ${shape}; got ${kindWithoutValue(value)}, which is hidden.`,
  );
}

function isReadable(what: string, value: unknown): boolean {
  try {
    return isOptions(value);
  } catch (cause) {
    throw unreadable(what, cause);
  }
}

/** The kind of the value, without the value. */
export function kindWithoutValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? 'text' : `another ${typeof value}`;
}

/** The printable part of a URL: without anything that may be a key. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** For a value that should be a path: hides text that looks like the content of a secret file. */
export function shownPath(text: string): string {
  return /["{}\n]|-----/.test(text) ? '…' : text;
}

/** For text that people or logs see: removes passwords in URLs, and access keys. */
export function withoutSecrets(text: string): string {
  return text
    .replace(/\S+/g, withoutPassword)
    .replace(/([?&](?:password|sslpassword)=)[^\s&]*/gi, '$1…')
    .replace(/\bhf_([a-z2-7]{16})_[A-Za-z0-9_-]{43}/g, 'hf_$1_…');
}

/**
 * Splits at the last @, because passwords may contain one. Each step is linear, because workers
 * choose what is logged.
 */
function withoutPassword(word: string): string {
  const end = word.lastIndexOf('@');
  if (end < 0) return word;
  for (const { index, 0: user } of word.matchAll(/(?<=[a-z0-9+.-]):\/\/[^/:@]*:/gi)) {
    const begin = index + user.length;
    if (begin <= end) return `${word.slice(0, begin)}…${word.slice(end)}`;
  }
  return word;
}

/** The same for a single URL, which may be malformed. */
export function placeWithoutSecrets(text: string): string {
  return withoutSecrets(text.replace(/^([a-z][a-z0-9+.-]*:\/*[^/:@]*):.*@/is, '$1:…@'));
}
