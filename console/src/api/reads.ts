// Reading, with what was read kept and read again when the coordinator says that something changed.

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
  /** Asked for again so often, also when nothing was said to have changed. */
  readonly everyMs?: number;
  readonly isEnabled?: boolean;
}

/** Everything that is read again on a hint has this. */
export const LIVE = { live: true } as const;

/** Of a list that somebody has scrolled far into, reading all again would be too much. */
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

/** A list that is read on by its cursor. */
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
  /** By its role, and where the routes for it are. */
  readonly admin: boolean;
  readonly adminElsewhere: boolean;
  readonly isOfAll: boolean;
}

/** What the key allows, as far as a button can know. */
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

/** Something is done; all that is shown is read again afterwards, also where it was too old to act on. */
export function useOperation<Answer = unknown>(): UseMutationResult<
  Answer,
  Refused,
  Operation<Answer>
> {
  const client = useQueryClient();
  // Not waited for: who asked may be gone from the page when all is read again, and must be told before.
  const readAgain = (): void => {
    void client.invalidateQueries({ predicate: isLive });
  };
  return useMutation<Answer, Refused, Operation<Answer>>({
    mutationFn: ({ key, ...request }) => call(request, key === undefined ? {} : { key }),
    onSuccess: readAgain,
    onError: ({ status }) => {
      if (status === CONFLICT) readAgain();
    },
  });
}
