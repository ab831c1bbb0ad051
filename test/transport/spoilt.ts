// Valid bytes that are then spoilt: parts are cut, doubled, flipped, or replaced by words that
// parsers treat in a special way.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';

const WORDS: readonly string[] = [
  ...['null', '-1', '1e999', '9007199254740993', '""', '[]', '{}', '"\\u0000"', '"\\ud800"'],
  ...['__proto__', 'constructor', '[[[[[[[[', '{"a":', ',', ':', '"', '\\', '\0', '\n', '\u00ff'],
  ...['%00', '%', ',,', '//', '@', '*/0', 'L', '#', '\u0080\u0080\u0080\u0080\u0001'],
];

type Change = (bytes: Buffer) => Buffer;

const within = fc.double({ min: 0, max: 1, noNaN: true });

const CHANGES: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(within, fc.integer({ min: 1, max: 255 })).map(([place, mask]) => (bytes: Buffer) => {
    const changed = Buffer.from(bytes);
    const at = Math.floor(place * changed.length);
    if (at < changed.length) changed[at] = (changed[at] ?? 0) ^ mask;
    return changed;
  }),
  fc.tuple(within, within).map(([one, other]) => (bytes: Buffer) => {
    const [from = 0, to = 0] = [one, other]
      .map((each) => Math.floor(each * bytes.length))
      .sort((a, b) => a - b);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  }),
  within.map((place) => (bytes: Buffer) => bytes.subarray(0, Math.floor(place * bytes.length))),
  fc.tuple(within, fc.constantFrom(...WORDS)).map(([place, word]) => (bytes: Buffer) => {
    const at = Math.floor(place * bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(word, 'latin1'), bytes.subarray(at)]);
  }),
  // A whole value of JSON becomes another.
  fc.tuple(within, fc.constantFrom(...WORDS)).map(([place, word]) => (bytes: Buffer) => {
    const text = bytes.toString('latin1');
    const values = [...text.matchAll(/(?<=:)("[^"]*"|\d+|\{[^{}]*\}|\[[^[\]]*\])/g)];
    const value = values[Math.floor(place * values.length)];
    if (value === undefined) return bytes;
    const rest = text.slice(value.index + value[0].length);
    return Buffer.from(text.slice(0, value.index) + word + rest, 'latin1');
  }),
);

export function spoilt(seeds: readonly (string | Uint8Array)[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...seeds), fc.array(CHANGES, { maxLength: 4 }))
    .map(([seed, changes]) =>
      changes.reduce<Buffer>(
        (bytes, change) => change(bytes),
        typeof seed === 'string' ? Buffer.from(seed, 'latin1') : Buffer.from(seed),
      ),
    );
}

/** One line for each input that failed once, or that is known to be hard. */
const CORPUS = readFileSync(join(import.meta.dirname, 'corpus.jsonl'), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as { readonly of: string; readonly bytes: string });

/** The inputs of the corpus for a wire or a parser. */
export function kept(of: string): readonly Buffer[] {
  return CORPUS.filter((each) => each.of === of).map(({ bytes }) => Buffer.from(bytes, 'base64'));
}

/** The line to add to the corpus after a failure. */
export function lineOf(of: string, bytes: Buffer): string {
  return JSON.stringify({ of, bytes: bytes.toString('base64') });
}
