import type { ProjectFile } from './project-files.ts';

/** The columns with the names of tests, counted from the start of a row. */
export const COLUMNS = { 'docs/bugs.md': 3, 'test/README.md': 2 } as const;

export type CitingPage = keyof typeof COLUMNS;

const QUOTED = /"([^"]{6,})"/g;
const RULES = /^(?:(?:[A-Z]{1,2}-\d+|P\d)(?:, |: ))+/;
const PLACEHOLDER = /\$\{[^}]*\}/g;

/** The source of a test as it is quoted: `…` stands for a part of a name that differs between tests. */
export function quotable(source: string): string {
  return source.replace(PLACEHOLDER, '…');
}

/**
 * Names of tests that a page quotes and no test has. A quote may be a part of a name, and `…`
 * stands for a part that differs between tests.
 */
export function citationProblems(
  page: ProjectFile & { readonly path: CitingPage },
  tests: readonly ProjectFile[],
): readonly string[] {
  const all = tests.map(({ text }) => quotable(text)).join('\n');
  return page.text.split('\n').flatMap((row, index) => {
    const cell = row.startsWith('| ') ? (row.split(' | ')[COLUMNS[page.path]] ?? '') : '';
    return [...cell.matchAll(QUOTED)]
      .map(([, name = '']) => name.replace(RULES, '').replace(/ …$/, ''))
      .filter((name) => !all.includes(name))
      .map((name) => `${page.path}:${index + 1}: no test is called "${name}"`);
  });
}
