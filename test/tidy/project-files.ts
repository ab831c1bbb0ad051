import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const NOT_OURS: readonly string[] = ['node_modules', 'dist', '.cache', '.git', 'coverage'];

export interface ProjectFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Paths of the project's own files, from the repository's root, sorted. */
export function projectPaths(...patterns: readonly string[]): readonly string[] {
  const found = globSync([...patterns], {
    cwd: ROOT,
    withFileTypes: true,
    exclude: (entry) => NOT_OURS.includes(entry.name),
  });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(ROOT.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}

export function projectFiles(...patterns: readonly string[]): readonly ProjectFile[] {
  return projectPaths(...patterns).map((path) => ({ path, text: readProjectFile(path) }));
}

export function readProjectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** A unit test beside its source, or any other test. */
export function isTestFile(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}
