import type { Redrive, RedriveResult } from '../../../features/repair/port.ts';
import { assert } from '../../../support/assert.ts';
import { sagaOf } from '../../execution-rows.ts';
import { type Redriven, type RedriveResults, redriveAll } from '../../sql/redrive.ts';
import { native } from '../../sql/script.ts';
import { Committer } from '../committer.ts';
import { type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { numbers, uuids } from './arrays.ts';
import { insertExecutions } from './insert-executions.ts';
import { eventChars, eventColumns } from './items.ts';
import type { Parts } from './parts.ts';
import { lockSlots, saveLimits } from './slots.ts';

/** Bulk jobs send many re-drives at once. They are batched like submits. */
export function redriver(parts: Parts): {
  redrive(request: Redrive): Promise<RedriveResult>;
  close(): Promise<void>;
} {
  const settle = async (request: Redrive): Promise<RedriveResult> => {
    const [result] = await flush(parts, [request]);
    return result ?? settle(request);
  };
  const committer = new Committer<Redrive, RedriveResult>(
    {
      lanes: 2,
      keysOf: ({ of, submit }) => [of, submit.id],
      fits: () => true,
      charsOf: (request) => eventChars(request) + request.submit.input.length,
      flush: (requests) => flush(parts, requests),
      settle,
    },
    parts.environment,
  );
  return {
    // Checked here, before batching, because one transaction decides about the whole batch.
    async redrive(request) {
      assert(request.submit.key === undefined, 'Y-20: the key stays with what is driven again');
      return committer.push(request);
    },
    close: () => committer.close(),
  };
}

async function flush(parts: Parts, requests: readonly Redrive[]): Promise<RedriveResults> {
  const results = await parts.database.attempt(async (queries) => {
    const result = await play(queries, redriveAll(requests, insert));
    return { keep: true, result };
  }, parts.boundaries);
  parts.wakeups.notify();
  return results;
}

const insert = (redriven: readonly Redriven[]) =>
  native((queries: Queries) => insertAll(queries, redriven));

async function insertAll(
  queries: Queries,
  redriven: readonly Redriven[],
): Promise<readonly boolean[]> {
  const wanted = redriven.map(({ submit, execution }) => {
    return { submit, seq: execution.seq, saga: sagaOf(execution) };
  });
  const book = await lockSlots(
    queries,
    wanted.map(({ submit }) => submit),
  );
  const inserted = await insertExecutions(queries, wanted, false);
  const done = redriven.filter((_, nth) => inserted[nth] === true);
  await saveLimits(
    queries,
    book,
    done.map(({ submit }) => submit),
  );
  await appendReused(queries, done);
  return redriven.map((_, nth) => inserted[nth] === true);
}

// Copied events get the time of the submit.
const APPEND = statement(`
  insert into hf.history (execution_id, seq, at, kind, name, body)
  select u.id, u.seq, (select h.at from hf.history h where h.execution_id = u.id and h.seq = 1), u.kind, u.name, u.body
    from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[]) as u(id, seq, kind, name, body)`);

/** Bounds the size of one statement, because one execution may have a long history. */
const EVENTS_MAX = 5_000;

/** The reused events follow `submitted` (Y-20). */
async function appendReused(queries: Queries, done: readonly Redriven[]): Promise<void> {
  const all = done.flatMap(({ submit, events }) =>
    events.map((event, nth) => ({ id: submit.id, seq: nth + 2, event })),
  );
  for (let from = 0; from < all.length; from += EVENTS_MAX) {
    const some = all.slice(from, from + EVENTS_MAX);
    await queries.rows(APPEND, [
      uuids(some.map(({ id }) => id)),
      numbers(some.map(({ seq }) => seq)),
      ...eventColumns(some.map(({ event }) => event)),
    ]);
  }
}
