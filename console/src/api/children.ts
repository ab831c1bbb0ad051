// The children of an execution, oldest first. The API returns no cursor here: the next page starts
// after the ID of the last child.

import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call, type Refused } from './call.ts';
import { LIVE, type Page, type Pages } from './reads.ts';

export type Child = Pick<ExecutionMessage, 'id' | 'pipeline' | 'status'>;

/** The coordinator's page size. */
const PAGE = 1_000;

type After = string | undefined;

export function useChildren(parent: string): Pages<Child> {
  return useInfiniteQuery<
    Page<Child>,
    Refused,
    InfiniteData<Page<Child>>,
    readonly string[],
    After
  >({
    queryKey: ['children', parent],
    queryFn: ({ pageParam: after, signal }) =>
      call(requestTo('GET /v1/executions/:id/children', { id: parent, after }), { signal }),
    initialPageParam: undefined,
    getNextPageParam: ({ items }) => (items.length < PAGE ? undefined : items.at(-1)?.id),
    meta: LIVE,
  });
}
