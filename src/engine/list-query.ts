// What callers ask to see, checked and turned into a query.

import { HOLDS, type Hold, STATUSES, type Status } from '../execution/execution.ts';
import { SEQ_MAX } from '../execution/history.ts';
import { type ExecutionId, parseExecutionId, parsePipelineName } from '../execution/names.ts';
import type {
  AttributeFilter,
  ListExecutions,
  ReadAttachment,
  ReadHistory,
} from '../store/contract/execution-store.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, readList, readOptions, shown, wholeNumber } from '../support/options.ts';
import type { ListOptions } from './holdfast-types.ts';
import { isLabel, projectOf } from './submission.ts';

const HISTORY_PAGE_MAX = 10_000;
const LIST_NAMES: readonly (keyof ListOptions)[] = [
  ...(['project', 'status', 'pipeline', 'tag', 'attribute', 'hold', 'cursor', 'limit'] as const),
];

export interface HistoryPage {
  readonly after?: number;
  readonly limit?: number;
}

export function historyQueryOf(id: string, page: HistoryPage): ReadHistory {
  const { after = 0, limit = 1_000 } = readOptions('history', page, ['after', 'limit']);
  return {
    id: parseExecutionId(id),
    after: wholeNumber('after', after, { min: 0, max: SEQ_MAX }),
    limit: wholeNumber('limit', limit, { min: 1, max: HISTORY_PAGE_MAX }),
  };
}

export function attachmentQueryOf(id: string, name: string): ReadAttachment {
  return {
    id: parseExecutionId(id),
    name: boundedText('The name of an attachment', name, 256),
  };
}

export function listQueryOf(options: ListOptions): ListExecutions {
  const given = readOptions('list', options, LIST_NAMES);
  const { project, status, pipeline, tag, attribute, hold, cursor, limit = 100 } = given;
  return {
    project: projectOf(project),
    limit: wholeNumber('limit', limit, { min: 1, max: 10_000 }),
    ...(status === undefined ? {} : { status: checkedStatus(status) }),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(tag === undefined ? {} : { tag: boundedText('tag', tag, 256) }),
    ...(attribute === undefined ? {} : { attribute: checkedAttribute(attribute) }),
    ...(hold === undefined ? {} : { hold: checkedHold(hold) }),
    ...(cursor === undefined ? {} : { before: cursorOf(cursor) }),
  };
}

function checkedStatus(status: NonNullable<ListOptions['status']>): readonly Status[] {
  const all = typeof status === 'string' ? [status] : readList('status', status);
  const odd = all.findIndex((each) => !STATUSES.includes(each as Status));
  if (odd === -1) return all as readonly Status[];
  throw new InvalidInput(`status must be one of ${STATUSES.join(', ')}; got ${shown(all[odd])}.`);
}

function checkedHold(hold: Hold): Hold {
  if (HOLDS.includes(hold)) return hold;
  throw new InvalidInput(`hold must be one of ${HOLDS.join(', ')}; got ${shown(hold)}.`);
}

function checkedAttribute(given: AttributeFilter): AttributeFilter {
  const filter = readOptions('attribute', given, ['name', 'equals', 'min', 'max']);
  boundedText('attribute.name', filter.name, 256);
  if (filter.equals !== undefined && !isLabel(filter.equals)) {
    throw new InvalidInput(
      `attribute.equals is text, a finite number or a boolean; got ${shown(filter.equals)}.`,
    );
  }
  for (const name of ['min', 'max'] as const) {
    if (filter[name] === undefined || Number.isFinite(filter[name])) continue;
    throw new InvalidInput(`attribute.${name} is a finite number; got ${shown(filter[name])}.`);
  }
  return filter;
}

export function cursorOf(cursor: unknown): ExecutionId {
  try {
    return parseExecutionId(cursor);
  } catch {
    throw new InvalidInput(`cursor is what a list answered with; got ${shown(cursor)}.`);
  }
}
