// The report of an archived execution, for people: Markdown that says what was asked for, what was done and how
// it ended. What others wrote stands in it as text and as nothing else.

import { formatInstant, type Instant } from '../../support/clock.ts';
import type { Gathered } from './gather-api.ts';
import type { ArchivedStep } from './steps-api.ts';

export interface Reported {
  readonly gathered: Gathered;
  readonly steps: readonly ArchivedStep[];
  readonly input: unknown;
  readonly end: unknown;
}

const SHOWN_MAX = 2_000;
const EVENTS_MAX = 1_000;

export function reportOf({ gathered, steps, input, end }: Reported): string {
  const { execution, letter, history } = gathered;
  const { id, project, pipeline, status, key, tags, attributes } = execution;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', id],
    ['project', project],
    ['pipeline', pipeline],
    ['release', execution.release],
    ['status', status],
    ['key', key],
    ['tags', tags.length === 0 ? undefined : tags.join(', ')],
    ['attributes', Object.keys(attributes).length === 0 ? undefined : JSON.stringify(attributes)],
    ['submitted', formatInstant(execution.submittedAt)],
    ['ended', timeOf(execution.endedAt)],
    ['submitted by', execution.submittedBy],
    ['parent', execution.parent?.id],
    ['re-drive of', execution.redriveOf],
    ['template', execution.template && `${execution.template.id} ${execution.template.version}`],
  ];
  return [
    `# ${cell(pipeline)}: ${status}`,
    table(
      ['', ''],
      facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    '## Input',
    block(input),
    '## End',
    block(end),
    ...(letter === undefined
      ? []
      : [
          '## Dead letter',
          table(['', ''], entriesOf({ ...letter, at: formatInstant(letter.at) })),
        ]),
    '## Steps',
    stepTable(steps),
    ...listOf('## Attachments', ['name', 'type', 'bytes'], attachmentRows(gathered)),
    ...listOf('## Asked', ['what', 'status', 'answered by'], awaitRows(gathered)),
    ...listOf('## Children', ['id', 'pipeline', 'status'], childRows(gathered)),
    ...listOf('## What people did', ['when', 'who', 'what', 'why'], auditRows(gathered)),
    '## History',
    table(
      ['seq', 'at', 'what', 'name'],
      history.slice(0, EVENTS_MAX).map(({ seq, at, kind, name = '' }) => {
        return [String(seq), formatInstant(at), kind, name];
      }),
    ),
    ...(history.length > EVENTS_MAX
      ? [`${history.length - EVENTS_MAX} more are in history.json.`]
      : []),
    '',
  ].join('\n\n');
}

function stepTable(steps: readonly ArchivedStep[]): string {
  if (steps.length === 0) return 'None.';
  return table(
    ['call', 'outcome', 'failures', 'from', 'to'],
    steps.map(({ call, outcome, failures, firstAt, lastAt }) => {
      return [call, outcome, String(failures), firstAt, lastAt];
    }),
  );
}

type Rows = readonly (readonly string[])[];

function attachmentRows({ attachments }: Gathered): Rows {
  return attachments.map(({ name, type, bytes }) => [name, type, String(bytes)]);
}

function awaitRows({ awaits }: Gathered): Rows {
  return awaits.map(({ interaction, unit }) => {
    return [unit?.name ?? interaction.call, interaction.status, interaction.answer?.by ?? ''];
  });
}

function childRows({ children }: Gathered): Rows {
  return children.map(({ id, pipeline, status }) => [id, pipeline, status]);
}

function auditRows({ audit }: Gathered): Rows {
  return audit.map(({ at, actor, act, reason }) => [formatInstant(at), actor, act, reason]);
}

function listOf(title: string, head: readonly string[], rows: Rows): readonly string[] {
  return rows.length === 0 ? [] : [title, table(head, rows)];
}

function entriesOf(record: object): Rows {
  return Object.entries(record).map(([name, value]) => [name, String(value)]);
}

function table(head: readonly string[], rows: Rows): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** One line, in which nothing is markup. */
function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\\`*_[\]|#!]/g, (mark) => `\\${mark}`);
}

/** A block that what is in it cannot end. */
function block(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? 'nothing';
  const shown =
    text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}\n… (more in record.json)` : text;
  const fence = '`'.repeat(
    Math.max(3, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length + 1)),
  );
  return `${fence}json\n${shown}\n${fence}`;
}

function timeOf(at: Instant | undefined): string | undefined {
  return at === undefined ? undefined : formatInstant(at);
}
