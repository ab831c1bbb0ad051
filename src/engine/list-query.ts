// What callers ask of a list, checked and turned into a query.

import { STATUSES } from '../execution/execution.ts';
import { parseExecutionId, parsePipelineName } from '../execution/names.ts';
import type { ListExecutions, ReadHistory } from '../store/contract/execution-store.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, rejectUnknownOptions, shown, wholeNumber } from '../support/options.ts';
import type { ListOptions } from './holdfast-types.ts';
import { projectOf } from './submission.ts';

const HISTORY_PAGE_MAX = 10_000;

export function historyQueryOf(
  id: string,
  page: { readonly after?: number; readonly limit?: number },
): ReadHistory {
  return {
    id: parseExecutionId(id),
    after: wholeNumber('after', page.after ?? 0, { min: 0, max: Number.MAX_SAFE_INTEGER }),
    limit: wholeNumber('limit', page.limit ?? 1_000, { min: 1, max: HISTORY_PAGE_MAX }),
  };
}

export function listQueryOf(options: ListOptions): ListExecutions {
  rejectUnknownOptions('list', options, [
    ...['project', 'status', 'pipeline', 'tag', 'attribute', 'cursor', 'limit'],
  ]);
  checkFilters(options);
  const { project, status, pipeline, tag, attribute, cursor } = options;
  return {
    project: projectOf(project),
    limit: wholeNumber('limit', options.limit ?? 100, { min: 1, max: 10_000 }),
    ...(status === undefined ? {} : { status: [status].flat() }),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(tag === undefined ? {} : { tag }),
    ...(attribute === undefined ? {} : { attribute }),
    ...(cursor === undefined ? {} : { before: parseExecutionId(cursor) }),
  };
}

function checkFilters({ status, attribute, tag }: ListOptions): void {
  for (const each of [status ?? []].flat()) {
    if (STATUSES.includes(each)) continue;
    throw new InvalidInput(`status must be one of ${STATUSES.join(', ')}; got ${shown(each)}.`);
  }
  if (tag !== undefined) boundedText('tag', tag, 256);
  if (attribute === undefined) return;
  rejectUnknownOptions('attribute', attribute, ['name', 'equals', 'min', 'max']);
  boundedText('attribute.name', attribute.name, 256);
  const { equals, min, max } = attribute;
  const isNumber = (value: unknown): boolean => value === undefined || Number.isFinite(value);
  if (
    !isNumber(min) ||
    !isNumber(max) ||
    !['undefined', 'string', 'number', 'boolean'].includes(typeof equals)
  ) {
    throw new InvalidInput(
      'attribute: equals is text, a number or a boolean; min and max are numbers.',
    );
  }
}
