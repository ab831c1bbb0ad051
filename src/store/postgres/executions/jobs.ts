import type { ExecutionId } from '../../../execution/names.ts';
import type { ExecutionMoved } from '../../../features/releases/port.ts';
import type { RedriveAnswer } from '../../../features/repair/port.ts';
import { fromItemAnswer, toItemAnswer } from '../../../features/repair/rows.ts';
import type { CommandAnswer } from '../../contract/execution-store.ts';
import { type Queries, statement } from '../database.ts';
import { sparse, texts, uuids } from './arrays.ts';

// Many at once; one is in store/sql/jobs.ts.

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
      toItemAnswer<Answer>(answer),
    ]),
  );
}

/** In the transaction that does them. */
export async function noteAnswers(
  queries: Queries,
  items: readonly { readonly of: OfJob; readonly answer: AnyAnswer }[],
): Promise<void> {
  if (items.length === 0) return;
  const answers = items.map(({ answer }) => fromItemAnswer(answer));
  await queries.rows(NOTE, [
    uuids(items.map(({ of }) => of.job)),
    uuids(items.map(({ of }) => of.target)),
    texts(answers.map(({ outcome }) => outcome)),
    sparse(answers.map(({ made }) => made)),
    texts(answers.map(({ answer }) => answer)),
  ]);
}
