import type { ProjectFile } from './project-files.ts';

const CITATION = /\bADR[ -]?(\d{4})\b|\badr\/(\d{4})\b/g;

/** Decision records cited but absent, numbered twice, or with a gap between their numbers. */
export function decisionProblems(
  recordPaths: readonly string[],
  files: readonly ProjectFile[],
): readonly string[] {
  const numbers = recordPaths.flatMap((path) => /\/adr\/(\d{4})-/.exec(path)?.[1] ?? []).sort();
  const uncited = files.flatMap((file) =>
    [...file.text.matchAll(CITATION)]
      .map((match) => match[1] ?? match[2] ?? '')
      .filter((number) => !numbers.includes(number))
      .map((number) => `${file.path}: cites ADR ${number}, which docs/adr does not have`),
  );
  const first = Number(numbers[0] ?? 0);
  const misnumbered = numbers
    .filter((number, index) => Number(number) !== first + index)
    .slice(0, 1)
    .map((number) => `docs/adr: the numbers have a gap or a repetition at ${number}`);
  const start = first > 1 ? [`docs/adr: the first number is ${numbers[0]}, not 0000 or 0001`] : [];
  return [...uncited, ...start, ...misnumbered];
}
