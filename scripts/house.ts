// Prints how much code there is, and where it is hard to read. It never fails; tests in test/tidy
// enforce the rules.

import { measureFunctions } from '../test/tidy/function-lengths.ts';
import { nestingProblems } from '../test/tidy/nesting.ts';
import { isTestFile, type ProjectFile, projectFiles } from '../test/tidy/project-files.ts';
import { viewOf } from '../test/tidy/source-view.ts';

const SMALL_FILE_LINES = 25;
const LARGE_FILE_LINES = 400;
const LONG_FUNCTION_LINES = 70;
const LISTED = 5;

const CORE_CLASSES: Readonly<Record<string, string>> = {
  Run: 'src/engine/run/run.ts',
  Settling: 'src/engine/run/settling.ts',
  LiveWorker: 'src/engine/worker/worker.ts',
  ClaimLoop: 'src/engine/worker/claim-loop.ts',
  Slots: 'src/engine/worker/slots.ts',
  Ledger: 'src/engine/run/ledger.ts',
  Journal: 'src/engine/run/journal.ts',
};

interface Figure {
  readonly name: string;
  readonly now: number;
  readonly goal?: number;
}

const all = projectFiles('{src,contract,console}/**/*.{ts,tsx}').filter(
  ({ path }) => !isTestFile(path),
);
const suites = all.filter(({ path }) => path.startsWith('contract/'));
const sources = all.filter(({ path }) => path.startsWith('src/'));
const pages = all.filter(({ path }) => path.startsWith('console/'));

const figures: readonly Figure[] = [
  { name: 'code lines in src/ without the contract suites', now: linesIn(sources), goal: 66_000 },
  { name: 'code lines in the contract suites', now: linesIn(suites) },
  { name: 'code lines in console/', now: linesIn(pages) },
  { name: 'files in src/ without the contract suites', now: sources.length, goal: 560 },
  { name: `files with ${SMALL_FILE_LINES} lines or fewer`, now: smallFiles().length, goal: 30 },
  { name: 'casts: as unknown as, as never, Proxy', now: casts().length, goal: 8 },
  ...Object.entries(CORE_CLASSES).map(([name, path]) => ({
    name: `mutable fields of ${name}`,
    now: mutableFields(name, path),
    goal: 6,
  })),
  { name: 'files that a recorded step passes, on SQLite', now: passedBy('step'), goal: 14 },
  { name: 'files that an HTTP record passes, both ends', now: passedBy('http-record'), goal: 22 },
];

const width = Math.max(...figures.map(({ name }) => name.length));
for (const { name, now, goal } of figures) {
  console.log(`${name.padEnd(width)}  ${format(now)}  ${goal === undefined ? '' : format(goal)}`);
}
list(`Files of more than ${LARGE_FILE_LINES} lines`, largeFiles());
list(`Functions of more than ${LONG_FUNCTION_LINES} lines`, longFunctions());
list('Code that is nested too deeply', nestingProblems(sources));
list('Casts', casts());

function format(count: number): string {
  return count.toLocaleString('en').padStart(7);
}

function list(title: string, found: readonly string[]): void {
  if (found.length === 0) return;
  console.log(`\n${title}: ${found.length}`);
  for (const each of process.argv.includes('--all') ? found : found.slice(0, LISTED)) {
    console.log(`  ${each}`);
  }
}

/** Lines that are neither blank nor only a comment. */
function codeLines({ text }: ProjectFile): number {
  const comments = viewOf(text, 'comment').split('\n');
  return text.split('\n').filter((line, index) => line.trim() !== comments[index]?.trim()).length;
}

function linesIn(files: readonly ProjectFile[]): number {
  return files.reduce((sum, file) => sum + codeLines(file), 0);
}

function lengthOf({ text }: ProjectFile): number {
  return text.trimEnd().split('\n').length;
}

function smallFiles(): readonly ProjectFile[] {
  return sources.filter((file) => lengthOf(file) <= SMALL_FILE_LINES);
}

function largeFiles(): readonly string[] {
  return sources
    .filter((file) => lengthOf(file) > LARGE_FILE_LINES)
    .sort((a, b) => lengthOf(b) - lengthOf(a))
    .map((file) => `${file.path}: ${lengthOf(file)}`);
}

function longFunctions(): readonly string[] {
  return sources
    .flatMap(({ path, text }) => measureFunctions(text).map((found) => ({ path, ...found })))
    .filter(({ lines }) => lines > LONG_FUNCTION_LINES)
    .sort((a, b) => b.lines - a.lines)
    .map(({ path, line, lines, header }) => `${path}:${line}: ${lines}, ${header}`);
}

function casts(): readonly string[] {
  return sources.flatMap(({ path, text }) =>
    viewOf(text, 'code')
      .split('\n')
      .flatMap((line, index) =>
        /\bas unknown as\b|\bas never\b|\bnew Proxy\b/.test(line) ? [`${path}:${index + 1}`] : [],
      ),
  );
}

/** Reads ARCHITECTURE.md. A test compares its walks with a trace. */
function passedBy(walk: string): number {
  const [{ text } = { text: '' }] = projectFiles('ARCHITECTURE.md');
  return Number(new RegExp(`^\\*\\*${walk}\\*\\*[^]*?, (\\d+)\\s+files:`, 'm').exec(text)?.[1]);
}

function mutableFields(name: string, path: string): number {
  const code = viewOf(sources.find((file) => file.path === path)?.text ?? '', 'code');
  const [body = ''] = code.slice(code.search(new RegExp(`class ${name}\\b`))).split('\n}\n');
  return (
    body.match(/^ {2}(?:private |protected )?#?\w+[?!]?(?:: [^(]*?)?(?: = .*)?;$/gm)?.length ?? 0
  );
}
