import {
  type DeadLetter,
  type DeadLetterGroup,
  type DeadLetterRecord,
  storable,
} from '../../../execution/dead-letter.ts';
import type { ExecutionRecord, TerminalStatus } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { GroupDeadLetters, ListDeadLetters } from '../../contract/repair-store.ts';
import { STATUS_CODES, toStatus } from '../../execution-rows.ts';
import { type Database, type Queries, type Statement, statement } from '../database.ts';

const WRITE = statement(`
  insert into hf.dead_letter (execution_id, project, pipeline, status, at, category, code, reason, step, attempts, release)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`);

/** Y-10: in the transaction that ends the execution. */
export async function writeDeadLetter(
  queries: Queries,
  ended: ExecutionRecord,
  letter: DeadLetter,
): Promise<void> {
  const { id, project, pipeline, status, endedAt } = ended;
  const { category, code, reason, step, attempts } = storable(letter);
  const told = [category, code, reason, step ?? null, attempts, ended.release ?? null];
  await queries.rows(WRITE, [id, project, pipeline, STATUS_CODES[status], endedAt, ...told]);
}

const COLUMNS =
  'd.execution_id as execution, d.project, d.pipeline, d.release, d.status, d.at, d.category, d.code, d.reason, d.step, d.attempts, d.redriven_by as "redrivenBy"';

const READ = statement(`
  select ${COLUMNS}
    from hf.dead_letter d
   where d.execution_id = $1`);

const LAST_ID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid";

/**
 * Newest first, by the index that has these columns and then the id; as in interactions.ts.
 * $1 project, $2 pipeline, $3 code, $4 step, $5 open or not, $6 before, $7 limit
 */
function listBy(columns: readonly string[], values: string, where = 'true'): Statement {
  const of = columns.join(', ');
  const order = [...columns, 'd.execution_id'].map((column) => `${column} desc`).join(', ');
  return statement(`
  select ${COLUMNS}
    from hf.dead_letter d
   where ${where}
     and (${of}) >= (${values})
     and (${of}, d.execution_id) < (${values}, coalesce($6, ${LAST_ID}))
     and ($2::text is null or coalesce(d.pipeline = $2, false))
     and ($3::text is null or coalesce(d.code = $3, false))
     and ($4::text is null or coalesce(d.step = $4, false))
     and ($5::boolean is null or (d.redriven_by is null) = $5)
   order by ${order}
   limit $7`);
}

const BY_PROJECT = listBy(['d.project'], '$1');
const BY_PIPELINE = listBy(['d.pipeline', 'd.project'], '$2, $1');
const BY_CODE = listBy(['d.code', 'd.project'], '$3, $1');
const OPEN = listBy(['d.project collate "POSIX"'], '$1', 'd.redriven_by is null');

function indexFor({ pipeline, code, open }: ListDeadLetters): Statement {
  if (code !== undefined) return BY_CODE;
  if (pipeline !== undefined) return BY_PIPELINE;
  return open === true ? OPEN : BY_PROJECT;
}

type DeadLetterRow = Omit<DeadLetterRecord, 'status' | 'step' | 'redrivenBy' | 'release'> & {
  readonly release: string | null;
  readonly status: number;
  readonly step: string | null;
  readonly redrivenBy: ExecutionId | null;
};

export async function deadLetter(
  database: Database,
  id: ExecutionId,
): Promise<DeadLetterRecord | undefined> {
  const [row] = await database.rows<DeadLetterRow & object>(READ, [id]);
  return row === undefined ? undefined : toDeadLetter(row);
}

export async function deadLetters(
  database: Database,
  query: ListDeadLetters,
): Promise<readonly DeadLetterRecord[]> {
  const { project, pipeline, code, step, open, before, limit } = query;
  const filters = [pipeline, code, step, open, before].map((each) => each ?? null);
  const values = [project, ...filters, limit];
  return (await database.rows<DeadLetterRow & object>(indexFor(query), values)).map(toDeadLetter);
}

function toDeadLetter(stored: DeadLetterRow): DeadLetterRecord {
  const { status, step, redrivenBy, release, ...row } = stored;
  return {
    ...row,
    status: toStatus(status) as TerminalStatus,
    ...(release === null ? {} : { release }),
    ...(step === null ? {} : { step }),
    ...(redrivenBy === null ? {} : { redrivenBy }),
  };
}

const GROUPS = statement(`
  select d.pipeline, d.code, d.step, count(*)::integer as count, max(d.at) as at
    from hf.dead_letter d
   where d.project = $1
     and (not $2::boolean or d.redriven_by is null)
   group by d.pipeline, d.code, d.step
   order by count(*) desc, max(d.at) desc, d.pipeline, d.code, d.step`);

export async function deadLetterGroups(
  database: Database,
  { project, open = false }: GroupDeadLetters,
): Promise<readonly DeadLetterGroup[]> {
  type Row = Omit<DeadLetterGroup, 'step'> & { readonly step: string | null };
  const rows = await database.rows<Row>(GROUPS, [project, open]);
  return rows.map(({ step, ...group }) => ({ ...group, ...(step === null ? {} : { step }) }));
}
