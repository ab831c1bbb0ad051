import type { Static } from 'typebox';
import type { ListOptions } from '../../engine/holdfast-types.ts';
import type { Status } from '../../execution/execution.ts';
import type { listQuery } from '../messages/execution.ts';
import { type Caller, ProblemReply } from './route.ts';

type ListQuery = Static<typeof listQuery>;

export function listOptionsOf(query: ListQuery, { project }: Caller): ListOptions {
  const { status, attribute, equals, min, max, limit = 100, ...rest } = query;
  const filter = { equals: labelOf(equals), min, max };
  const isFiltered = Object.values(filter).some((each) => each !== undefined);
  if (isFiltered && attribute === undefined) {
    throw new ProblemReply(
      400,
      'invalid-input',
      'equals, min and max are about an attribute: say which, as attribute=<name>.',
    );
  }
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return {
    ...rest,
    project,
    limit,
    ...(status === undefined ? {} : { status: status as readonly Status[] }),
    ...(attribute === undefined
      ? {}
      : { attribute: { name: attribute, ...Object.fromEntries(given) } }),
  };
}

/** `true`, `17` and `"17"`: as JSON has them; what is not JSON is text. */
function labelOf(text: string | undefined): string | number | boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return /^".*"$/s.test(text) ? text.slice(1, -1) : text;
}
