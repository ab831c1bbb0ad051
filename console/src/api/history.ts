// The whole history of one execution, page by page, and then the new events.

import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call } from './call.ts';
import { LIVE } from './reads.ts';

const PAGE = 1_000;

export interface WholeHistory {
  readonly events: readonly HistoryMessage[];
  /** All events were loaded at the last read. */
  readonly isWhole: boolean;
}

/** For one execution per component instance: use a `key` to show another one. */
export function useHistory(id: string, everyMs: number | false): WholeHistory {
  const [events, setEvents] = useState<readonly HistoryMessage[]>([]);
  const kept = useRef<HistoryMessage[]>([]);
  const read = useQuery({
    queryKey: ['history', id],
    meta: LIVE,
    refetchInterval: everyMs,
    // The events live in the component, so nothing is cached after it unmounts.
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const list = kept.current;
      let shown = list.length;
      for (;;) {
        const after = list.at(-1)?.seq ?? 0;
        const page = requestTo('GET /v1/executions/:id/history', { id, after, limit: PAGE });
        const { items, more } = await call(page, { signal });
        // Two reads can overlap: skip events that are there already.
        const last = list.at(-1)?.seq ?? 0;
        list.push(...items.filter(({ seq }) => seq > last));
        const isLast = items.length < PAGE && more !== true;
        // Do not render after each page: a long history has fifty.
        if (list.length > shown && (isLast || list.length >= 2 * shown)) {
          shown = list.length;
          setEvents([...list]);
        }
        if (isLast) return list.length;
      }
    },
  });
  return { events, isWhole: read.isSuccess };
}
