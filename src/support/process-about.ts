// Describes this process to operators: its host, and the version and command line of this package.

import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** The version of this package. Undefined in a bundle, which has no package.json of its own. */
export function packageVersion(): string | undefined {
  try {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { name, version } = JSON.parse(manifest) as Readonly<Record<string, unknown>>;
    return name === PACKAGE && typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

/** A bundle may lie beside the package.json of another package. */
const PACKAGE = 'holdfast';

/** True if this is the repository. The published package has no scripts folder. */
export function isCheckout(): boolean {
  return existsSync(new URL('../../scripts/build.ts', import.meta.url));
}

/** The words that start the command line of this package, in the folder where it is installed. */
export function ownCommand(): string {
  return isCheckout() ? 'npm run -s holdfast --' : 'npx holdfast';
}

let known: Readonly<Record<string, string>> | undefined;

/** Metadata of sessions, read once. */
export function processAbout(): Readonly<Record<string, string>> {
  if (known === undefined) {
    const version = packageVersion();
    known = { host: hostname(), ...(version === undefined ? {} : { version }) };
  }
  return known;
}
