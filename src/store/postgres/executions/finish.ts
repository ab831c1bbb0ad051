import { decideFinish } from '../../../execution/decide/owner.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Finish, Finished } from '../../contract/execution-store.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { Committer } from '../committer.ts';
import { numbers, sparse } from './arrays.ts';
import { afterEnd } from './end-execution.ts';
import { FINISH, FINISH_CHILDREN } from './finish-statement.ts';
import { isPlain, lastEventColumns, ownersOf, same } from './items.ts';
import { type AnswerRow, answersFrom } from './owner-guards.ts';
import type { Parts } from './parts.ts';
import { write } from './write.ts';

/** Children are told apart by what they bring for their parents; who is not is settled alone. */
const isChild = ({ outcome }: Finish): boolean => outcome !== undefined;

export function finisher(parts: Parts): {
  finish(request: Finish): Promise<Finished>;
  close(): Promise<void>;
} {
  const flusher = {
    lanes: 1,
    keysOf: ({ id }: Finish) => id,
    fits: (request: Finish) => isPlain(request) && request.successor === undefined,
    flush: (requests: readonly Finish[]) => flush(parts, requests),
    settle: (request: Finish) => settle(parts, request),
  };
  const alone = new Committer<Finish, Finished>(flusher, parts.surroundings);
  const children = new Committer<Finish, Finished>(flusher, parts.surroundings);
  return {
    finish: (request) => (isChild(request) ? children : alone).push(request),
    close: async () => {
      await Promise.all([alone.close(), children.close()]);
    },
  };
}

async function flush(
  parts: Parts,
  requests: readonly Finish[],
): Promise<readonly (Finished | undefined)[]> {
  const { sessions, sessionOf, ids, fences, firsts } = ownersOf(requests);
  const isAlone = !requests.some(isChild);
  const [status] = same(requests.map((each) => STATUS_CODES[each.status]));
  const values = [
    sessions,
    sessionOf,
    ids,
    fences,
    firsts,
    ...lastEventColumns(requests),
    status === undefined ? numbers(requests.map((each) => STATUS_CODES[each.status])) : null,
    isAlone ? null : sparse(requests.map(({ outcome }) => outcome)),
    status ?? null,
    requests.length,
  ];
  const isKnown = parts.ledger.begin(requests);
  const [row] = await parts.boundaries.around(() =>
    parts.database.rows<AnswerRow & { readonly at: number }>(
      (isAlone ? FINISH : FINISH_CHILDREN)(isKnown),
      values,
    ),
  );
  if (row !== undefined && row.done > 0) parts.bell.ring();
  for (const request of requests) parts.ledger.forget(request);
  const at = row?.at as Instant;
  return answersFrom<Finished>(row, requests.length, { kind: 'finished', at });
}

async function settle(parts: Parts, request: Finish): Promise<Finished> {
  const answer = await write<Finish, Finished>(parts, request, {
    decide: decideFinish,
    answer: ({ execution, at }) => ({ kind: 'finished', at: execution.endedAt ?? at }),
    also: (queries, { before, now }) => afterEnd(queries, before, { ...request, now }),
  });
  if (answer.kind === 'finished') parts.bell.ring();
  return answer;
}
