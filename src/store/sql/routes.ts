// The pipelines of a project, read in one step of an index each, whatever other projects have.

import type { Dialects } from './script.ts';

/** PostgreSQL's index leaves out running executions, and "POSIX" selects it; see the migration. */
const INDEX: Dialects<{ readonly from: string; readonly has: string }> = {
  sqlite: {
    from: 'hf.execution as e indexed by execution_pipeline',
    has: 'e.project = :project',
  },
  postgres: {
    from: 'hf.execution as e',
    has: 'e.project collate "POSIX" = :project and e.status <> 1',
  },
};

/** A recursive table `route (name, nth)` with at most `max` rows. The last row may have no name. */
export function routesUpTo(max: number): Dialects {
  return { sqlite: routes(INDEX.sqlite, max), postgres: routes(INDEX.postgres, max) };
}

function routes({ from, has }: (typeof INDEX)['sqlite'], max: number): string {
  const next = (where: string): string =>
    `(select e.pipeline from ${from} where ${where} order by e.pipeline collate "POSIX" limit 1)`;
  return `route (name, nth) as (
    select ${next(has)}, 1
     union all
    select ${next(`${has} and e.pipeline collate "POSIX" > r.name collate "POSIX"`)}, r.nth + 1
      from route as r
     where r.name is not null and r.nth < ${max}
  )`;
}
