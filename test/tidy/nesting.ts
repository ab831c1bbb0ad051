import { bracePairs, opensControlBlock, opensFunction } from './blocks.ts';
import type { ProjectFile } from './project-files.ts';
import { lineAt, viewOf } from './source-view.ts';

export const NESTING_MAX = 3;

/** Branches and loops deeper inside one function than a reader can follow. */
export function nestingProblems(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap((file) => {
    const code = viewOf(file.text, 'code');
    return tooDeep(code).map(
      (open) => `${file.path}:${lineAt(code, open)}: nested deeper than ${NESTING_MAX} levels`,
    );
  });
}

function tooDeep(code: string): readonly number[] {
  const outerFirst = [...bracePairs(code)].sort(([a], [b]) => a - b);
  const around: { readonly close: number; readonly depth: number }[] = [];
  const found: number[] = [];
  for (const [open, close] of outerFirst) {
    while ((around.at(-1)?.close ?? open) < open) {
      around.pop();
    }
    const outside = around.at(-1)?.depth ?? 0;
    const inside = opensControlBlock(code, open) ? outside + 1 : outside;
    const depth = opensFunction(code, open) ? 0 : inside;
    around.push({ close, depth });
    if (depth > NESTING_MAX && depth > outside) {
      found.push(open);
    }
  }
  return found;
}
