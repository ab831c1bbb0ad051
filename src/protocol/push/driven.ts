// What an endpoint is given with a call: the claim with all that it needs to go on.

import type { ExecutionStore } from '../../store/contract/execution-store.ts';
import type { Driven } from '../messages/push.ts';
import { giveOut } from '../rest/values-apart.ts';

const PAGE = 1_000;

type Call = Pick<Driven, 'claimed' | 'session' | 'owner' | 'deadlineInMs'>;

export async function drivenBy(executions: ExecutionStore, call: Call): Promise<Driven> {
  const { id, input, progress, project } = call.claimed.execution;
  const history = await pages(
    (after) => executions.history({ id, after, limit: PAGE }),
    ({ seq }) => seq,
  );
  const inbox = await pages(
    (after) => executions.inbox({ id, after, limit: PAGE }),
    ({ n }) => n,
  );
  const said = [...history, ...inbox].map(({ body }) => body);
  await giveOut(executions, project, [input, progress, ...said]);
  return { ...call, history, inbox };
}

async function pages<Item>(
  read: (after: number) => Promise<readonly Item[]>,
  at: (item: Item) => number,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await read(last === undefined ? 0 : at(last));
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
