import { importsOf, resolveImport } from './imports.ts';
import type { ProjectFile } from './project-files.ts';

/** Files that import each other in a ring at run time. Type-only imports are erased and do not count. */
export function importCycles(files: readonly ProjectFile[]): readonly string[] {
  const imports = new Map(files.map((file) => [file.path, runtimeImports(file)]));
  const finished = new Set<string>();
  const cycles: string[] = [];

  const visit = (path: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt !== -1) {
      cycles.push([...trail.slice(seenAt), path].join(' → '));
      return;
    }
    if (finished.has(path)) {
      return;
    }
    for (const target of imports.get(path) ?? []) {
      visit(target, [...trail, path]);
    }
    finished.add(path);
  };

  for (const path of imports.keys()) {
    visit(path, []);
  }
  return cycles;
}

function runtimeImports(file: ProjectFile): readonly string[] {
  return importsOf(file.text)
    .filter((found) => !found.typeOnly)
    .map((found) => resolveImport(file, found.specifier))
    .filter((target) => target !== undefined);
}
