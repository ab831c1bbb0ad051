import { bracePairs, opensFunction } from './blocks.ts';
import { lineAt, viewOf } from './source-view.ts';

export interface MeasuredFunction {
  /** The line its statement begins on. */
  readonly line: number;
  readonly lines: number;
  readonly header: string;
}

/**
 * Every function with a body of several lines, and its length. Relies on the formatter: the closing
 * line of a function has the indent of its statement's first line.
 */
export function measureFunctions(source: string): readonly MeasuredFunction[] {
  const code = viewOf(source, 'code');
  const lines = code.split('\n');
  return bracePairs(code)
    .filter(([open, close]) => code.slice(open, close).includes('\n'))
    .filter(([open]) => opensFunction(code, open))
    .map(([open, close]) => {
      const lastLine = lineAt(code, close);
      const indent = indentOf(lines[lastLine - 1]);
      let line = lineAt(code, open);
      while (line > 1 && continues(lines[line - 1], indent)) {
        line -= 1;
      }
      const header = source.split('\n')[line - 1]?.trim() ?? '';
      return { line, lines: lastLine - line + 1, header };
    });
}

/** Whether a statement indented by `indent` began above this line: its parameters may fill lines. */
function continues(line: string | undefined, indent: number): boolean {
  return indentOf(line) > indent || (line ?? '').trimStart().startsWith(')');
}

function indentOf(line = ''): number {
  return line.trim() === '' ? Number.POSITIVE_INFINITY : line.length - line.trimStart().length;
}
