// One stream for all that is shown: it says that something may have changed, and what is on the screen is
// read again, at most once a second.

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isLive } from './reads.ts';

const AT_MOST_MS = 1_000;

export type Liveness = 'live' | 'away';

export function useLive(): Liveness {
  const client = useQueryClient();
  const [liveness, setLiveness] = useState<Liveness>('away');
  useEffect(() => {
    const source = new EventSource('/v1/events');
    let timer: number | undefined;
    let readAt = 0;
    const read = (): void => {
      timer = undefined;
      readAt = performance.now();
      void client.invalidateQueries({ predicate: isLive });
    };
    const changed = (): void => {
      if (timer !== undefined) return;
      const inMs = Math.max(0, AT_MOST_MS - (performance.now() - readAt));
      timer = window.setTimeout(read, inMs);
    };
    source.addEventListener('changed', changed);
    source.addEventListener('reset', changed);
    source.addEventListener('open', () => setLiveness('live'));
    source.addEventListener('error', () => setLiveness('away'));
    return () => {
      window.clearTimeout(timer);
      source.close();
    };
  }, [client]);
  return liveness;
}
