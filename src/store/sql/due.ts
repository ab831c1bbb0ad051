// Due rows of all projects: schedules, deadlines, awaits. If one page has room for every due row, it
// takes them by time. Otherwise the projects take turns, so that the rows of one project do not
// delay those of another.

import { all, type Script, type Sql, sqlPerDialect } from './script.ts';

export interface DueTable {
  readonly name: string;
  /** The column with the time. */
  readonly at: string;
  /** An index of project and time. The conditions select it on PostgreSQL too. */
  readonly index: string;
  readonly where: string;
  /** The columns to return, of `x`. */
  readonly columns: string;
}

/** Takes one index step per project that has a time, and at most `:limit` rows of each. */
export function dueInTurn({ name, at, index, where, columns }: DueTable): Sql {
  const from = `${name} as x indexed by ${index} where ${where} and x.project >= ''`;
  const next = (after: string): string =>
    `(select x.project from ${from} ${after} order by x.project, x.${at} limit 1)`;
  const due = `${from}
             and (x.project, x.${at}) >= (p.name, 0)
             and (x.project, x.${at}) <= (p.name, hf_now())
           order by x.project, x.${at}
           limit :limit`;
  return sqlPerDialect(
    {
      sqlite: `${name} as x on x.rowid in (select x.rowid from ${due})`,
      postgres: `lateral (select x.* from ${due}) as x on true`,
    },
    (join) => `
  with recursive project (name) as (
    select ${next('')}
     union all
    select ${next('and x.project > p.name')}
      from project as p
     where p.name is not null
  )
  select ${columns}
    from (select x.*, row_number() over (partition by x.project order by x.${at}) as turn
            from project as p
            join ${join}
           where p.name is not null) as x
   order by x.turn, x.${at}
   limit :limit`,
  );
}

/** Takes all of `due`, or in turn if there are more than the limit. */
export function* takeDue<Row>(
  due: readonly Row[],
  inTurn: Sql,
  limit: number,
): Script<readonly Row[]> {
  return due.length <= limit ? due : yield* all<Row>(inTurn, { limit });
}
