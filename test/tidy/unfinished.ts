import type { ProjectFile } from './project-files.ts';
import { lineAt, viewOf } from './source-view.ts';

/** Tests that do not run, or that keep others from running. */
export function sleepingTests(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap((file) =>
    placesOf(file.path, viewOf(file.text, 'code'), /\.(?:skip|only|todo)\(|\b(?:only|todo): true/g),
  );
}

/** Notes to oneself: finish the work, or write down the decision not to. */
export function leftoverNotes(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap((file) => placesOf(file.path, file.text, /\b(?:TODO|FIXME|XXX|HACK)\b/g));
}

/** The text that git leaves in a file when it cannot merge two changes. */
export function conflictMarkers(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap((file) => placesOf(file.path, file.text, /^(?:<{7}|>{7}) /gm));
}

function placesOf(path: string, text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(
    (match) => `${path}:${lineAt(text, match.index)}: ${match[0]}`,
  );
}
