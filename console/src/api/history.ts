// The history of one execution: all of it, page by page, and then what is added.

import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call } from './call.ts';
import { LIVE } from './reads.ts';

const PAGE = 1_000;

export interface FullHistory {
  readonly events: readonly HistoryMessage[];
  /** Nothing more was there when it was last asked for. */
  readonly isComplete: boolean;
}

/** Of one execution for the life of the component: whoever shows another one is another component. */
export function useHistory(id: string, everyMs: number | false): FullHistory {
  const [events, setEvents] = useState<readonly HistoryMessage[]>([]);
  const kept = useRef<HistoryMessage[]>([]);
  const read = useQuery({
    queryKey: ['history', id],
    meta: LIVE,
    refetchInterval: everyMs,
    // What was read before is with the component, and goes with it.
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const list = kept.current;
      let shown = list.length;
      for (;;) {
        const after = list.at(-1)?.seq ?? 0;
        const page = requestTo('GET /v1/executions/:id/history', { id, after, limit: PAGE });
        const { items, more } = await call(page, { signal });
        // Two reads may be under way: what is there already is not added again.
        const last = list.at(-1)?.seq ?? 0;
        list.push(...items.filter(({ seq }) => seq > last));
        const isLast = items.length < PAGE && more !== true;
        // What is drawn from all of it is not drawn for each page: long ones have fifty.
        if (list.length > shown && (isLast || list.length >= 2 * shown)) {
          shown = list.length;
          setEvents([...list]);
        }
        if (isLast) return list.length;
      }
    },
  });
  return { events, isComplete: read.isSuccess };
}
