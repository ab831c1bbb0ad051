/** Lines that tie the lock file to one registry; each installer chooses its own. */
export function registryLines(lockfile: string): readonly string[] {
  return lockfile
    .split('\n')
    .flatMap((line, index) =>
      /"resolved":\s*"https?:/.test(line) ? [`package-lock.json:${index + 1}: ${line.trim()}`] : [],
    );
}

interface Locked {
  readonly integrity?: string;
  /** A workspace, which is not fetched. */
  readonly link?: boolean;
}

/** Packages that `npm ci` would take without comparing them with the lock. */
export function unverified(lockfile: string): readonly string[] {
  const { packages } = JSON.parse(lockfile) as { packages: Readonly<Record<string, Locked>> };
  return Object.entries(packages).flatMap(([path, { integrity, link }]) => {
    const isFetched = path.includes('node_modules/') && link !== true;
    return isFetched && !/^sha512-/.test(integrity ?? '') ? [`package-lock.json: ${path}`] : [];
  });
}
