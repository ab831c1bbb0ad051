// The place in the user's code that a stack names: its first frame that is neither Holdfast's nor Node's.

import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const OWN_ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = /[/\\]node_modules[/\\]/;

/** `file:line`, relative to the working directory where it is below it. Code in packages counts only without other. */
export function codeLocation(stack: string): string | undefined {
  const places = stack.split('\n').flatMap((line) => placeIn(line) ?? []);
  const place = places.find(({ file }) => !PACKAGES.test(file)) ?? places[0];
  return place === undefined ? undefined : `${fromHere(place.file)}:${place.line}`;
}

interface Place {
  readonly file: string;
  readonly line: string;
}

/** Of `at name (file:line:column)` or `at file:line:column`. */
function placeIn(frame: string): Place | undefined {
  const text = frame.trim();
  if (!text.startsWith('at ')) return undefined;
  const named = text.endsWith(')') ? text.indexOf(' (') + 2 : 'at '.length;
  const place = text.slice(named, text.endsWith(')') ? -1 : undefined).replace(/^async /, '');
  const [column, line, ...rest] = place.split(':').reverse();
  if (!/^\d+$/.test(column ?? '') || line === undefined || !/^\d+$/.test(line)) return undefined;
  const file = pathOf(rest.reverse().join(':'));
  return file === undefined || file.startsWith(OWN_ROOT) ? undefined : { file, line };
}

function pathOf(place: string): string | undefined {
  try {
    // A module that was loaded again has a query behind its name.
    const path = place.startsWith('file:') ? fileURLToPath(place.replace(/[?#].*$/, '')) : place;
    return isAbsolute(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function fromHere(file: string): string {
  try {
    const path = relative(process.cwd(), file);
    return path.startsWith('..') || isAbsolute(path) ? file : path;
  } catch {
    return file;
  }
}
