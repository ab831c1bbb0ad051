/** Lines that tie the lock file to one registry; whoever installs chooses theirs. */
export function registryLines(lockfile: string): readonly string[] {
  return lockfile
    .split('\n')
    .flatMap((line, index) =>
      /"resolved":\s*"https?:/.test(line) ? [`package-lock.json:${index + 1}: ${line.trim()}`] : [],
    );
}
