// Measures JSON without parsing it. Parsing blocks the event loop, and its time depends on the number
// of names and values more than on the bytes: a megabyte of text takes 1 ms, a megabyte of names 100.

import { Fault } from './fault.ts';

/** True if the text is nested deeper than `max`. For text that is not JSON it may be wrong. */
export function isDeeperThan(text: string, max: number): boolean {
  // Every level needs an opening and a closing character, so short text cannot be deeper.
  if (text.length <= 2 * max) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfText(text, at);
    else if (sign === OPEN_LIST || sign === OPEN_OBJECT) depth += 1;
    else if (sign === CLOSE_LIST || sign === CLOSE_OBJECT) depth -= 1;
    if (depth > max) return true;
  }
  return false;
}

/**
 * Counts the names and values in JSON, and stops above `max`. Each follows one of these signs, so
 * the count is never larger than the text.
 */
export function valuesIn(text: string, max: number = Number.POSITIVE_INFINITY): number {
  let count = 1;
  for (let at = 0; at < text.length && count <= max; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfText(text, at);
    else if (sign === COMMA || sign === COLON || sign === OPEN_LIST || sign === OPEN_OBJECT)
      count += 1;
  }
  return count;
}

/** Throws if a JSON text, or several together, have more names and values than a limit allows. */
export function requireFewValues(what: string, texts: readonly string[], max: number): void {
  const chars = texts.reduce((sum, { length }) => sum + length, 0);
  if (chars <= max) return;
  let count = 0;
  for (const text of texts) {
    count += valuesIn(text, max - count);
    if (count > max) {
      throw new Fault(
        'payload-too-large',
        `${what} has more than ${max} names and values (limits.jsonValuesMax). Nothing was done. Send less at a time, or store the data elsewhere and pass a reference.`,
      );
    }
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The end of the string that begins here: a quote after an even number of backslashes. */
function endOfText(json: string, begin: number): number {
  for (let at = begin; ; ) {
    at = json.indexOf('"', at + 1);
    if (at < 0) return json.length;
    let before = at - 1;
    while (json[before] === '\\') before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
}
