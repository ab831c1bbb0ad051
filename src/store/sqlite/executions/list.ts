// The indexes of lists by pipeline and status on SQLite.

import type { Status } from '../../../execution/execution.ts';
import { routeOf } from '../../../execution/route.ts';
import type { ListExecutions } from '../../contract/execution-reads.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { inOrder, inRange, isListed, type Lead, type Statements } from '../../sql/list-leads.ts';
import { all, dialects, type Script } from '../../sql/script.ts';

function placed(index: string, lead: Readonly<Record<string, string>>, where = 'true'): Statements {
  const columns = { 'e.project': ':project', ...lead };
  return inOrder({
    ...{ table: 'execution as e', id: 'e.id', index },
    lead: { sqlite: columns, postgres: columns },
    where: { sqlite: where, postgres: where },
  });
}

const NEWEST = placed('execution_list', {});
const OF_ROUTE = placed('execution_pipeline', { 'e.pipeline': ':route' });
// The conditions of the indexes are repeated, so that SQLite can use them. Worker capacity bounds
// the number of running executions.
const RUNNING = placed('execution_carrier', {}, 'e.status = 1');
const OF_STATUS = placed(
  'execution_status',
  { 'e.status': ':statusCode' },
  '(e.status = 2 or e.status > 10)',
);

const STATUS_INDEXES: Readonly<Partial<Record<Status, Statements>>> = {
  running: RUNNING,
  waiting: OF_STATUS,
  failed: OF_STATUS,
  cancelled: OF_STATUS,
  quarantined: OF_STATUS,
  compensated: OF_STATUS,
};

/** A pipeline with more releases is not read release by release. */
const RELEASES_MAX = 100;

const RELEASES = dialects({
  sqlite: `select name from release where project = :project and pipeline = :pipeline limit ${RELEASES_MAX + 1}`,
  postgres: '',
});

// Routes with a release sort before the pipeline's name with a space. Names with control characters
// may too, so a check follows.
const IN_PIPELINE =
  "e.project = :project and e.pipeline >= :pipeline and e.pipeline < :pipeline || ' '";
const ALL_RELEASES = inRange({
  ...{ table: 'execution as e', id: 'e.id', index: 'execution_pipeline' },
  where: { sqlite: IN_PIPELINE, postgres: '' },
});
const COUNT = dialects({
  sqlite: `
  select count(*) as count
    from (select 1 from execution as e indexed by execution_pipeline where ${IN_PIPELINE} and ${isListed('e.pipeline')} limit :limit)`,
  postgres: '',
});

export function* baseLeads(query: ListExecutions): Script<readonly Lead[]> {
  const { status, pipeline } = query;
  return [
    ...(status === undefined ? [] : statusLead(status)),
    ...(pipeline === undefined ? [] : [yield* pipelineLead(query)]),
    { serves: [], isOrdered: true, parts: [{ statements: NEWEST }] },
  ];
}

/** Queued and completed executions, which all have been, have no index. */
function statusLead(status: readonly Status[]): readonly Lead[] {
  const parts = [...new Set(status)].flatMap((each) => {
    const statements = STATUS_INDEXES[each];
    return statements ? [{ statements, values: { statusCode: STATUS_CODES[each] } }] : [];
  });
  const isServed = parts.length === new Set(status).size;
  return isServed ? [{ serves: ['status'], isOrdered: true, parts }] : [];
}

/** One part for the pipeline without a release, and one for each release. */
function* pipelineLead(query: ListExecutions): Script<Lead> {
  const { project, pipeline, release } = query;
  const known = yield* all<{ readonly name: string }>(RELEASES, { project, pipeline });
  const isOfAll = release === undefined && query.downTo === undefined && query.before === undefined;
  const count = isOfAll && query.after === undefined ? { count: COUNT } : {};
  if (release === undefined && known.length > RELEASES_MAX) {
    return {
      serves: ['pipeline'],
      isOrdered: false,
      parts: [{ statements: ALL_RELEASES }],
      ...count,
    };
  }
  const names = release === undefined ? [undefined, ...known.map(({ name }) => name)] : [release];
  const parts = names.map((name) => ({
    statements: OF_ROUTE,
    values: { route: routeOf({ pipeline, release: name } as Parameters<typeof routeOf>[0]) },
  }));
  return { serves: ['pipeline', 'release'], isOrdered: true, parts, ...count };
}
