import { decideRecord } from '../../../execution/decide/owner.ts';
import type { Instant } from '../../../support/clock.ts';
import type { OwnerWrite, Recorded } from '../../contract/execution-store.ts';
import { heartbeatsText } from '../../execution-rows.ts';
import { Committer } from '../committer.ts';
import { statement } from '../database.ts';
import { longTexts } from './arrays.ts';
import { eventChars, isHeartbeat, isPlain, lastEventColumns, ownersOf } from './items.ts';
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

// Locks the row without writing it. The fence needs no more, and only history grows.
const RECORD = bothWays(
  (isKnown) => `
  with ${NOW},
  ${aliveOf('$1::uuid[]')},
  done as materialized (
    select u.nth, u.id, u.fence, u.first, u.first + coalesce(u.count, 1) - 1 as seq, coalesce(u.kind, $11) as kind, coalesce(u.name, $12) as name, u.body, u.earlier, e.news
      from unnest($2::integer[], $3::uuid[], $4::bigint[], $5::integer[], $6::integer[], $7::text[], $8::text[], $9::text[], $10::text[])
           with ordinality as u(session, id, fence, first, count, kind, name, body, earlier, nth)
     cross join lateral (
           select e.news
             from hf.execution e
            where ${ownedBy('$1::uuid[]')}
              for no key update of e
           ) e
     where true
       ${follows(isKnown)}
  ),
  ${APPEND_DONE}
  select (select now.at from now) as at, ${resultsOf('d', '$13::integer')},
         string_agg(case when d.news > 0 then d.nth || ':' || d.news end, ',') as news
    from done d`,
);

// A write that contains only heartbeats: it has no event, so no seq.
const KEEP = statement(`
  with ${NOW},
  ${aliveOf('$1::uuid[]')},
  done as (
    update hf.execution e
       set heartbeats = u.heartbeats
      from unnest($2::integer[], $3::uuid[], $4::bigint[], $5::text[])
           with ordinality as u(session, id, fence, heartbeats, nth)
     where ${ownedBy('$1::uuid[]')}
    returning u.nth, e.news
  )
  select (select now.at from now) as at, ${resultsOf('d', '$6::integer')},
         string_agg(case when d.news > 0 then d.nth || ':' || d.news end, ',') as news
    from done d`);

interface RecordedRow extends ResultRow {
  readonly at: number;
  /** Positions and message counts of the executions that have messages. */
  readonly news: string | null;
}

export function recorder(parts: Parts): {
  record(request: OwnerWrite): Promise<Recorded>;
  close(): Promise<void>;
} {
  const shared = {
    keysOf: ({ id }: OwnerWrite) => id,
    settle: (request: OwnerWrite) => settle(parts, request),
  };
  const records = new Committer<OwnerWrite, Recorded>(
    {
      ...shared,
      lanes: 2,
      fits: isPlain,
      charsOf: eventChars,
      flush: (requests) => flush(parts, requests),
    },
    parts.environment,
  );
  const heartbeats = new Committer<OwnerWrite, Recorded>(
    {
      ...shared,
      lanes: 1,
      fits: isHeartbeat,
      charsOf: (request) => heartbeatsIn(request)?.length ?? 0,
      flush: (requests) => flushHeartbeats(parts, requests),
    },
    parts.environment,
  );
  return {
    record: (request) => (isHeartbeat(request) ? heartbeats : records).push(request),
    async close() {
      await Promise.all([records.close(), heartbeats.close()]);
    },
  };
}

function heartbeatsIn({ heartbeats }: OwnerWrite): string | null {
  return heartbeats === undefined ? null : heartbeatsText(heartbeats);
}

async function flushHeartbeats(
  parts: Parts,
  requests: readonly OwnerWrite[],
): Promise<readonly (Recorded | undefined)[]> {
  const { sessions, sessionOf, ids, fences } = ownersOf(requests);
  const texts = longTexts(requests.map(heartbeatsIn));
  const values = [sessions, sessionOf, ids, fences, texts, requests.length];
  const [row] = await parts.boundaries.around(() =>
    parts.database.rows<RecordedRow & object>(KEEP, values),
  );
  return recordedFrom(row, requests.length);
}

async function flush(
  parts: Parts,
  requests: readonly OwnerWrite[],
): Promise<readonly (Recorded | undefined)[]> {
  const { sessions, sessionOf, ids, fences, firsts } = ownersOf(requests);
  const events = lastEventColumns(requests);
  const values = [sessions, sessionOf, ids, fences, firsts, ...events, requests.length];
  const isKnown = parts.ledger.begin(requests);
  const [row] = await parts.boundaries.around(() =>
    parts.database.rows<RecordedRow & object>(RECORD(isKnown), values),
  );
  const answers = recordedFrom(row, requests.length);
  for (const [nth, request] of requests.entries()) {
    if (answers[nth] !== undefined) parts.ledger.noteRecord(request);
  }
  return answers;
}

function recordedFrom(row: RecordedRow | undefined, count: number): (Recorded | undefined)[] {
  const at = row?.at as Instant;
  const answers = resultsFrom<Recorded>(row, count, { kind: 'recorded', inboxCount: 0, at });
  for (const each of row?.news?.split(',') ?? []) {
    const [nth, inboxCount] = each.split(':');
    answers[Number(nth) - 1] = { kind: 'recorded', inboxCount: Number(inboxCount), at };
  }
  return answers;
}

async function settle(parts: Parts, request: OwnerWrite): Promise<Recorded> {
  const recorded = await write<OwnerWrite, Recorded>(parts, request, {
    decide: decideRecord,
    resultOf: ({ execution, at }) => ({ kind: 'recorded', inboxCount: execution.inboxCount, at }),
  });
  // A child is ready now, and an await may have a time that is sooner than any other.
  const isWakeup = request.children !== undefined || request.awaits !== undefined;
  if (isWakeup && recorded.kind === 'recorded') parts.wakeups.notify([request.project]);
  return recorded;
}
