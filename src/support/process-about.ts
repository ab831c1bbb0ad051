// Describes this process to operators: its host, and the version of this package.

import { readFileSync } from 'node:fs';
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

let known: Readonly<Record<string, string>> | undefined;

/** Metadata of sessions, read once. */
export function processAbout(): Readonly<Record<string, string>> {
  if (known === undefined) {
    const version = packageVersion();
    known = { host: hostname(), ...(version === undefined ? {} : { version }) };
  }
  return known;
}
