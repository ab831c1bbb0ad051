import { importsOf, resolveImport } from './imports.ts';
import type { ProjectFile } from './project-files.ts';

/**
 * Files that import each other in a ring at run time. Type-only imports do not count, since the
 * compiler erases them.
 */
export function importCycles(files: readonly ProjectFile[]): readonly string[] {
  return cyclesIn(new Map(files.map((file) => [file.path, runtimeImports(file)])));
}

/** Each ring once, as the path that closes it. */
export function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const finished = new Set<string>();
  const cycles: string[] = [];

  const visit = (node: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(node);
    if (seenAt !== -1) {
      cycles.push([...trail.slice(seenAt), node].join(' → '));
      return;
    }
    if (finished.has(node)) {
      return;
    }
    for (const target of graph.get(node) ?? []) {
      visit(target, [...trail, node]);
    }
    finished.add(node);
  };

  for (const node of graph.keys()) {
    visit(node, []);
  }
  return cycles;
}

function runtimeImports(file: ProjectFile): readonly string[] {
  return importsOf(file.text)
    .filter((found) => !found.typeOnly)
    .map((found) => resolveImport(file, found.specifier))
    .filter((target) => target !== undefined);
}
