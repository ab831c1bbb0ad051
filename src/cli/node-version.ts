// The Node version that package.json requires.

import { readFile } from 'node:fs/promises';

/** A sentence if the running Node is too old. */
export async function oldNode(
  version: string = process.versions.node,
): Promise<string | undefined> {
  const least = await leastNode();
  if (isAtLeast(version, least)) return undefined;
  return `TypeScript files need Node ${least} or newer; this is ${version}. Install it in the project: npm install node@24.`;
}

export async function leastNode(): Promise<string> {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const parsed = JSON.parse(manifest) as { readonly engines: { readonly node: string } };
  return parsed.engines.node.replace(/^>=/, '');
}

export function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = least.split('.').map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
