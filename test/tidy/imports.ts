import { posix } from 'node:path';
import type { ProjectFile } from './project-files.ts';
import { lineAt, viewOf } from './source-view.ts';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Erased before the program runs. */
  readonly typeOnly: boolean;
  readonly kind: 'import' | 'export';
}

const STATEMENT = /^[ \t]*(import|export)\b([^;'"`]*?)\bfrom\s*['"]/gm;
const SIDE_EFFECT = /^[ \t]*(import)(\s*)['"]/gm;
const DYNAMIC = /\b(import)(\s*)\(\s*['"]/g;

export function importsOf(source: string): readonly Import[] {
  const code = viewOf(source, 'code');
  return [STATEMENT, SIDE_EFFECT, DYNAMIC].flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => {
      const start = match.index + match[0].length;
      return {
        specifier: source.slice(start, source.indexOf(source.charAt(start - 1), start)),
        line: lineAt(source, start),
        typeOnly: /^\s*type\b/.test(match[2] ?? ''),
        kind: match[1] === 'export' ? ('export' as const) : ('import' as const),
      };
    }),
  );
}

/** The path from the repository's root that a relative specifier names. */
export function resolveImport(from: ProjectFile, specifier: string): string | undefined {
  return specifier.startsWith('.') ? posix.join(posix.dirname(from.path), specifier) : undefined;
}
