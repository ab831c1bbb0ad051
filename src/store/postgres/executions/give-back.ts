import { decideGiveBack } from '../../../execution/decide/owner.ts';
import type { GiveBack, GivenBack } from '../../contract/execution-store.ts';
import { PREVIOUS_CODES } from '../../execution-rows.ts';
import { Committer } from '../committer.ts';
import { isPlain } from './items.ts';
import { letGo } from './let-go.ts';
import type { Parts } from './parts.ts';
import { write } from './write.ts';

export function giverBack(parts: Parts): {
  giveBack(request: GiveBack): Promise<GivenBack>;
  close(): Promise<void>;
} {
  const committer = new Committer<GiveBack, GivenBack>(
    {
      lanes: 1,
      keysOf: ({ id }) => id,
      // To turn back is to lose the deadline, too, and comes once.
      fits: (request) => isPlain(request) && request.compensating !== true,
      async flush(requests) {
        const answers = await letGo<GivenBack>(parts, requests, { kind: 'given-back' });
        parts.bell.ring();
        return answers;
      },
      async settle(request) {
        const answer = await write<GiveBack, GivenBack>(parts, request, {
          decide: decideGiveBack,
          answer: () => ({ kind: 'given-back' }),
          previous: PREVIOUS_CODES['given-back'],
        });
        if (answer.kind === 'given-back') parts.bell.ring();
        return answer;
      },
    },
    parts.surroundings,
  );
  return { giveBack: (request) => committer.push(request), close: () => committer.close() };
}
