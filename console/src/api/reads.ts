// Queries and operations. Results of queries are cached, and refetched when the event stream reports a
// change.

import {
  type InfiniteData,
  type Query,
  type UseInfiniteQueryResult,
  type UseMutationResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import type { CallerMessage } from '../../../src/protocol/messages/coordinator.ts';
import { type ApiRequest, requestTo } from '../../../src/protocol/messages/request.ts';
import { type CallOptions, call, pathOf, type Refused } from './call.ts';

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor?: string;
}

interface ReadOptions {
  /** Refetch at this interval, even without an event. */
  readonly everyMs?: number;
  readonly isEnabled?: boolean;
}

/** Marks queries to refetch after an event. */
export const LIVE = { live: true } as const;

/** A list that the user scrolled further down is not refetched: it would take too many requests. */
const LIVE_PAGES_MAX = 5;

export function isLive({ meta, state }: Query): boolean {
  const { pages } = (state.data ?? {}) as { readonly pages?: readonly unknown[] };
  return meta === LIVE && (pages?.length ?? 0) <= LIVE_PAGES_MAX;
}

export type Read<Answer> = UseQueryResult<Answer, Refused>;

export function useRead<Answer>(
  request: ApiRequest<Answer>,
  { everyMs, isEnabled = true }: ReadOptions = {},
): Read<Answer> {
  return useQuery<Answer, Refused>({
    queryKey: [pathOf(request)],
    queryFn: ({ signal }) => call(request, { signal }),
    meta: LIVE,
    enabled: isEnabled,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  });
}

export type Pages<Item> = UseInfiniteQueryResult<InfiniteData<Page<Item>>, Refused>;

/** Reads a list page by page, with the cursor of the API. */
export function usePages<Item>(
  request: ApiRequest<Page<Item>>,
  { everyMs }: ReadOptions = {},
): Pages<Item> {
  return useInfiniteQuery<
    Page<Item>,
    Refused,
    InfiniteData<Page<Item>>,
    readonly string[],
    string | undefined
  >({
    queryKey: ['pages', pathOf(request)],
    queryFn: ({ pageParam: cursor, signal }) =>
      call({ ...request, query: { ...request.query, cursor } }, { signal }),
    initialPageParam: undefined,
    getNextPageParam: ({ cursor }) => cursor,
    meta: LIVE,
    ...(everyMs === undefined
      ? {}
      : { refetchInterval: (query) => (isLive(query as unknown as Query) ? everyMs : false) }),
  });
}

export function itemsOf<Item>(pages: Pages<Item>): readonly Item[] {
  return pages.data?.pages.flatMap((page) => page.items) ?? [];
}

export const CALLER = requestTo('GET /v1/caller');

export function useCaller(): UseQueryResult<CallerMessage, Refused> {
  return useRead(CALLER);
}

/** The words that start the command line where the coordinator is installed. */
export function useCommand(): string {
  return useCaller().data?.command ?? 'npx holdfast';
}

export interface May {
  readonly operate: boolean;
  readonly submit: boolean;
  /** The key has the admin role, and this listener has the admin routes. */
  readonly admin: boolean;
  readonly adminElsewhere: boolean;
  readonly isOfAll: boolean;
}

/** The operations to offer to this key. The coordinator checks every request again. */
export function useMay(): May {
  const { data: caller } = useCaller();
  const { roles = [], hasAdmin = false, isOfAll = false } = caller ?? {};
  const isAdmin = roles.includes('admin');
  return {
    ...{ operate: roles.includes('operate'), submit: roles.includes('submit'), isOfAll },
    ...{ admin: isAdmin && hasAdmin, adminElsewhere: isAdmin && !hasAdmin },
  };
}

export type Operation<Answer = unknown> = ApiRequest<Answer> & Pick<CallOptions, 'key'>;

const CONFLICT = 409;

/**
 * Sends an operation, then refetches the live queries. A conflict refetches them too: the page showed
 * an old state.
 */
export function useOperation<Answer = unknown>(): UseMutationResult<
  Answer,
  Refused,
  Operation<Answer>
> {
  const client = useQueryClient();
  // Not awaited: a refetch can remove the component, whose own callbacks must run before.
  const refetch = (): void => {
    void client.invalidateQueries({ predicate: isLive });
  };
  return useMutation<Answer, Refused, Operation<Answer>>({
    mutationFn: ({ key, ...request }) => call(request, key === undefined ? {} : { key }),
    onSuccess: refetch,
    onError: ({ status }) => {
      if (status === CONFLICT) refetch();
    },
  });
}
