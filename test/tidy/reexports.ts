import { importsOf } from './imports.ts';
import type { Manifest } from './package-exports.ts';
import { sourceOf } from './package-exports.ts';
import type { ProjectFile } from './project-files.ts';

/** Names that a file passes on from another. Only entries of the package may: elsewhere a reader looks twice. */
export function reexportProblems(
  files: readonly ProjectFile[],
  { exports }: Manifest,
): readonly string[] {
  const entries = Object.values(exports).flatMap((target) =>
    (typeof target === 'string' ? [target] : Object.values(target)).map(sourceOf),
  );
  return files
    .filter(({ path }) => !entries.includes(path))
    .flatMap(({ path, text }) =>
      importsOf(text)
        .filter(({ kind }) => kind === 'export')
        .map(({ line, specifier }) => `${path}:${line}: import from ${specifier} where it is used`),
    );
}
