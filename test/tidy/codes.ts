// Stable codes: each has one entry in src/support/codes, and each entry has a code in the sources.

import type { ProjectFile } from './project-files.ts';

const CATALOGUE = 'src/support/codes/';

/** Codes of failures are text, since user code throws its own. The types check all other codes. */
const FAILURE_CODE = /\bcategory: '\w+',\s*code: '([^']+)'/g;

/** Examples in comments have codes of their own. */
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** The demo and the examples of the API show applications, whose codes are their own. */
const OWN_CODES = /^src\/cli\/demo\/|messages\.ts$/;

export function codeProblems(
  files: readonly ProjectFile[],
  groups: Readonly<Record<string, object>>,
): readonly string[] {
  const listed = Object.values(groups).flatMap((entries) => Object.keys(entries));
  const sources = files.filter(({ path }) => isSource(path));
  const text = sources.map((file) => file.text).join('\n');
  return [
    ...listed
      .filter((code, at) => listed.indexOf(code) !== at)
      .map((code) => `${code}: has two entries in ${CATALOGUE}`),
    ...listed
      .filter((code) => !text.includes(`'${code}'`))
      .map((code) => `${code}: has an entry in ${CATALOGUE} and is used nowhere`),
    ...sources
      .filter(({ path }) => !OWN_CODES.test(path))
      .flatMap((file) => missingFrom(file, new Set(listed))),
  ];
}

function isSource(path: string): boolean {
  return path.startsWith('src/') && !path.startsWith(CATALOGUE) && !path.endsWith('.test.ts');
}

function missingFrom({ path, text }: ProjectFile, listed: ReadonlySet<string>): readonly string[] {
  return [...text.replace(COMMENT, '').matchAll(FAILURE_CODE)]
    .map(([, code = '']) => code)
    .filter((code) => !listed.has(code))
    .map((code) => `${path}: ${code} has no entry in ${CATALOGUE}`);
}
