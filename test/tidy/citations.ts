import type { ProjectFile } from './project-files.ts';

/** The column "Shown by" of docs/bugs.md, counted from the start of a row. */
const SHOWN_BY = 3;
const QUOTED = /"([^"]{6,})"/g;
const RULES = /^(?:(?:[A-Z]{1,2}-\d+|P\d)(?:, |: ))+/;
const PLACEHOLDER = /\$\{[^}]*\}/g;

/**
 * Names of tests that docs/bugs.md quotes and no test has. A quote may be a part of a name, and `…`
 * stands for a part that differs between tests.
 */
export function citationProblems(
  bugs: ProjectFile,
  tests: readonly ProjectFile[],
): readonly string[] {
  const all = tests.map(({ text }) => text.replace(PLACEHOLDER, '…')).join('\n');
  return bugs.text.split('\n').flatMap((row, index) => {
    const cell = row.startsWith('| ') ? (row.split(' | ')[SHOWN_BY] ?? '') : '';
    return [...cell.matchAll(QUOTED)]
      .map(([, name = '']) => name.replace(RULES, '').replace(/ …$/, ''))
      .filter((name) => !all.includes(name))
      .map((name) => `${bugs.path}:${index + 1}: no test is called "${name}"`);
  });
}
