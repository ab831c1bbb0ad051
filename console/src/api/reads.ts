// Queries of the API. The event stream of the coordinator triggers reading them again.

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
  /** Polls at this interval, in addition to the event stream. */
  readonly everyMs?: number;
  readonly isEnabled?: boolean;
}

/** Marks queries that are read again on an event. */
export const LIVE = { live: true } as const;

/** A list with more loaded pages is not read again: that would be too many requests. */
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

/** A list that is loaded page by page with its cursor. */
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

export interface May {
  readonly operate: boolean;
  readonly submit: boolean;
  /** The key has the admin role, and this listener has the admin routes. */
  readonly admin: boolean;
  readonly adminElsewhere: boolean;
  readonly isOfAll: boolean;
}

/** The operations that the key allows, for showing or hiding buttons. */
export function useMay(): May {
  const { data: caller } = useCaller();
  const { roles = [], hasAdmin = false, isOfAll = false } = caller ?? {};
  const isAdmin = roles.includes('admin');
  return {
    ...{ operate: roles.includes('operate'), submit: roles.includes('submit'), isOfAll },
    ...{ admin: isAdmin && hasAdmin, adminElsewhere: isAdmin && !hasAdmin },
  };
}

export type Act<Answer = unknown> = ApiRequest<Answer> & Pick<CallOptions, 'key'>;

const CONFLICT = 409;

/** A write. The visible data is read again afterwards, also if the write conflicted with a newer state. */
export function useAct<Answer = unknown>(): UseMutationResult<Answer, Refused, Act<Answer>> {
  const client = useQueryClient();
  // Not awaited: the caller's onSuccess must run even if the user leaves the page meanwhile.
  const readAgain = (): void => {
    void client.invalidateQueries({ predicate: isLive });
  };
  return useMutation<Answer, Refused, Act<Answer>>({
    mutationFn: ({ key, ...request }) => call(request, key === undefined ? {} : { key }),
    onSuccess: readAgain,
    onError: ({ status }) => {
      if (status === CONFLICT) readAgain();
    },
  });
}
