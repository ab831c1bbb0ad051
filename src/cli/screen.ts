// Terminal output: tables, and the progress of reading a long log.

import { statSync } from 'node:fs';

export function print(text: string): void {
  process.stdout.write(`${withoutEscapes(text)}\n`);
}

export function printProblem(text: string): void {
  process.stderr.write(`${withoutEscapes(text)}\n`);
}

// Control characters, and characters that reverse the direction of text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal.
const ESCAPES = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * For lines: text from others must not move the cursor, change colours or hide text. In JSON the
 * escaped form means the same.
 */
export function withoutEscapes(text: string): string {
  return text.replace(ESCAPES, (each) => (each === '\n' || each === '\t' ? each : spelt(each)));
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2));
}

/** For programs that read line by line. */
export function printLine(value: unknown): void {
  print(JSON.stringify(value));
}

/** Pads each column to its widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return lines.join('\n');
}

/** Prints a table of text from others: escapes control characters, and breaks no line. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const width = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
  const lines = table(rows.map((row) => row.map(plain))).split('\n');
  print(lines.map((line) => cut(line, width)).join('\n'));
}

export function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Lines on a terminal that each draw replaces. */
export class RedrawnLines {
  #height = 0;

  draw(all: readonly string[]): void {
    const { stdout } = process;
    // Lines beyond the screen cannot be overwritten, so show the head and the last lines, which
    // change.
    const fitting =
      all.length < stdout.rows ? all : [...all.slice(0, 1), ...all.slice(2 - stdout.rows)];
    const up = this.#height === 0 ? '' : `\u001b[${this.#height}A`;
    const lines = fitting.map((line) => `${cut(plain(line), stdout.columns)}\u001b[K\n`);
    stdout.write(`${up}\r${lines.join('')}\u001b[J`);
    this.#height = fitting.length;
  }
}

/** For a cell or a name: escapes line breaks, too. */
export function plain(text: string): string {
  return text.replace(ESCAPES, spelt);
}

function spelt(character: string): string {
  const escaped = JSON.stringify(character).slice(1, -1);
  const code = character.charCodeAt(0).toString(16).padStart(4, '0');
  return escaped === character ? `\\u${code}` : escaped;
}

const LONG_LOG_BYTES = 16 * 1_024 * 1_024;

/** Shows progress on a terminal, and only for long logs. */
export function progressOf(file: string): (bytes: number) => void {
  const { isTTY } = process.stderr;
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (!isTTY || size < LONG_LOG_BYTES) return () => undefined;
  let last = -1;
  return (bytes) => {
    const percent = Math.min(100, Math.floor((100 * bytes) / size));
    if (percent === last) return;
    last = percent;
    process.stderr.write(`\r${file}: ${percent} %${percent === 100 ? '\n' : ''}`);
  };
}
