// The obligations of the specs: each rule, each outcome of a pure decision, each crash point and each
// race, with the test that covers it. All but the tests in `covered.json` is derived from the
// sources.

import { accessContract } from '../../contract/access/index.ts';
import { executionContract } from '../../contract/execution/index.ts';
import { leaseContract } from '../../contract/lease/index.ts';
import { transportContract } from '../../contract/transport/index.ts';
import { allowedSurvivors } from '../../test/mutation/examine.ts';
import { listLocks } from '../../test/mutation/locks.ts';
import { definitionsIn } from '../../test/tidy/invariants.ts';
import { type ProjectFile, projectFiles, readProjectFile } from '../../test/tidy/project-files.ts';
import { viewOf } from '../../test/tidy/source-view.ts';

/** The reason of a gap that is listed in covered.json. */
export const KNOWN_GAP = 'a known gap';

export const KINDS = ['rule', 'transition', 'crash point', 'race'] as const;

export interface Obligation {
  readonly kind: (typeof KINDS)[number];
  /** The obligation to test, such as `T-6` or `lease/decide/term.ts: seq-conflict`. */
  readonly id: string;
  /** The name or the file of the test that covers it. */
  readonly test?: string;
  /** Why it has none. */
  readonly reason?: string;
}

/** Tests that cannot be derived. A key may be the beginning of an id. */
export interface Covered {
  /** By obligation: words of the test's name. */
  readonly tests: Readonly<Record<string, string>>;
  /** Obligations that no test is known to cover. The list may only shrink. */
  readonly knownGaps: readonly string[];
}

interface NamedTest {
  readonly title: string;
  /** The source of the test, in which outcomes are looked up. */
  readonly source: string;
}

export function readCovered(): Covered {
  return JSON.parse(readProjectFile('scripts/obligations/covered.json')) as Covered;
}

export function obligations(covered: Covered = readCovered()): readonly Obligation[] {
  const files = testFiles();
  const tests = [...contractCases(), ...files.flatMap(namedTests)];
  return [
    ...ruleRows(tests, files),
    ...transitionRows(tests, { files, covered }),
    ...crashRows(covered),
    ...raceRows(covered),
  ];
}

/** Obligations without a test or a reason, and entries by hand that name no test or nothing. */
export function obligationProblems(
  rows: readonly Obligation[],
  covered: Covered = readCovered(),
): readonly string[] {
  const texts = testFiles().map(({ text }) => text);
  const gaps = rows
    .filter(({ test, reason }) => test === undefined && reason === undefined)
    .map(({ kind, id }) => `${kind} "${id}" has no test`);
  const missing = Object.entries(covered.tests)
    .filter(([, title]) => !texts.some((text) => text.includes(title)))
    .map(([id, title]) => `"${id}": no test is called "${title}"`);
  const stale = [...Object.keys(covered.tests), ...covered.knownGaps]
    .filter((key) => !rows.some(({ id }) => id.startsWith(key)))
    .map((key) => `"${key}" of covered.json is no obligation`);
  return [...gaps, ...missing, ...stale];
}

function testFiles(): readonly ProjectFile[] {
  const all = projectFiles('contract/**/*.ts', 'test/**/*.ts', 'src/**/*.test.ts');
  return all.filter(({ path }) => !path.startsWith('test/tidy/'));
}

function contractCases(): readonly NamedTest[] {
  const contracts = [leaseContract, executionContract, accessContract, transportContract];
  return contracts.flatMap((cases) =>
    cases.map(({ upholds, name, run }) => ({ title: `${upholds}: ${name}`, source: String(run) })),
  );
}

const TEST = /\btest\(\s*(['"`])(.+?)\1/gs;

/** The tests of a file. The source of each reaches to the next one. */
function namedTests({ text }: ProjectFile): readonly NamedTest[] {
  const found = [...text.matchAll(TEST)];
  return found.map(({ index, 2: title = '' }, nth) => ({
    title,
    source: text.slice(index, found[nth + 1]?.index),
  }));
}

function ruleRows(
  tests: readonly NamedTest[],
  files: readonly ProjectFile[],
): readonly Obligation[] {
  const views = new Map<string, string>();
  const isNamed = (id: string, { path, text }: ProjectFile): boolean => {
    if (!text.includes(id)) return false;
    const strings = views.get(path) ?? viewOf(text, 'string');
    views.set(path, strings);
    return new RegExp(`(?<![\\w-])${id}(?!\\d)`).test(strings);
  };
  return definitionsIn(projectFiles('docs/spec/*.md')).map(({ id, waived }) => {
    const names = new RegExp(`(?<![\\w-])${id}(?!\\d)`);
    const title = tests.find((each) => names.test(each.title))?.title;
    const test = title ?? files.find((file) => isNamed(id, file))?.path;
    if (test !== undefined) return { kind: 'rule', id, test };
    return waived
      ? { kind: 'rule', id, reason: 'the spec gives the reason' }
      : { kind: 'rule', id };
  });
}

const OUTCOME = /\b(?:kind|why): '([a-z-]+)'/g;

/** Each outcome of each pure decision. A test covers it if it names the outcome. */
function transitionRows(
  tests: readonly NamedTest[],
  { files, covered }: { readonly files: readonly ProjectFile[]; readonly covered: Covered },
): readonly Obligation[] {
  const decisions = projectFiles('src/**/decide/*.ts', 'src/features/*/*decide.ts').filter(
    ({ path }) => !path.endsWith('.test.ts'),
  );
  return decisions.flatMap(({ path, text }) => {
    const outcomes = [...text.matchAll(OUTCOME)].map(([, outcome = '']) => outcome);
    return [...new Set(outcomes)].map((outcome): Obligation => {
      const id = `${path.replace(/^src\//, '')}: ${outcome}`;
      const test =
        tests.find(({ source }) => source.includes(`'${outcome}'`))?.title ??
        files.find((file) => file.text.includes(`'${outcome}'`))?.path;
      return test === undefined
        ? byHand('transition', id, covered)
        : { kind: 'transition', id, test };
    });
  });
}

/** Each verb whose outcome may be unknown, and each place where tests kill a process. */
function crashRows(covered: Covered): readonly Obligation[] {
  const [table = ''] = /^\| Verb \|.*?\n\n/ms.exec(readProjectFile('docs/spec/lease.md')) ?? [];
  const verbs = table
    .split('\n')
    .slice(2, -2)
    .map((row) => row.split('|')[1]?.trim() ?? '');
  const lost = verbs.map((verb) => byHand('crash point', `reply lost: ${verb}`, covered));
  const kills = projectFiles(
    ...['test/crash/*.ts', 'test/processes/kill.ts', 'test/{archive,export}/kill*.ts'],
  ).flatMap((file) =>
    namedTests(file)
      .filter(({ title }) => /kill|lost/.test(title))
      .map(
        ({ title }) =>
          ({ kind: 'crash point', id: `${file.path}: ${title}`, test: title }) as const,
      ),
  );
  return [...lost, ...kills];
}

/** Guards and locks that only concurrent calls can miss. */
function raceRows(covered: Covered): readonly Obligation[] {
  const guards = Object.entries(allowedSurvivors()).filter(([, why]) => why.startsWith('at once'));
  const locks = listLocks('postgres').map((lock) => lock.replace(/:\d+ "(.*)": .*/, ': $1'));
  const ids = [...guards.map(([id]) => `guard ${id}`), ...new Set(locks.map((id) => `lock ${id}`))];
  return ids.map((id) => byHand('race', id, covered));
}

function byHand(kind: Obligation['kind'], id: string, covered: Covered): Obligation {
  const test = Object.entries(covered.tests).find(([key]) => id.startsWith(key))?.[1];
  if (test !== undefined) return { kind, id, test };
  const isKnown = covered.knownGaps.some((key) => id.startsWith(key));
  return isKnown ? { kind, id, reason: KNOWN_GAP } : { kind, id };
}
