// Renders the reference of statuses, events and reports from the lists in the JSDoc of their types.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOLDS, LANES, STATUSES, TERMINAL } from '../../src/execution/execution.ts';
import { EVENT_KINDS } from '../../src/execution/history.ts';
import { AUDIT_ACTIONS } from '../../src/features/audit/model.ts';
import { EXIT_ADVICE } from '../../src/lease/exit.ts';
import { pageText, plain, tableOf, wrapped, wrappedLine } from './markdown.ts';

const SRC = join(import.meta.dirname, '../../src');

const INTRODUCTION = `These names are stable. The HTTP API, the command line, the console and the TypeScript API use the same
ones.`;

const EVENTS = `Each execution has a history of these events, in order, without gaps. \`holdfast history <id>\` prints it,
and \`holdfast.history(id)\` reads it. The body of an event is JSON.`;

const LEASE_EVENTS = `A store writes these events in the transaction that makes them true. \`watchLeases\`
reads them in order, from any point.`;

const REPORTS = `An \`ExecutionObserver\` receives these reports in the process that runs executions.`;

const AUDIT = `The audit records these operations, with their actor. A record never changes.`;

export function eventsPage(): string {
  const statuses = listedIn('execution/execution.ts', 'Status', STATUSES);
  return pageText({ title: 'Events and statuses', order: 600 }, 'the types in src', [
    '# Events and statuses',
    wrapped(INTRODUCTION),
    '## Status of an execution',
    tableOf([
      ['Status', 'Final', 'Meaning'],
      ...statuses.map(([name, about]) => [name, isFinal(name) ? 'yes' : 'no', about]),
    ]),
    ...section('Holds', 'execution/execution.ts', 'Hold', HOLDS),
    '## Lanes',
    wrappedLine(
      `A lane is a priority class: ${inCode(LANES).join(' or ')}. ${introOf('execution/execution.ts', 'Lane')}`,
    ),
    '## History events',
    wrapped(EVENTS),
    ...tableFor('execution/history.ts', 'HistoryEventKind', EVENT_KINDS),
    '## Reports to an observer',
    wrapped(REPORTS),
    ...tableFor('execution/report.ts', 'ExecutionReport'),
    ...section('Status of a question', 'features/awaits/model.ts', 'InteractionStatus'),
    ...section('State of a lease', 'lease/lease.ts', 'LeaseState'),
    ...section('State of a session', 'lease/session.ts', 'SessionState'),
    '## Exits of a lease',
    'A term of a lease ends with one of these exits. The next holder reads it.',
    tableOf([
      ['Exit', 'Meaning', 'Advice to the next holder'],
      ...listedIn('lease/exit.ts', 'Exit', Object.keys(EXIT_ADVICE)).map(([name, about]) => [
        ...[name, about],
        EXIT_ADVICE[name.replaceAll('`', '') as keyof typeof EXIT_ADVICE],
      ]),
    ]),
    '## Lease events',
    wrapped(LEASE_EVENTS),
    ...tableFor('lease/event.ts', 'LeaseEvent'),
    ...section('Alarms', 'lease/event.ts', 'Alarm'),
    '## Audit operations',
    AUDIT,
    wrappedLine(`${inCode(AUDIT_ACTIONS).join(', ')}.`),
  ]);
}

function section(title: string, ...of: Parameters<typeof listedIn>): readonly string[] {
  return [`## ${title}`, ...tableFor(...of)];
}

function tableFor(...of: Parameters<typeof listedIn>): readonly string[] {
  return [tableOf([['Name', 'Meaning'], ...listedIn(...of)])];
}

/** Returns the list in the JSDoc of a type. Throws unless it has exactly `names`, in any order. */
function listedIn(
  file: string,
  type: string,
  names?: readonly string[],
): readonly (readonly [name: string, about: string])[] {
  const items = docsOf(file, type)
    .split(/\n(?=- )/)
    .flatMap((item) => {
      const [, heads = '', about = ''] = /^- ((?:`[\w-]+`(?:, )?)+): (.*)$/s.exec(item) ?? [];
      const sentence = capitalised(about.split('\n\n')[0] ?? '');
      return heads === '' ? [] : heads.split(', ').map((head) => [head, plain(sentence)] as const);
    });
  const found = items.map(([name]) => name.replaceAll('`', ''));
  const missing = (names ?? []).filter((name) => !found.includes(name));
  const extra = names === undefined ? [] : found.filter((name) => !names.includes(name));
  if (items.length === 0 || missing.length > 0 || extra.length > 0) {
    throw new Error(`The JSDoc of ${type} must list: ${[...missing, ...extra].join(', ')}.`);
  }
  return items;
}

function introOf(file: string, type: string): string {
  return docsOf(file, type).split('. ').slice(1).join('. ');
}

function docsOf(file: string, type: string): string {
  const text = readFileSync(join(SRC, file), 'utf8');
  const before = text.slice(0, text.indexOf(`\nexport type ${type} =`));
  const block = before.slice(before.lastIndexOf('/**') + 3, before.lastIndexOf('*/'));
  return block.replaceAll(/^[ \t]*\* ?/gm, '').trim();
}

function capitalised(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return `${line.slice(0, 1).toUpperCase()}${line.slice(1)}`;
}

function isFinal(name: string): boolean {
  return [...TERMINAL].some((each) => name === `\`${each}\``);
}

function inCode(names: readonly string[]): readonly string[] {
  return names.map((name) => `\`${name}\``);
}
