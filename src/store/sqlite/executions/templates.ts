import { changedByTemplate } from '../../../execution/decide/audit.ts';
import type { Template } from '../../../execution/template.ts';
import { assert } from '../../../support/assert.ts';
import type {
  ListTemplates,
  PutTemplate,
  ReadTemplate,
  TemplatePut,
} from '../../contract/template-store.ts';
import { fromTemplate, putAgain, type TemplateRow, toTemplate } from '../../template-rows.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { writeAudit } from './audit.ts';

const COLUMNS = 'project, id, version, at, pipeline, digest, defaults, about';

// a version is written once.
const PUT = `
  insert into template (${COLUMNS})
  values (:project, :id, :version, :now, :pipeline, :digest, :defaults, :about)
  on conflict (project, id, version) do nothing`;

const VERSION = `
  select ${COLUMNS}
    from template
   where project = :project
     and id = :id
     and version = :version`;

const NEWEST = `
  select ${COLUMNS}
    from template
   where project = :project
     and id = :id
   order by version desc
   limit 1`;

const LIST = `
  select ${COLUMNS}
    from template
   where project = :project
     and id >= :afterId
     and (id > :afterId or version < :afterVersion)
   order by id, version desc
   limit :limit`;

const LIST_ONE = `
  select ${COLUMNS}
    from template
   where project = :project
     and id = :id
     and (:id > :afterId or (:id = :afterId and version < :afterVersion))
   order by version desc
   limit :limit`;

export function putTemplate(tx: Transaction, request: PutTemplate): TemplatePut {
  const { project, id, version } = request;
  const changes = tx.run(PUT, { ...fromTemplate(request), now: tx.now });
  if (changes > 0) {
    writeAudit(tx, request, changedByTemplate(request));
    return { kind: 'put', existing: false };
  }
  const stored = tx.get<TemplateRow>(VERSION, { project, id, version });
  assert(stored !== undefined, 'X-30: a version that is taken is stored');
  return putAgain(request, stored.digest);
}

export function template(tx: ReadTransaction, query: ReadTemplate): Template | undefined {
  const { project, id, version } = query;
  const row =
    version === undefined
      ? tx.get<TemplateRow>(NEWEST, { project, id })
      : tx.get<TemplateRow>(VERSION, { project, id, version });
  return row === undefined ? undefined : toTemplate(row);
}

export function templates(tx: ReadTransaction, query: ListTemplates): readonly Template[] {
  const { project, id, limit } = query;
  // No id is empty: what comes after that is everything.
  const after = { afterId: query.after?.id ?? '', afterVersion: query.after?.version ?? 0 };
  const rows =
    id === undefined
      ? tx.all<TemplateRow>(LIST, { project, limit, ...after })
      : tx.all<TemplateRow>(LIST_ONE, { project, id, limit, ...after });
  return rows.map(toTemplate);
}
