// The labels of an execution that is removed. They are found by what they say: no index is by execution.

import type { ExecutionRecord } from '../../../execution/execution.ts';
import { type Queries, statement } from '../database.ts';
import { texts } from './arrays.ts';

const TAGS = statement(`
  delete from hf.label l
   where l.project = $2
     and l.kind = 0
     and l.name = ''
     and l.value = any ($3::text[])
     and l.execution_id = $1`);

const VALUE = statement(`
  delete from hf.label l
   where l.project = $2
     and l.kind = $3
     and l.name = $4
     and l.value = $5
     and l.execution_id = $1`);

const NUMBER = statement(`
  delete from hf.label l
   where l.project = $2
     and l.name = $3
     and l.number = $4
     and l.execution_id = $1`);

export async function forgetLabels(queries: Queries, execution: ExecutionRecord): Promise<void> {
  const { id, project, tags, attributes } = execution;
  if (tags.length > 0) await queries.rows(TAGS, [id, project, texts(tags)]);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'number') await queries.rows(NUMBER, [id, project, name, value]);
    else {
      const kind = typeof value === 'boolean' ? 3 : 1;
      await queries.rows(VALUE, [id, project, kind, name, String(value)]);
    }
  }
}
