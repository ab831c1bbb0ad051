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
import type { Parameters } from '../connection.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

// Whoever removes it has found its row, so nobody else has written this.
const KEEP = `
  insert into archived (id, project, pipeline, status, submitted_at, ended_at, archived_at,
                        key, tags, parent_id, redrive_of, place, digest)
  values (:id, :project, :pipeline, :status, :submitted_at, :ended_at, :archived_at,
          :key, :tags, :parent_id, :redrive_of, :place, :digest)
  on conflict (id) do nothing`;

const LABEL = `
  insert into archived_label (project, kind, value, ended_at, execution_id)
  values (:project, :kind, :value, :endedAt, :id)
  on conflict do nothing`;

const READ = 'select * from archived where id = :id';

// As far as it matters.
const COUNT = `
  select count(*) as found
    from (select 1
            from archived_label
           where project = :project
             and kind = :kind
             and value = :value
           limit 1000)`;

export function keepArchived(tx: Transaction, archived: ArchivedExecution): void {
  tx.run(KEEP, { ...fromArchived(archived) });
  const { id, project, endedAt } = archived;
  for (const { kind, value } of archivedLabels(archived)) {
    tx.run(LABEL, { project, kind, value, endedAt, id });
  }
}

export function archived(tx: ReadTransaction, id: ExecutionId): ArchivedExecution | undefined {
  const row = tx.get<ArchivedRow>(READ, { id });
  return row === undefined ? undefined : toArchived(row);
}

/** F-7: one index leads, in the order of the list; the rest is checked on the way. */
export function listArchived(
  tx: ReadTransaction,
  query: ListArchived,
): readonly ArchivedExecution[] {
  const { project, pipeline, status, from, to, before, limit } = query;
  const labels = labelsOf(tx, query);
  const [lead, ...others] = labels;
  const [ended, id] =
    lead === undefined
      ? ['archived.ended_at', 'archived.id']
      : ['lead.ended_at', 'lead.execution_id'];
  const conditions = [
    ...(lead === undefined
      ? ['archived.project = :project']
      : ['lead.project = :project', 'lead.kind = :kind0', 'lead.value = :value0']),
    ...(pipeline === undefined ? [] : ['archived.pipeline = :pipeline']),
    ...(status === undefined ? [] : ['archived.status = :status']),
    ...(from === undefined ? [] : [`${ended} >= :from`]),
    ...(to === undefined ? [] : [`${ended} < :to`]),
    ...(before === undefined ? [] : [`(${ended}, ${id}) < (:beforeAt, :beforeId)`]),
    ...others.map((_, nth) => has(nth + 1)),
  ];
  const sql = `
  select archived.*
    from ${sourceOf(query, lead !== undefined)}
   where ${conditions.join('\n     and ')}
   order by ${ended} desc, ${id} desc
   limit :limit`;
  const parameters: Parameters = {
    ...{ project, limit },
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(status === undefined ? {} : { status: STATUS_CODES[status] }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(before === undefined ? {} : { beforeAt: before.endedAt, beforeId: before.id }),
    ...Object.fromEntries(
      labels.flatMap(({ kind, value }, nth) => [
        [`kind${nth}`, kind],
        [`value${nth}`, value],
      ]),
    ),
  };
  return tx.all<ArchivedRow>(sql, parameters).map(toArchived);
}

/** The rarest first: what many have is checked on the way. */
function labelsOf(
  tx: ReadTransaction,
  { project, tag, words = [] }: ListArchived,
): readonly ArchivedLabel[] {
  const labels = [
    ...words.map((value) => ({ kind: ARCHIVED_LABELS.word, value })),
    ...(tag === undefined ? [] : [{ kind: ARCHIVED_LABELS.tag, value: tag }]),
  ];
  if (labels.length < 2) return labels;
  return labels
    .map((label) => ({
      label,
      found: tx.get<{ found: number }>(COUNT, { project, ...label })?.found ?? 0,
    }))
    .sort((a, b) => a.found - b.found)
    .map(({ label }) => label);
}

function sourceOf({ pipeline, status }: ListArchived, byLabel: boolean): string {
  if (byLabel)
    return 'archived_label as lead cross join archived on archived.id = lead.execution_id';
  if (pipeline !== undefined) return 'archived indexed by archived_pipeline';
  const index = status === undefined ? 'archived_list' : 'archived_status';
  return `archived indexed by ${index}`;
}

function has(nth: number): string {
  return `exists (select 1 from archived_label as l where l.project = :project and l.kind = :kind${nth} and l.value = :value${nth} and l.ended_at = archived.ended_at and l.execution_id = archived.id)`;
}
