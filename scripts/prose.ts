// npm run prose [-- path…]: sentence figures of the project's texts beside those of documentation
// that reads well. It fails on nothing. With paths, it prints a line for each path and each of its
// files; `--all` does so for every file. `--sentences` also prints the sentences to look at.
// `--exports` prints how much of the public API has JSDoc, and the names without it.

import { isTestFile, type ProjectFile, projectFiles } from '../test/tidy/project-files.ts';
import {
  measureProse,
  type ProseFigures,
  proseFlaws,
  proseOfComments,
  proseOfMarkdown,
  sentencesOf,
  testNamesIn,
  textsOnPage,
} from '../test/tidy/prose.ts';
import { viewOf } from '../test/tidy/source-view.ts';

interface Row {
  readonly name: string;
  readonly figures: ProseFigures;
}

const COLUMNS: readonly (readonly [heading: string, keyof ProseFigures])[] = [
  ['words', 'words'],
  ['mean', 'meanWords'],
  ['> 25 %', 'longPercent'],
  ['passives /100', 'passivesPer100'],
  ['headless %', 'headlessPercent'],
  ['nobody /1k', 'indefinitePer1000'],
  ['say /1k', 'speechPer1000'],
  ['you /1k', 'youPer1000'],
];

/** Measured with the same functions in November 2026, on each project's newest commit of that summer. */
const ANCHORS: readonly (readonly [name: string, figures: readonly number[]])[] = [
  ['fastify, docs', [42_924, 13.4, 6.6, 25.1, 0.5, 0, 0.4, 21.9]],
  ['dbos-docs, typescript', [24_253, 12.8, 6.4, 27.8, 0.1, 0, 0.2, 19.7]],
  ['docs-restate', [41_535, 13.3, 5.9, 14.5, 0.1, 0, 0.3, 25.2]],
  ['temporal sdk-typescript', [9_346, 13.2, 9.2, 20.7, 0, 0, 0, 9.8]],
];

const GOALS = [Number.NaN, 16, 9, 28, 1, 0.3, Number.NaN, Number.NaN];

const CONSOLE = 'console/src/**/*.{ts,tsx}';

const TEXTS: readonly (readonly [name: string, ...patterns: string[]])[] = [
  ['README', 'README.md'],
  ['ARCHITECTURE', 'ARCHITECTURE.md'],
  ['CONTRIBUTING, SECURITY', 'CONTRIBUTING.md', 'SECURITY.md'],
  ['CHANGELOG', 'CHANGELOG.md'],
  ['promises', 'docs/promises.md'],
  ['spec', 'docs/spec/*.md'],
  ['guide', 'docs/{start,guides,concepts,operate,compare,guide}/**/*.md'],
  ['decisions', 'docs/adr/*.md'],
  ['bugs', 'docs/bugs.md'],
  ['error reference', 'docs/reference/errors.md'],
  ['comments in src', 'src/**/*.ts'],
  ['comments in contract', 'contract/**/*.ts'],
  ['comments in console', CONSOLE],
  ['comments in bench', 'bench/**/*.ts'],
  ['comments in examples', 'examples/**/*.ts'],
  ['comments in scripts', 'scripts/**/*.ts'],
];

const TESTS: readonly string[] = ['test/**/*.ts', 'src/**/*.test.ts'];

const given = process.argv.slice(2);
const paths = given.filter((each) => each !== '--sentences');
if (given.includes('--exports')) await printExports();
else
  print(
    paths.length > 0 ? [...pathRows(paths), ...fileRows(paths)] : [...textRows(), await helpRow()],
  );
if (given.includes('--sentences')) printFlaws(paths);

/** Starts the compiler, which the figures of texts do not need. */
async function printExports(): Promise<void> {
  const { publicApi } = await import('../test/tidy/public-api.ts');
  const { documentationProblems, documentedShares } = await import('../test/tidy/public-docs.ts');
  const api = publicApi();
  console.table(documentedShares(api));
  for (const problem of documentationProblems(api)) console.log(problem);
}

function textRows(): readonly Row[] {
  const texts = TEXTS.map(([name, ...patterns]): Row => {
    const files = projectFiles(...patterns).filter(({ path }) => !isTestFile(path));
    return { name, figures: measureProse(files.flatMap(sentencesIn)) };
  });
  return [
    ...texts,
    {
      name: 'comments in tests',
      figures: measureProse(projectFiles(...TESTS).flatMap(sentencesIn)),
    },
    { name: 'texts in console', figures: measureProse(projectFiles(CONSOLE).flatMap(pageTexts)) },
    { name: 'names of contract cases', figures: nameFigures('contract/**/*.ts') },
    { name: 'names of tests', figures: nameFigures(...TESTS) },
  ];
}

function pageTexts({ text }: ProjectFile): readonly string[] {
  return sentencesOf(textsOnPage(viewOf(text, 'string'), viewOf(text, 'code')));
}

/** Without passives: "is refused" is a plain outcome. */
function nameFigures(...patterns: readonly string[]): ProseFigures {
  const names = projectFiles(...patterns).flatMap(({ text }) => testNamesIn(text));
  return { ...measureProse(names), passivesPer100: Number.NaN };
}

/** The summaries and flags of all commands. Flags that several commands share count once. */
async function helpRow(): Promise<Row> {
  const { COMMANDS } = await import('../src/cli/commands.ts');
  const specs = await Promise.all(COMMANDS.map((command) => command.load()));
  const flags = specs.flatMap((spec) => Object.values(spec.flags).map(({ help }) => help));
  const blocks = [...COMMANDS.map(({ summary }) => summary), ...new Set(flags)];
  return { name: 'CLI help', figures: measureProse(sentencesOf(blocks)) };
}

/** One row for all files of each path. */
function pathRows(wanted: readonly string[]): readonly Row[] {
  return wanted
    .filter((path) => path !== '--all')
    .map((path) => ({
      name: path,
      figures: measureProse(filesIn([path]).flatMap(sentencesIn)),
    }));
}

/** Sorts files by passives, headless sentences and uses of "nobody", the most first. */
function fileRows(wanted: readonly string[]): readonly Row[] {
  return filesIn(wanted)
    .map((file) => ({ name: file.path, figures: measureProse(sentencesIn(file)) }))
    .filter(({ figures }) => figures.sentences > 0)
    .sort((a, b) => weight(b.figures) - weight(a.figures));
}

function filesIn(wanted: readonly string[]): readonly ProjectFile[] {
  const patterns = wanted.includes('--all')
    ? [...TEXTS.flatMap(([, ...all]) => all), ...TESTS]
    : wanted.flatMap((path) => [path, `${path}/**/*.{md,ts,tsx}`]);
  return projectFiles(...patterns);
}

function printFlaws(wanted: readonly string[]): void {
  for (const file of filesIn(wanted.length > 0 ? wanted : ['--all'])) {
    const names = testNamesIn(file.text);
    const texts = file.path.startsWith('console/') ? pageTexts(file) : [];
    for (const sentence of [...sentencesIn(file), ...names, ...texts]) {
      const flaws = proseFlaws(sentence).filter(
        (flaw) => flaw !== 'passive' || !names.includes(sentence),
      );
      if (flaws.length > 0) console.log(`${file.path} (${flaws.join(', ')}): ${sentence}`);
    }
  }
}

function weight({
  passivesPer100,
  headlessPercent,
  indefinitePer1000,
  longPercent,
}: ProseFigures): number {
  return passivesPer100 / 28 + headlessPercent + indefinitePer1000 + longPercent / 9;
}

function sentencesIn({ path, text }: ProjectFile): readonly string[] {
  return sentencesOf(
    path.endsWith('.md') ? proseOfMarkdown(text) : proseOfComments(viewOf(text, 'comment')),
  );
}

function print(rows: readonly Row[]): void {
  const lines: (readonly string[])[] = [
    ['', ...COLUMNS.map(([heading]) => heading)],
    ...rows.map(({ name, figures }) => [name, ...COLUMNS.map(([, key]) => format(figures[key]))]),
    ['goal, at most', ...GOALS.map(format)],
    ...ANCHORS.map(([name, figures]) => [name, ...figures.map(format)]),
  ];
  const widths = lines[0]?.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  for (const line of lines) {
    console.log(
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths?.[0] ?? 0) : cell.padStart(widths?.[column] ?? 0),
        )
        .join('  '),
    );
  }
}

function format(figure: number): string {
  if (Number.isNaN(figure)) return '';
  return figure >= 1_000
    ? Math.round(figure).toLocaleString('en')
    : figure.toFixed(figure % 1 === 0 ? 0 : 1);
}
