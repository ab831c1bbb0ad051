// Renders the error reference from the catalogue of codes.

import { EXPLAIN_CODES } from '../../src/execution/explain.ts';
import { INVARIANTS } from '../../src/features/reconcile/model.ts';
import { CODE_GROUPS } from '../../src/support/codes/catalogue.ts';
import type { CodeEntry, Retry } from '../../src/support/codes/entry.ts';
import { pageText, tableOf, wrapped, wrappedLine } from './markdown.ts';

const INTRODUCTION = `Every error, refusal, warning and failure of Holdfast has a stable code. Match on the code in programs; messages can
change.

| Where | How it shows the code |
|---|---|
| TypeScript | \`error.code\`; a refusal that is returned has \`why\` |
| HTTP API | \`code\` of the \`application/problem+json\` body, with the status in parentheses below |
| Command line | in brackets at the end of the message; \`code\` of the last line with \`--json\` |
| Log of a coordinator | \`code\` of the entry |
| Warnings of a worker | in brackets at the end of the line |
| Dead letters | \`failure.code\`: a code from this page, or the code or name of an error that your code threw |

## How to read an entry

An entry gives the cause, the effect on state and the fix. "Nothing was written" means that the request had no effect.
The last line answers two questions: may you repeat the request, and who applies the fix?

| Retry | If you repeat the same request |
|---|---|
| safe | It does no harm and can succeed, now or after the wait that the fix names. |
| after the fix | It does no harm, but it fails again until the fix is in place. |
| automatic | You need not: Holdfast tries again by itself. |
| same key | The first request may have had its effect. Use the same key, id or attempt, so that it takes effect once. |
| check first | An effect may happen twice. Find out whether it has happened. |
| not needed | It changes nothing: the state is already right, or work continues. |
| no | It fails every time. The fix names another way. |

| Fixed by | Person or program |
|---|---|
| caller | The program or person that sent the request, or that holds the lease |
| operator | The person who runs the coordinator, its store, its workers or its keys |
| developer | The person who writes the pipeline, worker, handler or client |
| none | No action is needed |

## Exit codes

The command line exits with one of these codes.

| Exit code | Meaning |
|---|---|
| 0 | Success |
| 1 | The coordinator or store refused, found nothing or found problems, or the execution did not complete |
| 2 | Wrong usage, a refused access key or role, an unknown route, admin routes that are off, a limit, a fault, or a coordinator, store or file that cannot be read |
`;

const EXPLANATIONS = `## Explanations

\`holdfast explain <id>\` returns one of these codes. They describe a state and are not errors.
`;

const FINDINGS = `## Findings of the invariant check

A worker compares stored rows with these rules. It reports each row that breaks one to its observer, and repairs the row
if the right value is provable.
`;

export function errorsPage(): string {
  const groups = Object.entries(CODE_GROUPS).map(([title, entries]) => groupText(title, entries));
  const explanations = Object.entries(EXPLAIN_CODES).map(([code, what]) => [`\`${code}\``, what]);
  const findings = INVARIANTS.map(({ name, sentence, repair = 'Reported only.', advice }) => [
    `\`${name}\``,
    ...[sentence, repair, advice],
  ]);
  return pageText({ title: 'Error codes', order: 500 }, 'src/support/codes', [
    '# Error reference',
    wrapped(INTRODUCTION),
    ...groups,
    EXPLANATIONS,
    tableOf([['Code', 'State of the execution'], ...explanations]),
    wrapped(FINDINGS),
    tableOf([['Code', 'Finding', 'Repair', 'If it remains'], ...findings]),
  ]);
}

function groupText(title: string, entries: Readonly<Record<string, CodeEntry>>): string {
  const texts = Object.entries(entries).map(([code, entry]) => entryText(code, entry));
  return [`## ${title}`, ...texts].join('\n\n');
}

const RETRY: Readonly<Record<Retry, string>> = {
  safe: 'safe',
  'after-fix': 'after the fix',
  automatic: 'automatic',
  'same-key': 'same key',
  'check-first': 'check first',
  'not-needed': 'not needed',
  no: 'no',
};

function entryText(code: string, { status, when, state, fix, retry, fixedBy }: CodeEntry): string {
  const heading = `### \`${code}\`${status === undefined ? '' : ` (${status})`}`;
  const who = fixedBy.length === 0 ? 'none' : fixedBy.join(', ');
  const last = `Retry: **${RETRY[retry]}**. Fixed by: **${who}**.`;
  return [heading, wrappedLine(`${when} ${state} ${fix}`), last].join('\n\n');
}
