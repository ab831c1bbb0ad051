// Renders the pages of docs/compare about scenarios of other test suites.

import { SUITES } from '../../test/peers/index.ts';
import type { Scenario, Suite } from '../../test/peers/scenario.ts';
import { pageText, tableOf, wrapped } from './markdown.ts';

const GROUP = 'Test scenarios';

const INTRODUCTION = `# Test scenarios of other projects

The test suites of other projects are lists of what their users rely on. We read them in November
2026, chose scenarios, and wrote each one with Holdfast. The choice is ours. Each page has one line for
each scenario: the call that you write here, or the reason why you cannot.`;

const PROOF = `A test shows each of them. Some have a case of their own in \`test/peers\`, which runs on SQLite and on
PostgreSQL. The others name tests that existed before. \`npm test -- test/peers\` runs a sample of the cases,
and \`npm run test:all -- test/peers\` runs all.`;

export function scenarioPages(): Readonly<Record<string, string>> {
  const suites = SUITES.map((suite, nth) => [addressOf(suite), suitePage(suite, nth)] as const);
  return { 'docs/compare/scenarios.md': overviewPage(), ...Object.fromEntries(suites) };
}

function addressOf({ id }: Suite): string {
  return `docs/compare/scenarios-${id}.md`;
}

function overviewPage(): string {
  const all = SUITES.flatMap(({ scenarios }) => scenarios);
  const counts = [
    ...SUITES.map((suite) => [
      `[${suite.name}](scenarios-${suite.id}.md)`,
      ...countsOf(suite.scenarios),
    ]),
    ['all', ...countsOf(all)],
  ];
  const missing = SUITES.flatMap(({ name, scenarios }) =>
    scenarios.filter(isMissing).map(({ peer, text }) => [name, peer, text]),
  );
  return pageText({ title: 'Test scenarios', order: 300, group: GROUP }, 'test/peers', [
    INTRODUCTION,
    tableOf([
      ['Suite', 'Scenarios', 'Can be written', 'With a case', 'By other tests', 'Cannot'],
      ...counts,
    ]),
    wrapped(PROOF),
    '## Scenarios that cannot be written',
    tableOf([['Suite', 'Scenario', 'Reason'], ...missing]),
  ]);
}

function countsOf(scenarios: readonly Scenario[]): readonly string[] {
  const count = (wanted: Scenario['kind']): number =>
    scenarios.filter(({ kind }) => kind === wanted).length;
  const missing = count('missing');
  const figures = [scenarios.length - missing, count('played'), count('cited'), missing];
  return [scenarios.length, ...figures].map(String);
}

function suitePage({ name, scenarios }: Suite, nth: number): string {
  const rows = scenarios.map((scenario) => [
    scenario.peer,
    isMissing(scenario) ? `Not possible. ${scenario.text}` : scenario.text,
  ]);
  const written = scenarios.filter((scenario) => !isMissing(scenario)).length;
  return pageText({ title: `Scenarios of ${name}`, order: 310 + nth, group: GROUP }, 'test/peers', [
    `# Scenarios of ${name}`,
    wrapped(
      `${written} of ${scenarios.length} can be written with Holdfast. ` +
        'The first column is the name in the other suite. ' +
        '[Test scenarios of other projects](scenarios.md) has the counts.',
    ),
    tableOf([['Scenario', 'Here'], ...rows]),
  ]);
}

function isMissing({ kind }: Scenario): boolean {
  return kind === 'missing';
}
