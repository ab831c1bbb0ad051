import { decidePark } from '../../../execution/decide/owner.ts';
import type { Park, Parked } from '../../contract/execution-store.ts';
import { PREVIOUS_CODES } from '../../execution-rows.ts';
import { Committer } from '../committer.ts';
import { isPlain } from './items.ts';
import { letGo } from './let-go.ts';
import type { Parts } from './parts.ts';
import { write } from './write.ts';

export function parker(parts: Parts): {
  park(request: Park): Promise<Parked>;
  close(): Promise<void>;
} {
  const committer = new Committer<Park, Parked>(
    {
      lanes: 1,
      keysOf: ({ id }) => id,
      fits: isPlain,
      flush: (requests) => letGo<Parked>(parts, requests, { kind: 'parked' }),
      async settle(request) {
        const answer = await write<Park, Parked>(parts, request, {
          decide: decidePark,
          answer: () => ({ kind: 'parked' }),
          previous: PREVIOUS_CODES.parked,
        });
        // What it waits for may have been answered before (W-2), which woke it.
        if (request.awaits !== undefined && answer.kind === 'parked') parts.bell.ring();
        return answer;
      },
    },
    parts.surroundings,
  );
  return { park: (request) => committer.push(request), close: () => committer.close() };
}
