import type { QuotaName } from '../../features/access/model.ts';
import { dialects, type Sql } from './script.ts';

/** A text with the limit of `:project`: its own quota, or else `:quota`. */
export function withLimit(quota: QuotaName, text: (limit: string) => string): Sql {
  const limit = (own: string): string =>
    `coalesce((select ${own} from hf.project as p where p.name = :project), :quota::bigint)`;
  return dialects({
    sqlite: text(limit(`p.settings ->> '$.quotas.${quota}'`)),
    postgres: text(limit(`(p.settings::jsonb #>> '{quotas,${quota}}')::bigint`)),
  });
}
