// What people see: tables, and how far a long log has been read.

import { statSync } from 'node:fs';

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printProblem(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2));
}

/** Columns as wide as their widest cell. */
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

const LONG_LOG_BYTES = 16 * 1_024 * 1_024;

/** Says how far it is, on a terminal and only for logs that take a while. */
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
