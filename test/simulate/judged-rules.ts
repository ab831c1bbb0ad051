// The rules that the checkers of the simulator name, for docs/verification.md.

import { projectFiles } from '../tidy/project-files.ts';

const RULE = /'(P[1-5]|[A-Z]{1,2}-\d+)'/g;

export function judgedRules(): string {
  const texts = projectFiles('contract/simulator/**/*.ts').map(({ text }) => text);
  const found = texts.flatMap((text) => [...text.matchAll(RULE)].map(([, rule = '']) => rule));
  const rules = [...new Set(found)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return [
    'The lease model judges the replies to the writes of leases, not to their reads. The rest is judged',
    `by ${rules.length} promises and rules: ${rules.join(', ')}.`,
    'The contract judges the other rules of executions.',
  ].join('\n');
}
