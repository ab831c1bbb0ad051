import type { ExecutionId } from '../../../execution/names.ts';
import type { ArchivedExecution } from '../../../features/retention/model.ts';
import type { ListArchived } from '../../../features/retention/port.ts';
import {
  ARCHIVED_LABELS,
  type ArchivedLabel,
  type ArchivedRow,
  archivedLabels,
  fromArchived,
  toArchived,
} from '../../../features/retention/rows.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { type Database, type Queries, type Statement, statement } from '../database.ts';
import { numbers, texts } from './arrays.ts';

const COLUMNS =
  'a.id, a.project, a.pipeline, a.status, a.submitted_at, a.ended_at, a.archived_at, a.key, a.tags, a.parent_id, a.redrive_of, a.place, a.digest';

// Whoever removes it has found its row, so nobody else has written this.
const KEEP = statement(`
  insert into hf.archived (id, project, pipeline, status, submitted_at, ended_at, archived_at,
                           key, tags, parent_id, redrive_of, place, digest)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
      on conflict (id) do nothing`);

const LABEL = statement(`
  insert into hf.archived_label (project, kind, value, ended_at, execution_id)
  select $1, u.kind, u.value, $2, $3
    from unnest($4::smallint[], $5::text[]) as u(kind, value)
      on conflict do nothing`);

const READ = statement(`
  select ${COLUMNS}
    from hf.archived a
   where a.id = $1`);

export async function keepArchived(queries: Queries, archived: ArchivedExecution): Promise<void> {
  const row = fromArchived(archived);
  const when = [row.submitted_at, row.ended_at, row.archived_at];
  const about = [row.key, row.tags, row.parent_id, row.redrive_of, row.place, row.digest];
  await queries.rows(KEEP, [row.id, row.project, row.pipeline, row.status, ...when, ...about]);
  const labels = archivedLabels(archived);
  if (labels.length === 0) return;
  const kinds = numbers(labels.map(({ kind }) => kind));
  const values = texts(labels.map(({ value }) => value));
  await queries.rows(LABEL, [row.project, row.ended_at, row.id, kinds, values]);
}

export async function archived(
  database: Database,
  id: ExecutionId,
): Promise<ArchivedExecution | undefined> {
  const [row] = await database.rows<ArchivedRow & object>(READ, [id]);
  return row === undefined ? undefined : toArchived(row);
}

// $1 project, $2 limit, $3 from, $4 and $5 the place below which it goes on, $6 kinds and $7 values of labels,
// $8 pipeline, $9 status. One index leads, in the order of the list; the rest is checked on the way. Bounds are
// never null: an index would not be entered by what may be.
const FITS = `
         ($8::text is null or a.pipeline = $8)
     and ($9::smallint is null or a.status = $9)
     and not exists (
           select from unnest($6::smallint[], $7::text[]) as u(kind, value)
            where not exists (select from hf.archived_label l where l.project = $1 and l.kind = u.kind and l.value = u.value and l.ended_at = a.ended_at and l.execution_id = a.id))`;

function listBy(lead: string, [endedAt, id]: readonly [string, string]): Statement {
  return statement(`
  select ${COLUMNS}
    from ${lead}
     and ${endedAt} >= $3::bigint
     and (${endedAt}, ${id}) < ($4::bigint, $5::uuid)
     and ${FITS}
   order by ${endedAt} desc, ${id} desc
   limit $2`);
}

const OWN = ['a.ended_at', 'a.id'] as const;
const ALL = listBy('hf.archived a where a.project = $1', OWN);
const BY_PIPELINE = listBy('hf.archived a where a.project = $1 and a.pipeline = $8', OWN);
const BY_STATUS = listBy('hf.archived a where a.project = $1 and a.status = $9', OWN);
const BY_LABEL = listBy(
  `hf.archived_label w cross join lateral (select * from hf.archived a where a.id = w.execution_id offset 0) a
   where w.project = $1 and w.kind = ($6::smallint[])[1] and w.value = ($7::text[])[1]`,
  ['w.ended_at', 'w.execution_id'],
);

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Below this, and before `to`: whichever comes first. */
function belowOf({ to, before }: ListArchived): readonly [number, string] {
  const isBelow = before !== undefined && (to === undefined || before.endedAt < to);
  if (isBelow) return [before.endedAt, before.id];
  return to === undefined ? [Number.MAX_SAFE_INTEGER, LAST_ID] : [to, FIRST_ID];
}

// As far as it matters: the rarest leads.
const COUNT = statement(`
  select (select count(*) from (select from hf.archived_label l where l.project = $1 and l.kind = u.kind and l.value = u.value limit 1000) c)::integer as found
    from unnest($2::smallint[], $3::text[]) with ordinality as u(kind, value, nth)
   order by u.nth`);

/** The rarest first: what many have is checked on the way. */
async function rarestFirst(
  database: Database,
  project: string,
  labels: readonly ArchivedLabel[],
): Promise<readonly ArchivedLabel[]> {
  if (labels.length < 2) return labels;
  const kinds = numbers(labels.map(({ kind }) => kind));
  const values = texts(labels.map(({ value }) => value));
  const counts = await database.rows<{ found: number }>(COUNT, [project, kinds, values]);
  return labels
    .map((label, nth) => ({ label, found: counts[nth]?.found ?? 0 }))
    .sort((a, b) => a.found - b.found)
    .map(({ label }) => label);
}

/** F-7. */
export async function listArchived(
  database: Database,
  query: ListArchived,
): Promise<readonly ArchivedExecution[]> {
  const { project, limit, from, tag, words = [], pipeline, status } = query;
  const labels = await rarestFirst(database, project, [
    ...words.map((value) => ({ kind: ARCHIVED_LABELS.word, value })),
    ...(tag === undefined ? [] : [{ kind: ARCHIVED_LABELS.tag, value: tag }]),
  ]);
  const rows = await database.rows<ArchivedRow & object>(leadOf(query, labels.length > 0), [
    ...[project, limit, from ?? 0, ...belowOf(query)],
    numbers(labels.map(({ kind }) => kind)),
    texts(labels.map(({ value }) => value)),
    ...[pipeline ?? null, status === undefined ? null : STATUS_CODES[status]],
  ]);
  return rows.map(toArchived);
}

function leadOf({ pipeline, status }: ListArchived, byLabel: boolean): Statement {
  if (byLabel) return BY_LABEL;
  if (pipeline !== undefined) return BY_PIPELINE;
  return status === undefined ? ALL : BY_STATUS;
}
