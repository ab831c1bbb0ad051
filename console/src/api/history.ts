// Reads the whole history of an execution, page by page, and then only new events.

import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call } from './call.ts';
import { LIVE } from './reads.ts';

const PAGE = 1_000;

export interface FullHistory {
  readonly events: readonly HistoryMessage[];
  /** The last read reached the end of the history. */
  readonly isComplete: boolean;
  /** Nothing was read yet. */
  readonly isLoading: boolean;
}

/**
 * The component keeps the events that were read. To show another execution, mount another component:
 * give it a React key. Two components of one page need a `reader` each, or they would share the reads
 * and not the events.
 */
export function useHistory(id: string, everyMs: number | false, reader = 'page'): FullHistory {
  const [events, setEvents] = useState<readonly HistoryMessage[]>([]);
  const read = useRef<HistoryMessage[]>([]);
  const query = useQuery({
    queryKey: ['history', reader, id],
    meta: LIVE,
    refetchInterval: everyMs,
    // The component keeps the events, so the query cache need not.
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const list = read.current;
      let shown = list.length;
      for (;;) {
        const after = list.at(-1)?.seq ?? 0;
        const page = requestTo('GET /v1/executions/:id/history', { id, after, limit: PAGE });
        const { items, more } = await call(page, { signal });
        // Two reads can overlap, so skip events that the other one has added.
        const last = list.at(-1)?.seq ?? 0;
        list.push(...items.filter(({ seq }) => seq > last));
        const isLast = items.length < PAGE && more !== true;
        // A render costs as much as the history is long, and long ones have 50 pages. So render
        // only after the list has doubled, and at the end.
        if (list.length > shown && (isLast || list.length >= 2 * shown)) {
          shown = list.length;
          setEvents([...list]);
        }
        if (isLast) return list.length;
      }
    },
  });
  const isLoading = query.isPending && events.length === 0;
  return { events, isComplete: query.isSuccess, isLoading };
}
