// Takes large values from a project when no row of it refers to them (F-15).

import { type ExecutionId, OWN_PREFIX } from '../../execution/names.ts';
import type {
  DroppedValues,
  DropValues,
  ValuesInUse,
  ValuesInUsePage,
} from '../../features/erasure/port.ts';
import type { Instant } from '../../support/clock.ts';
import { IS_ERASED } from './executions.ts';
import { all, type Script, sql, sqlPerDialect } from './script.ts';

const EXECUTIONS = sql(`
  select looked.id, clock.now
    from (select hf_now() as now) as clock
    left join (
         select e.id
           from hf.execution as e
          where e.id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
            and e.project = :project
          order by e.id
          limit :limit
         ) as looked on true
   order by looked.id`);

const WITHIN = {
  sqlite: {
    has: (text: string): string => `instr(${text}, n.digest) > 0`,
    input: '(select input.input from input where input.row_id = e.row_id)',
    history: 'h.row_id = e.row_id',
    content: 'instr(cast(a.bytes as text), n.digest) > 0',
  },
  postgres: {
    has: (text: string): string => `strpos(${text}, n.digest) > 0`,
    input: 'e.input',
    history: 'h.execution_id = e.id',
    content: `position(convert_to(n.digest, 'UTF8') in a.bytes) > 0`,
  },
};

const USED_BY_EXECUTIONS = sqlPerDialect(
  {
    sqlite: { ...WITHIN.sqlite, erased: IS_ERASED.sqlite },
    postgres: { ...WITHIN.postgres, erased: IS_ERASED.postgres },
  },
  ({ has, input, history, content, erased }) => `
  select n.digest
    from jsonb_to_recordset(:rows::jsonb) as n(digest text)
   where exists (
         select 1
           from hf.execution as e
          where e.id = any (:ids::uuid[])
            and not ${erased}
            and (${has(input)}
                 or ${has('e.progress')}
                 or ${has('e.heartbeats')}
                 or exists (select 1 from hf.history as h where ${history} and ${has('h.body')})
                 or exists (select 1 from hf.inbox as i where i.execution_id = e.id and ${has('i.body')})
                 or exists (select 1 from hf.await_unit as u where u.execution_id = e.id and ${has('u.about')})
                 or exists (select 1 from hf.interaction as q where q.execution_id == e.id and (${has('q.request')} or ${has('q.answer')}))
                 or exists (select 1 from hf.interaction as q join hf.late_answer as l on l.interaction_id == q.id where q.execution_id == e.id and ${has('l.answer')})
                 or exists (select 1 from hf.attachment as a where a.execution_id = e.id and substr(a.name, 1, ${OWN_PREFIX.length}) = '${OWN_PREFIX}' and ${content})))`,
);

const USED_BY_PLANS = sqlPerDialect(
  WITHIN,
  ({ has }) => `
  select n.digest
    from jsonb_to_recordset(:rows::jsonb) as n(digest text)
   where exists (select 1 from hf.template as t where t.project = :project and ${has('t.defaults')})
      or exists (select 1 from hf.schedule as s where s.project = :project and ${has('s.plan')})`,
);

export function* valuesInUse({
  project,
  digests,
  after,
  limit,
}: ValuesInUse): Script<ValuesInUsePage> {
  type Looked = { readonly id: ExecutionId | null; readonly now: Instant };
  type Used = { readonly digest: string };
  const page = yield* all<Looked>(EXECUTIONS, { project, after, limit });
  const ids = page.flatMap(({ id }) => id ?? []);
  const rows = JSON.stringify(digests.map((digest) => ({ digest })));
  const used = new Set<string>();
  const isFirst = after === undefined;
  const plans = isFirst ? yield* all<Used>(USED_BY_PLANS, { project, rows }) : [];
  const executions = yield* all<Used>(USED_BY_EXECUTIONS, { ids, rows });
  for (const { digest } of [...plans, ...executions]) used.add(digest);
  const next = ids.length < limit ? undefined : ids.at(-1);
  return { used: [...used], now: page[0]?.now ?? (0 as Instant), ...(next && { next }) };
}

// Every digest that begins so is below the text with a letter behind the hexadecimal ones.
const NAMED = sql(`
  select o.digest
    from hf.blob_of as o
   where o.digest >= :digest::text
     and o.digest < :digest::text || 'g'
     and o.project = :project`);

// Locks the blobs first, as a put does. So the next statements see each put that came before.
const LOCK_VALUES = sql(`
  select b.digest
    from hf.blob as b
   where b.digest = any (:digests::text[])
   order by b.digest
     for update of b`);

const DROP_SHARE = sql(`
  delete from hf.blob_of as o
   where o.project = :project
     and o.digest = any (:digests::text[])
     and o.at < :putBefore -- guard: recent
  returning digest`);

const DROP_VALUES = sql(`
  delete from hf.blob as b
   where b.digest = any (:digests::text[])
     and not exists (select 1 from hf.blob_of as o where o.digest == b.digest) -- guard: shared`);

export function* dropValues({ project, digests, putBefore }: DropValues): Script<DroppedValues> {
  type Named = { readonly digest: string };
  const found: string[] = [];
  for (const digest of digests) {
    const rows = yield* all<Named>(NAMED, { project, digest });
    found.push(...rows.map((row) => row.digest));
  }
  if (found.length === 0) return { dropped: 0, recent: [] };
  yield* all(LOCK_VALUES, { digests: found });
  const gone = yield* all<Named>(DROP_SHARE, { project, digests: found, putBefore });
  yield* all(DROP_VALUES, { digests: found });
  const dropped = new Set(gone.map(({ digest }) => digest));
  return { dropped: dropped.size, recent: found.filter((digest) => !dropped.has(digest)) };
}
