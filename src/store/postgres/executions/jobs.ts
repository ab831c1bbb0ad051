import type { ExecutionId } from '../../../execution/names.ts';
import type { ExecutionMoved } from '../../../features/releases/port.ts';
import type {
  JobItem,
  ListJobItems,
  NoteJobItem,
  RedriveAnswer,
} from '../../../features/repair/port.ts';
import { toInstant } from '../../../support/clock.ts';
import type { CommandAnswer } from '../../contract/execution-store.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { sparse, texts, uuids } from './arrays.ts';
import type { Parts } from './parts.ts';

type AnyAnswer = CommandAnswer | RedriveAnswer | ExecutionMoved;

/** Which item of which job. */
export interface OfJob {
  readonly job: ExecutionId;
  readonly target: ExecutionId;
}

const STORED = statement(`
  select j.job_id, j.target_id, j.answer
    from unnest($1::uuid[], $2::uuid[]) as u(job_id, target_id)
   cross join lateral (
         select j.*
           from hf.job_item j
          where j.job_id = u.job_id
            and j.target_id = u.target_id
         offset 0
         ) j`);

// Whoever does an item twice at once hits the primary key, and finds the other's answer when it asks again.
const NOTE = statement(`
  insert into hf.job_item (job_id, target_id, at, outcome, made, answer)
  select u.job_id, u.target_id, hf_now(), u.outcome, u.made, u.answer
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[]) as u(job_id, target_id, outcome, made, answer)`);

const LIST = statement(`
  select j.target_id, j.outcome, j.made, j.at
    from hf.job_item j
   where j.job_id = $1
     and j.target_id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
   order by j.target_id
   limit $3`);

export function itemName({ job, target }: OfJob): string {
  return `${job} ${target}`;
}

/** Y-23: what these items were answered, by their names; those that were not done are not in it. */
export async function storedAnswers<Answer extends AnyAnswer>(
  queries: Queries,
  items: readonly OfJob[],
): Promise<ReadonlyMap<string, Answer>> {
  if (items.length === 0) return new Map();
  type Row = { job_id: ExecutionId; target_id: ExecutionId; answer: string };
  const rows = await queries.rows<Row>(STORED, [
    uuids(items.map(({ job }) => job)),
    uuids(items.map(({ target }) => target)),
  ]);
  return new Map(
    rows.map(({ job_id, target_id, answer }) => [
      itemName({ job: job_id, target: target_id }),
      again(JSON.parse(answer) as Answer),
    ]),
  );
}

function again<Answer extends AnyAnswer>(answer: Answer): Answer {
  return answer.kind === 'submitted' ? { ...answer, existing: true } : answer;
}

/** In the transaction that does them. */
export async function noteAnswers(
  queries: Queries,
  items: readonly { readonly of: OfJob; readonly answer: AnyAnswer }[],
): Promise<void> {
  if (items.length === 0) return;
  const answers = items.map(({ answer }) => answer);
  await queries.rows(NOTE, [
    uuids(items.map(({ of }) => of.job)),
    uuids(items.map(({ of }) => of.target)),
    texts(answers.map((each) => (each.kind === 'refused' ? each.why : each.kind))),
    sparse(answers.map((each) => (each.kind === 'submitted' ? each.id : null))),
    texts(answers.map((each) => JSON.stringify(each))),
  ]);
}

// What needs no other write; the first outcome stays.
const NOTE_ONE = statement(`
  insert into hf.job_item (job_id, target_id, at, outcome, answer)
  values ($1, $2, hf_now(), $3, $4)
      on conflict (job_id, target_id) do nothing`);

export async function noteJobItem(parts: Parts, request: NoteJobItem): Promise<void> {
  const { job, target, outcome } = request;
  const answer = JSON.stringify({ kind: 'refused', why: outcome });
  const values = [job, target, outcome, answer];
  await parts.boundaries.around(() => parts.database.rows(NOTE_ONE, values));
}

export async function jobItems(
  database: Database,
  { job, after, limit }: ListJobItems,
): Promise<readonly JobItem[]> {
  type Row = { target_id: ExecutionId; outcome: string; made: ExecutionId | null; at: number };
  const rows = await database.rows<Row>(LIST, [job, after ?? null, limit]);
  return rows.map(({ target_id, outcome, made, at }) => ({
    target: target_id,
    outcome,
    ...(made === null ? {} : { made }),
    at: toInstant(at),
  }));
}
