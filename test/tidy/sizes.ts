import { ADAPTERS, EXTRA_FILES, nameWithin } from './adapters.ts';
import { measureFunctions } from './function-lengths.ts';
import { isTestFile, type ProjectFile } from './project-files.ts';

export const LIMITS = {
  sourceFileLines: 400,
  storeOperationFileLines: 150,
  testFileLines: 600,
  functionLines: 70,
} as const;

/** Paths that may exceed the limits, each with its reason. The list may only shrink. */
export const ALLOWED: Readonly<Record<string, string>> = {
  'src/engine/run.ts':
    'It holds the state of one running execution; the state is to be divided first.',
};

export function sizeProblems(
  files: readonly ProjectFile[],
  allowed: Readonly<Record<string, string>> = ALLOWED,
): readonly string[] {
  const problems = files.flatMap((file) => {
    const found = problemsOf(file);
    if (allowed[file.path] === undefined) {
      return found;
    }
    return found.length === 0 ? [`${file.path}: is within the limits; take it off the list`] : [];
  });
  const known = new Set(files.map((file) => file.path));
  const stale = Object.keys(allowed).filter((path) => !known.has(path));
  return [...problems, ...stale.map((path) => `${path}: on the list, but there is no such file`)];
}

function problemsOf({ path, text }: ProjectFile): readonly string[] {
  const problems: string[] = [];
  const lines = text.trimEnd().split('\n').length;
  const linesMax = fileLimit(path);
  if (lines > linesMax) {
    problems.push(`${path}: ${lines} lines, the limit is ${linesMax}`);
  }
  for (const measured of measureFunctions(text)) {
    // A suite only groups the tests in it.
    const isSuite = /^(?:describe|suite)\(/.test(measured.header);
    if (measured.lines > LIMITS.functionLines && !isSuite) {
      problems.push(
        `${path}:${measured.line}: a function of ${measured.lines} lines, ` +
          `the limit is ${LIMITS.functionLines}: ${measured.header}`,
      );
    }
  }
  return problems;
}

function fileLimit(path: string): number {
  if (isTestFile(path)) {
    return LIMITS.testFileLines;
  }
  return isStoreOperation(path) ? LIMITS.storeOperationFileLines : LIMITS.sourceFileLines;
}

/** Also in the folders of an adapter. */
function isStoreOperation(path: string): boolean {
  return ADAPTERS.some((adapter) => {
    const name = nameWithin(adapter, path);
    return name !== undefined && EXTRA_FILES[adapter]?.[name] === undefined;
  });
}
