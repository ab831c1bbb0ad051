import { auditOf, changedByTemplate } from '../../../execution/decide/audit.ts';
import type { Template } from '../../../execution/template.ts';
import { assert } from '../../../support/assert.ts';
import { toInstant } from '../../../support/clock.ts';
import type {
  ListTemplates,
  PutTemplate,
  ReadTemplate,
  TemplatePut,
} from '../../contract/template-store.ts';
import { fromTemplate, putAgain, type TemplateRow, toTemplate } from '../../template-rows.ts';
import { type Database, statement } from '../database.ts';
import { writeAudit } from './audit.ts';
import type { Parts } from './parts.ts';

const COLUMNS = 't.project, t.id, t.version, t.at, t.pipeline, t.digest, t.defaults, t.about';

// a version is written once.
const PUT = statement(`
  insert into hf.template as t (project, id, version, at, pipeline, digest, defaults, about)
  values ($1, $2, $3, hf_now(), $4, $5, $6, $7)
      on conflict (project, id, version) do nothing
  returning t.at`);

// $3 null: the newest.
const READ = statement(`
  select ${COLUMNS}
    from hf.template t
   where t.project = $1
     and t.id = $2
     and ($3::integer is null or t.version = $3)
   order by t.version desc
   limit 1`);

const LIST = statement(`
  select ${COLUMNS}
    from hf.template t
   where t.project = $1
     and ($2::text is null or t.id = $2)
     and t.id >= $3
     and (t.id > $3 or t.version < $4)
   order by t.id, t.version desc
   limit $5`);

export async function putTemplate(parts: Parts, request: PutTemplate): Promise<TemplatePut> {
  const row = fromTemplate(request);
  const { project, id, version } = row;
  const values = [project, id, version, row.pipeline, row.digest, row.defaults, row.about];
  const isNew = await parts.database.attempt<boolean>(async (queries) => {
    const [inserted] = await queries.rows<{ at: number }>(PUT, values);
    if (inserted === undefined) return { keep: false, result: false };
    const now = toInstant(inserted.at);
    await writeAudit(queries, [auditOf(request, changedByTemplate(request), now)]);
    return { keep: true, result: true };
  }, parts.boundaries);
  if (isNew) return { kind: 'put', existing: false };
  const stored = await readTemplate(parts.database, request);
  assert(stored !== undefined, 'X-30: a version that is taken is stored');
  return putAgain(request, stored.digest);
}

export async function readTemplate(
  database: Database,
  { project, id, version }: ReadTemplate,
): Promise<Template | undefined> {
  const [row] = await database.rows<TemplateRow & object>(READ, [project, id, version ?? null]);
  return row === undefined ? undefined : toTemplate(row);
}

export async function listTemplates(
  database: Database,
  { project, id, after, limit }: ListTemplates,
): Promise<readonly Template[]> {
  // No id is empty: what comes after that is everything.
  const values = [project, id ?? null, after?.id ?? '', after?.version ?? 0, limit];
  return (await database.rows<TemplateRow & object>(LIST, values)).map(toTemplate);
}
