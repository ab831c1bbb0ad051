// Reads a log strictly. It must start with a header, and every line is an entry or is reported with
// its error. The only exception is a last line that a killed process could not finish, at the end
// of the file or just before the header of the next run.

import { createReadStream } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { LocatedEntry, MalformedLine } from './entry.ts';
import { type ParsedLine, parseLine } from './entry-shape.ts';

/** Options of `readLeaseLog`. */
export interface ReadOptions {
  /** Called from time to time with the bytes read so far. */
  readonly onProgress?: (bytes: number) => void;
}

const PROGRESS_LINES = 10_000;

interface Line {
  readonly number: number;
  readonly parsed: ParsedLine;
  readonly isHeader: boolean;
  readonly isFirst: boolean;
}

/**
 * Yields the entries of a lease log. Lines that are not entries are yielded as `malformed`.
 *
 * Ignores an incomplete last line of a killed process. Throws the system's error if the file cannot
 * be read.
 *
 * @example
 * for await (const entry of readLeaseLog('./leases.log')) {
 *   if (entry.kind === 'event') console.log(entry.event.kind);
 * }
 */
export async function* readLeaseLog(
  file: string,
  options: ReadOptions = {},
): AsyncGenerator<LocatedEntry | MalformedLine, void, void> {
  const stream = createReadStream(file, { encoding: 'utf8' });
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  let number = 0;
  let held: Line | undefined;
  for await (const text of lines) {
    number += 1;
    if (number % PROGRESS_LINES === 0) options.onProgress?.(stream.bytesRead);
    if (text === '') continue;
    const line = lineOf(number, text, held === undefined);
    if (held !== undefined && !isTorn(held, line.isHeader)) yield located(file, held);
    held = line;
  }
  options.onProgress?.(stream.bytesRead);
  if (held !== undefined && !isTorn(held, true)) yield located(file, held);
}

function lineOf(number: number, text: string, isFirst: boolean): Line {
  const parsed = parseLine(text);
  const isHeader = parsed.kind === 'entry' && parsed.entry.kind === 'header';
  if (!isFirst || isHeader || parsed.kind === 'malformed') {
    return { number, parsed, isHeader, isFirst };
  }
  const problem = 'a lease log begins with a header: is this the end of another file?';
  return { number, parsed: { kind: 'malformed', problem }, isHeader, isFirst };
}

/** A line that is not valid JSON, where a writer may have been killed. */
function isTorn(line: Line, writerEndedHere: boolean): boolean {
  const { parsed, isFirst } = line;
  if (!writerEndedHere || isFirst) return false;
  return parsed.kind === 'malformed' && /not JSON/.test(parsed.problem);
}

function located(log: string, { number, parsed }: Line): LocatedEntry | MalformedLine {
  const place = { log, line: number };
  return parsed.kind === 'entry'
    ? { ...parsed.entry, place }
    : { kind: 'malformed', place, problem: parsed.problem };
}

// Sorts rotated logs in the order in which they were written, each once.

/**
 * Returns log files in the order in which they were begun, each once. Throws the system's error if
 * one cannot be read.
 *
 * @example
 * const files = await orderLeaseLogs(['./leases.log', './leases.log.1']);
 */
export async function orderLeaseLogs(files: readonly string[]): Promise<readonly string[]> {
  const begun = new Map<string, { readonly file: string; readonly at: number }>();
  for (const file of files) {
    const known = await realpath(file);
    if (!begun.has(known)) begun.set(known, { file, at: await begunAt(file) });
  }
  return [...begun.values()].sort((a, b) => a.at - b.at).map(({ file }) => file);
}

async function begunAt(file: string): Promise<number> {
  for await (const first of readLeaseLog(file)) {
    return first.kind === 'header' ? first.at : 0;
  }
  return 0;
}
