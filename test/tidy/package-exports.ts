export interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

/** Paths in the manifest's exports that no source file will become in the built package. */
export function exportProblems(
  manifest: Manifest,
  exists: (path: string) => boolean,
): readonly string[] {
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    const paths = typeof target === 'string' ? [target] : Object.values(target);
    return paths
      .map((path) => ({ path, source: sourceOf(path) }))
      .filter(({ source }) => !exists(source))
      .map(({ path, source }) => `package.json exports "${subpath}": ${path} needs ${source}`);
  });
}

export function sourceOf(path: string): string {
  return path
    .replace(/^\.\//, '')
    .replace(/^dist\/(.+?)(?:\.d\.ts|\.js)$/, 'src/$1.ts')
    .replace(/^src\/contract\//, 'contract/');
}
