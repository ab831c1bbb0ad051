import { decideFinish } from '../../../execution/decide/owner.ts';
import { storable } from '../../../features/repair/model.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Finish, Finished } from '../../contract/execution-store.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { Committer } from '../committer.ts';
import { numbers, sparse } from './arrays.ts';
import { afterEnd } from './end-execution.ts';
import { finishStatement } from './finish-statement.ts';
import { eventChars, isPlain, lastEventColumns, ownersOf, same } from './items.ts';
import { type ResultRow, resultsFrom } from './owner-guards.ts';
import type { Parts } from './parts.ts';
import { write } from './write.ts';

/** Recognises a child by the outcome for its parent. A child without one is settled alone. */
const isChild = ({ outcome }: Finish): boolean => outcome !== undefined;

export function finisher(parts: Parts): {
  finish(request: Finish): Promise<Finished>;
  close(): Promise<void>;
} {
  const flusher = {
    lanes: 1,
    keysOf: ({ id }: Finish) => id,
    fits: (request: Finish) =>
      isPlain(request) && request.successor === undefined && request.leavesAwaits !== true,
    charsOf: eventChars,
    flush: (requests: readonly Finish[]) => flush(parts, requests),
    settle: (request: Finish) => settle(parts, request),
  };
  const alone = new Committer<Finish, Finished>(flusher, parts.environment);
  const children = new Committer<Finish, Finished>(flusher, parts.environment);
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
  const children = requests.some(isChild);
  const letters = requests.some(({ deadLetter }) => deadLetter !== undefined);
  const [status] = same(requests.map((each) => STATUS_CODES[each.status]));
  const values = [
    sessions,
    sessionOf,
    ids,
    fences,
    firsts,
    ...lastEventColumns(requests),
    status === undefined ? numbers(requests.map((each) => STATUS_CODES[each.status])) : null,
    children ? sparse(requests.map(({ outcome }) => outcome)) : null,
    status ?? null,
    requests.length,
    sparse(requests.map(({ inboxSeen }) => inboxSeen)),
    ...(letters ? letterColumns(requests) : []),
  ];
  const isKnown = parts.ledger.begin(requests);
  const [row] = await parts.boundaries.around(() =>
    parts.database.rows<ResultRow & { readonly at: number }>(
      finishStatement({ children, letters }, isKnown),
      values,
    ),
  );
  if (row !== undefined && row.done > 0) {
    parts.wakeups.notify(
      requests.map(({ project }) => project),
      // Alone, it has neither a parent nor a slot that another execution waits for.
      { ended: requests.map(({ id }) => id), ...(children ? {} : { ready: [] }) },
    );
  }
  for (const request of requests) parts.ledger.forget(request);
  const at = row?.at as Instant;
  return resultsFrom<Finished>(row, requests.length, { kind: 'finished', at });
}

function letterColumns(requests: readonly Finish[]): readonly unknown[] {
  const letters = requests.map(({ deadLetter }) =>
    deadLetter === undefined ? undefined : storable(deadLetter),
  );
  return [
    sparse(letters.map((letter) => letter?.category)),
    sparse(letters.map((letter) => letter?.code)),
    sparse(letters.map((letter) => letter?.reason)),
    sparse(letters.map((letter) => letter?.step)),
    sparse(letters.map((letter) => letter?.attempts)),
  ];
}

async function settle(parts: Parts, request: Finish): Promise<Finished> {
  const { leavesAwaits = false } = request;
  const result = await write<Finish, Finished>(parts, request, {
    decide: decideFinish,
    resultOf: ({ execution, at }) => ({ kind: 'finished', at: execution.endedAt ?? at }),
    also: (queries, { before, after, now, isEarly }) =>
      afterEnd(queries, before, {
        ...{ ...request, after, now },
        leavesAwaits: leavesAwaits || isEarly,
      }),
  });
  if (result.kind === 'finished') parts.wakeups.notify([request.project]);
  return result;
}
