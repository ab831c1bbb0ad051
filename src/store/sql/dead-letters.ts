// Dead letters, for people to read (Y-10, Y-22).

import type { ExecutionId } from '../../execution/names.ts';
import { parseRoute } from '../../execution/route.ts';
import type { DeadLetter } from '../../features/repair/model.ts';
import type { ListDeadLetters, RepairStore } from '../../features/repair/port.ts';
import { fromDeadLetter, toDeadLetter, toDeadLetterGroup } from '../../features/repair/rows.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import { countGiven, edgeOf, ifGiven, type Lists, newestFirst } from './newest-first.ts';
import { all, every, found, type Gateway, one, type Script, sql } from './script.ts';

const COLUMNS =
  'execution_id, project, pipeline, release, status, category, code, reason, step, attempts, at, redriven_by';

const READ = sql(`
  select ${COLUMNS}
    from hf.dead_letter
   where execution_id = :id`);

const ROUTE = sql('select e.pipeline as route from hf.execution as e where e.id = :id');

// Runs after the row has ended, so that it can copy status and time from there.
const WRITE = sql(`
  insert into hf.dead_letter (execution_id, project, pipeline, release, status, at, category, code, reason, step, attempts)
  select e.id, e.project, :pipeline::text, :release::text, e.status, e.ended_at,
         :category::text, :code::text, :reason::text, :step::text, :attempts::integer
    from hf.execution as e
   where e.id = :id`);

/** The most frequent ones: a person reads them, and one caller must not read millions. */
const GROUPS_MAX = 1_000;

const GROUPS = sql(`
  select pipeline, code, step, count(*) as count, max(at) as at
    from (select d.pipeline, d.code, d.step, d.at, d.redriven_by
            from hf.dead_letter as d indexed by dead_letter_list
           where d.project = :project
           order by d.project desc, d.execution_id desc
           limit ${LIST_ROWS_MAX}) as newest
   where (not :open::boolean or redriven_by is null)
   group by pipeline, code, step
   order by count(*) desc, max(at) desc
   limit ${GROUPS_MAX}`);

function listBy(index: string, lead: Readonly<Record<string, string>>, where = 'true'): Lists {
  const filters = [
    ifGiven('pipeline', ':pipeline'),
    ifGiven('code', ':code'),
    ifGiven('step', ':step'),
    '(:open::boolean is null or (redriven_by is null) = :open)',
    '(:asOf::bigint is null or at <= :asOf::bigint)',
  ];
  const list = { select: COLUMNS, table: 'dead_letter', id: 'execution_id', index, lead };
  return newestFirst({ ...list, filters, where });
}

const project = ':project';
const BY_PROJECT = listBy('dead_letter_list', { project });
const BY_PIPELINE = listBy('dead_letter_pipeline', { pipeline: ':pipeline', project });
const BY_CODE = listBy('dead_letter_code', { code: ':code', project });
const OPEN = listBy(
  'dead_letter_list',
  { 'project collate "POSIX"': project },
  'redriven_by is null',
);

export function deadLettersOf({ read }: Gateway) {
  return {
    deadLetter: (id) => read(() => found(READ, { id }, toDeadLetter)),
    deadLetters: (query) => read(() => every(indexFor(query).list, query, toDeadLetter)),
    deadLettersEdge: (query) => read(() => deadLettersEdge(query)),
    deadLetterGroups: (query) =>
      read(() => every(GROUPS, { open: false, ...query }, toDeadLetterGroup)),
  } satisfies Partial<RepairStore>;
}

/** Runs in the transaction that has just ended the execution (Y-10). */
export function* writeDeadLetter(id: ExecutionId, letter: DeadLetter): Script<void> {
  const { route = '' } = (yield* one<{ readonly route: string }>(ROUTE, { id })) ?? {};
  yield* all(WRITE, { id, ...parseRoute(route), ...fromDeadLetter(letter) });
}

function* deadLettersEdge(query: ListDeadLetters): Script<ExecutionId | undefined> {
  const { pipeline, code, step, open, asOf } = query;
  const isLed = pipeline !== undefined || code !== undefined;
  const checks = countGiven(pipeline, code, step, open, asOf) - (isLed ? 1 : 0);
  // SQLite has no index of open letters, so an edge counts all of them.
  return checks === 0 ? undefined : yield* edgeOf(indexFor({ ...query, open: false }).edge, query);
}

function indexFor({ pipeline, code, open }: ListDeadLetters): Lists {
  if (code !== undefined) return BY_CODE;
  if (pipeline !== undefined) return BY_PIPELINE;
  return open === true ? OPEN : BY_PROJECT;
}
