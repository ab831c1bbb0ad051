// The rules that the checkers of the simulator name, for docs/verification.md.

import { projectFiles } from '../tidy/project-files.ts';

const RULE = /'(P[1-5]|[A-Z]{1,2}-\d+)'/g;

export function judgedRules(): string {
  const texts = projectFiles('contract/simulator/**/*.ts').map(({ text }) => text);
  const found = texts.flatMap((text) => [...text.matchAll(RULE)].map(([, rule = '']) => rule));
  const rules = [...new Set(found)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return [
    'The lease model foretells every reply about leases and sessions. The model of executions foretells',
    'every reply to a write of executions, the row, the history and the inbox that it leaves, and the',
    `replies to reads. Both and the other checkers name ${rules.length} promises and rules: ${rules.join(', ')}.`,
    'The contract judges the other rules.',
  ].join('\n');
}
