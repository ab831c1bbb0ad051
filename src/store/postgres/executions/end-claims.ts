// An owner ends its claim but the execution stays open: park and giveBack, many in one statement.

import { decideGiveBack, decidePark } from '../../../execution/decide/owner.ts';
import type { GiveBack, GivenBack, Park, Parked } from '../../contract/execution-store.ts';
import { HOLD_BITS, PREVIOUS_CODES, SAGA_CODES, STATUS_CODES } from '../../execution-rows.ts';
import { Committer } from '../committer.ts';
import { numbers, sparse } from './arrays.ts';
import { eventChars, isPlain, lastEventColumns, ownersOf } from './items.ts';
import {
  APPEND_DONE,
  aliveOf,
  bothWays,
  follows,
  NOW,
  ownedBy,
  type ResultRow,
  resultsFrom,
  resultsOf,
} from './owner-guards.ts';
import type { Parts } from './parts.ts';
import { write } from './write.ts';

// An owner with unread messages cannot park. For giveBack this applies only if it passes `seen`
// . An execution that compensates keeps doing so (Y-2).
const END_CLAIMS = bothWays(
  (isKnown) => `
  with ${NOW},
  ${aliveOf('$1::uuid[]')},
  done as (
    update hf.execution e
       set status     = u.status,
           seq        = u.first + coalesce(u.count, 1) - 1,
           session_id = null,
           ready_at   = (select now.at from now) + u.after_ms,
           wake_after = u.wake_after,
           hold       = e.hold | u.hold,
           saga       = case when e.saga = 2 then e.saga else coalesce(u.saga, 0) end,
           previous   = u.previous
      from unnest($2::integer[], $3::uuid[], $4::bigint[], $5::integer[], $6::integer[], $7::text[], $8::text[], $9::text[], $10::text[],
                  $13::smallint[], $14::bigint[], $15::integer[], $16::smallint[], $17::smallint[], $18::integer[], $19::smallint[])
           with ordinality as u(session, id, fence, first, count, kind, name, body, earlier, status, after_ms, wake_after, hold, previous, seen, saga, nth)
     where ${ownedBy('$1::uuid[]')}
       ${follows(isKnown)}
       and (u.seen is null or e.news <= u.seen) -- guard: news
    returning u.nth, e.id, e.fence, e.seq, u.first, coalesce(u.kind, $11) as kind, coalesce(u.name, $12) as name, u.body, u.earlier
  ),
  ${APPEND_DONE}
  select ${resultsOf('d', '$20::integer')}
    from done d`,
);

type ClaimEnd = Park | GiveBack;

const isPark = (request: ClaimEnd): request is Park => 'wakeAfter' in request;

function holdOf(request: ClaimEnd): number {
  if (isPark(request)) return 0;
  const blocked = request.blocked === true ? HOLD_BITS.blocked : 0;
  return request.paused === true ? blocked | HOLD_BITS.paused : blocked;
}

/** Returns `answer` for each execution whose claim ended. */
async function endClaims<Result>(
  parts: Parts,
  requests: readonly ClaimEnd[],
  result: Result,
): Promise<readonly (Result | undefined)[]> {
  const { sessions, sessionOf, ids, fences, firsts } = ownersOf(requests);
  const values = [
    sessions,
    sessionOf,
    ids,
    fences,
    firsts,
    ...lastEventColumns(requests),
    numbers(requests.map((each) => STATUS_CODES[isPark(each) ? 'waiting' : 'queued'])),
    sparse(requests.map((each) => (isPark(each) ? each.wakeInMs : (each.delayMs ?? 0)))),
    numbers(requests.map((each) => (isPark(each) ? each.wakeAfter : 0))),
    numbers(requests.map(holdOf)),
    numbers(requests.map((each) => PREVIOUS_CODES[isPark(each) ? 'parked' : 'given-back'])),
    sparse(requests.map(({ inboxSeen }) => inboxSeen)),
    sparse(requests.map((each) => (each.compensable === true ? SAGA_CODES.compensable : null))),
    requests.length,
  ];
  const isKnown = parts.ledger.begin(requests);
  const [row] = await parts.boundaries.around(() =>
    parts.database.rows<ResultRow & object>(END_CLAIMS(isKnown), values),
  );
  for (const request of requests) parts.ledger.forget(request);
  return resultsFrom(row, requests.length, result);
}

export function parker(parts: Parts): {
  park(request: Park): Promise<Parked>;
  close(): Promise<void>;
} {
  const committer = new Committer<Park, Parked>(
    {
      lanes: 1,
      keysOf: ({ id }) => id,
      fits: isPlain,
      charsOf: eventChars,
      flush: (requests) => endClaims<Parked>(parts, requests, { kind: 'parked' }),
      async settle(request) {
        const result = await write<Park, Parked>(parts, request, {
          decide: decidePark,
          resultOf: () => ({ kind: 'parked' }),
          previous: PREVIOUS_CODES.parked,
        });
        // An early answer may have woken the execution at once (W-2).
        if (request.awaits !== undefined && result.kind === 'parked') {
          parts.wakeups.notify([request.project]);
        }
        return result;
      },
    },
    parts.environment,
  );
  return { park: (request) => committer.push(request), close: () => committer.close() };
}

export function giverBack(parts: Parts): {
  giveBack(request: GiveBack): Promise<GivenBack>;
  close(): Promise<void>;
} {
  const committer = new Committer<GiveBack, GivenBack>(
    {
      lanes: 1,
      keysOf: ({ id }) => id,
      // Turning to compensation also clears the deadline. It happens once, so it is not batched.
      fits: (request) => isPlain(request) && request.compensating !== true,
      charsOf: eventChars,
      async flush(requests) {
        const answers = await endClaims<GivenBack>(parts, requests, { kind: 'given-back' });
        parts.wakeups.notify(requests.map(({ project }) => project));
        return answers;
      },
      async settle(request) {
        const result = await write<GiveBack, GivenBack>(parts, request, {
          decide: decideGiveBack,
          resultOf: () => ({ kind: 'given-back' }),
          previous: PREVIOUS_CODES['given-back'],
        });
        if (result.kind === 'given-back') parts.wakeups.notify([request.project]);
        return result;
      },
    },
    parts.environment,
  );
  return { giveBack: (request) => committer.push(request), close: () => committer.close() };
}
