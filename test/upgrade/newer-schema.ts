// A schema that a later build has migrated: this build's, and one more file, which only adds.

import pg from 'pg';

export interface NewerSchema {
  readonly url: string;
  readonly schema: string;
  /** The declaration in its first line. */
  readonly olderBuildsMayRun: boolean;
}

export const ADDITIVE_NAME = '9999-additive';

/** Columns with defaults in the busiest tables, an index, and an unknown table. */
export function additiveSql(schema: string): readonly string[] {
  return [
    `alter table ${schema}.execution add column of_a_later_build text not null default 'so'`,
    `alter table ${schema}.session add column of_a_later_build bigint`,
    `create index execution_of_a_later_build on ${schema}.execution (of_a_later_build, id)`,
    `create table ${schema}.of_a_later_build (id bigint primary key)`,
  ];
}

/** As `migrate.ts` would, in one transaction, while other processes work. */
export async function migrateFurther(newer: NewerSchema): Promise<void> {
  const client = new pg.Client({ connectionString: newer.url });
  await client.connect();
  try {
    await client.query('begin');
    for (const sql of additiveSql(newer.schema)) await client.query(sql);
    await client.query(
      `insert into ${newer.schema}.migration (name, checksum, older_builds_may_run) values ($1, 'x', $2)`,
      [ADDITIVE_NAME, newer.olderBuildsMayRun],
    );
    await client.query('commit');
  } finally {
    await client.end();
  }
}
