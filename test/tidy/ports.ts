import type { ProjectFile } from './project-files.ts';
import { lineAt, viewOf } from './source-view.ts';

export const PORT_METHODS_MAX = 12;

/** A member at the interface's own depth: `name(…` or `name: (…`, generic or not. */
const METHOD = /^ {2}(?:readonly )?\w+\??(?:<.*>)?(?:\(|: (?:<.*>)?\()/gm;

/** Interfaces named …Store that ask more of an adapter than one person can hold in mind. */
export function portProblems(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap((file) => {
    const code = viewOf(file.text, 'code');
    const ports = code.matchAll(/^(?:export )?interface (\w*Store)\b[^{]*\{\n([\s\S]*?)^\}/gm);
    return [...ports].flatMap(({ index, 1: name, 2: body = '' }) => {
      const methods = body.match(METHOD)?.length ?? 0;
      return methods > PORT_METHODS_MAX
        ? [
            `${file.path}:${lineAt(code, index)}: ${name} has ${methods} methods of at most ${PORT_METHODS_MAX}`,
          ]
        : [];
    });
  });
}
