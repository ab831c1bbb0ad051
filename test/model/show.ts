// Formats a failure: the commands, the answers, and only the parts that differ.

import { isDeepStrictEqual } from 'node:util';

/** Bytes as text, sessions and attempts by the first part of their UUID. */
export function show(value: unknown): string {
  const json = JSON.stringify(value, (_, each: unknown) =>
    each instanceof Uint8Array ? `bytes ${Buffer.from(each).toString('hex')}` : each,
  );
  return (json ?? 'undefined').replaceAll(/\b([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '$1');
}

/** One line for each path at which the two differ. */
export function difference(expected: unknown, actual: unknown): string {
  return differences(expected, actual, '').slice(0, 12).join('\n');
}

function differences(expected: unknown, actual: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(expected, actual)) return [];
  if (!isTree(expected) || !isTree(actual)) return [leaf(expected, actual, path)];
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
  const found = names.flatMap((name) =>
    differences(expected[name], actual[name], `${path}.${name}`),
  );
  return found.length > 0 ? found : [leaf(expected, actual, path)];
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
}

function leaf(expected: unknown, actual: unknown, path: string): string {
  return `    ${path || '(all)'}: model ${show(expected)}, store ${show(actual)}`;
}
