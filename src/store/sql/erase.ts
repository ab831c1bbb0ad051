// Erases the values of ended executions (F-13 … F-16). A large value stays while other rows of its
// project refer to it.

import type { Erasure, ExecutionRecord } from '../../execution/execution.ts';
import { type ExecutionId, OWN_PREFIX } from '../../execution/names.ts';
import { changedByErasure } from '../../features/audit/decide.ts';
import type { AwaitUnit } from '../../features/awaits/model.ts';
import {
  decideErase,
  ERASED_BY,
  ERASED_TEXT,
  Eraser,
  PUT_BEFORE_MS,
} from '../../features/erasure/model.ts';
import type {
  Erase,
  Erased,
  ErasureStore,
  NoteErased,
  PendingErasure,
} from '../../features/erasure/port.ts';
import type { ArchivedExecution } from '../../features/retention/model.ts';
import type { Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { aboutOf, toExecution } from '../execution-rows.ts';
import { forgetTags, lockArchived } from './archived.ts';
import { writeAudit } from './audit.ts';
import { type LockedRow, lockExecution } from './executions.ts';
import { forgetLabels } from './labels.ts';
import { dropValues, valuesInUse } from './large-values.ts';
import {
  all,
  type Dialects,
  dialects,
  every,
  type Gateway,
  one,
  type Script,
  type Sql,
  sql,
  sqlPerDialect,
} from './script.ts';

const PAGE = 1_000;

const ERASE_ROW = sqlPerDialect(
  { sqlite: '', postgres: 'input = :input,' },
  (input) => `
  update hf.execution as e
     set ${input}
         about      = :about,
         progress   = :progress,
         heartbeats = null
   where e.id = :id`,
);

const ERASE_INPUT = dialects({
  sqlite: 'update input set input = :input where row_id = :row_id',
  postgres: '',
});

/** Rows with bodies, one page at a time, and the statement that writes a page of them. */
interface Bodies {
  readonly page: Sql;
  readonly write: Sql;
}

function bodiesIn(table: string, n: string, ofExecution: Dialects): Bodies {
  return {
    page: sqlPerDialect(
      ofExecution,
      (own) => `
  select b.${n} as n, b.body
    from hf.${table} as b
   where ${own}
     and b.${n} > :after
   order by b.${n}
   limit ${PAGE}`,
    ),
    write: sqlPerDialect(
      ofExecution,
      (own) => `
  update hf.${table} as b
     set body = n.body
    from jsonb_to_recordset(:rows::jsonb) as n(n integer, body text)
   where ${own}
     and b.${n} = n.n`,
    ),
  };
}

const BY_ID = 'b.execution_id = :id';
const EVENTS = bodiesIn('history', 'seq', { sqlite: 'b.row_id = :row_id', postgres: BY_ID });
const MESSAGES = bodiesIn('inbox', 'n', { sqlite: BY_ID, postgres: BY_ID });

const INTERACTIONS = sql(`
  select i.id, i.request, i.answer
    from hf.interaction as i
   where i.execution_id = :id`);

const ERASE_INTERACTION = sql(`
  update hf.interaction
     set request = :request,
         answer  = :answer
   where id = :id`);

const LATE_ANSWERS = sql(`
  select l.n, l.answer
    from hf.late_answer as l
   where l.interaction_id = :id`);

const ERASE_LATE = sql(`
  update hf.late_answer
     set answer = :answer
   where interaction_id = :id
     and n = :n`);

const UNITS = sql(`
  select u.call, u.about
    from hf.await_unit as u
   where u.execution_id = :id`);

const ERASE_UNIT = sql(`
  update hf.await_unit
     set about = :about
   where execution_id = :id
     and call = :call`);

const ATTACHMENTS = sql(`
  select a.name
    from hf.attachment as a
   where a.execution_id = :id`);

const ATTACHMENT = sql(`
  select a.bytes
    from hf.attachment as a
   where a.execution_id = :id
     and a.name = :name`);

const ERASE_ATTACHMENT = sql(`
  update hf.attachment
     set bytes     = :bytes,
         sealed_by = :by
   where execution_id = :id
     and name = :name`);

const ERASE_LETTER = sql(`
  update hf.dead_letter
     set reason = :reason
   where execution_id = :id`);

const MARK_ARCHIVED = sql(`
  update hf.archived
     set erased = :erased,
         tags   = '[]'
   where id = :id
     and project = :project`);

const NOTE_ARCHIVED = sql(`
  update hf.archived
     set erased = :erased
   where id = :id
     and project = :project
     and erased = :was -- guard: seen
  returning id`);

const NOTE_ROW = sql(`
  update hf.execution
     set about = :about
   where id = :id
     and project = :project`);

// The pending part of an erasure is also a row of its own, because no index of executions has it.
const PUT_PENDING = sql(`
  insert into hf.pending_erasure (execution_id, due_at, in_archive, project, erasure)
  values (:id, hf_now() + ${PUT_BEFORE_MS}, :inArchive, :project, :erasure)
      on conflict (execution_id) do nothing`);

const IF_SEEN = `
   where execution_id = :id
     and project = :project
     and erasure = :was -- guard: pending`;

const NOTE_PENDING = sql(`
  update hf.pending_erasure
     set due_at     = hf_now() + ${PUT_BEFORE_MS},
         in_archive = :inArchive,
         erasure    = :erasure
  ${IF_SEEN}`);

const END_PENDING = sql(`
  delete from hf.pending_erasure
  ${IF_SEEN}`);

const PENDING = sql(`
  select p.execution_id as id, p.project, p.erasure
    from hf.pending_erasure as p
   where p.in_archive = :inArchive
     and p.due_at <= (select hf_now())
   order by p.due_at
   limit :limit`);

export function erasuresOf({ read, repeat }: Gateway): ErasureStore {
  return {
    erase: (request) => repeat(() => erase(request)),
    valuesInUse: (query) => read(() => valuesInUse(query)),
    dropValues: (request) => repeat(() => dropValues(request)),
    noteErased: (request) => repeat(() => noteErased(request)),
    pendingErasures: (query) => read(() => every(PENDING, query, toPending)),
  };
}

function* erase(request: Erase): Script<Erased> {
  const { id, audit } = request;
  const row = yield* lockExecution(id);
  const of = row === undefined ? yield* lockArchived(id) : toExecution(row);
  const decision = decideErase(of, request);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  const archived = row === undefined;
  if (of?.erased !== undefined) {
    yield* putPending(request, of.erased);
    return { kind: 'erased', erasure: of.erased, isNew: false, archived };
  }
  const { now: at } = row ?? (yield* one<{ readonly now: Instant }>(NOW)) ?? { now: 0 as Instant };
  const erasure =
    row === undefined
      ? yield* markArchived(of as ArchivedExecution, {
          at,
          by: audit.actor,
          ofArchive: true,
          pending: { documents: true },
        })
      : yield* eraseRows(row, { at, by: audit.actor });
  yield* putPending(request, erasure);
  yield* writeAudit(request, changedByErasure(request), at);
  return { kind: 'erased', erasure, isNew: true, archived };
}

function* putPending({ id, project }: Erase, erasure: Erasure): Script<void> {
  if (erasure.pending === undefined) return;
  yield* all(PUT_PENDING, { id, project, ...columnsOf(erasure) });
}

function columnsOf(erasure: Erasure) {
  return { inArchive: erasure.pending?.documents === true, erasure: JSON.stringify(erasure) };
}

function toPending({ erasure, ...of }: PendingRow): PendingErasure {
  return { ...of, was: JSON.parse(erasure) as Erasure };
}

type PendingRow = Omit<PendingErasure, 'was'> & { readonly erasure: string };

const NOW = sql('select hf_now() as now');

function* markArchived(of: ArchivedExecution, erasure: Erasure): Script<Erasure> {
  yield* all(MARK_ARCHIVED, { ...of, erased: JSON.stringify(erasure) });
  yield* forgetTags(of);
  return erasure;
}

/** The caller has locked the row, and nothing writes to the others without that lock. */
function* eraseRows(row: LockedRow, { at, by }: Erasure): Script<Erasure> {
  const execution = toExecution(row);
  const eraser = new Eraser();
  const of = { id: execution.id, row_id: row.row_id };
  yield* eraseBodies(eraser, EVENTS, of);
  yield* eraseBodies(eraser, MESSAGES, of);
  yield* eraseAwaits(eraser, of);
  yield* eraseAttachments(eraser, of);
  yield* all(ERASE_LETTER, { ...of, reason: ERASED_TEXT });
  const { lineageKey: _, ...labelled } = execution;
  yield* forgetLabels(labelled);
  const input = eraser.value(execution.input);
  const progress = execution.progress && eraser.value(execution.progress);
  const values = [...eraser.apart];
  const erasure = { at, by, ...(values.length > 0 && { pending: { values } }) };
  yield* all(ERASE_INPUT, { ...of, input });
  yield* all(ERASE_ROW, { ...of, input, progress, about: aboutWith(execution, erasure) });
  return erasure;
}

function aboutWith(execution: ExecutionRecord, erased: Erasure): string {
  const about = aboutOf({ ...execution, tags: [], attributes: {} });
  return JSON.stringify({ ...(JSON.parse(about ?? '{}') as object), erased });
}

type Of = { readonly id: ExecutionId; readonly row_id: number | undefined };

function* eraseBodies(eraser: Eraser, { page, write }: Bodies, of: Of): Script<void> {
  type Row = { readonly n: number; readonly body: string | null };
  for (let after: number | undefined = 0; after !== undefined; ) {
    const rows: readonly Row[] = yield* all<Row>(page, { ...of, after });
    const erased = rows.flatMap(({ n, body }) =>
      body === null ? [] : [{ n, body: eraser.body(body) }],
    );
    if (erased.length > 0) yield* all(write, { ...of, rows: JSON.stringify(erased) });
    after = rows.length < PAGE ? undefined : rows.at(-1)?.n;
  }
}

function* eraseAwaits(eraser: Eraser, of: Of): Script<void> {
  type Question = {
    readonly id: string;
    readonly request: string | null;
    readonly answer: string | null;
  };
  const erased = (payload: string | null): string | null =>
    payload === null ? null : eraser.value(payload);
  for (const { id, request, answer } of yield* all<Question>(INTERACTIONS, of)) {
    yield* all(ERASE_INTERACTION, { id, request: erased(request), answer: erased(answer) });
    const late = yield* all<{ readonly n: number; readonly answer: string }>(LATE_ANSWERS, { id });
    for (const each of late) {
      yield* all(ERASE_LATE, { id, n: each.n, answer: eraser.value(each.answer) });
    }
  }
  type Unit = { readonly call: string; readonly about: string };
  for (const { call, about } of yield* all<Unit>(UNITS, of)) {
    const { signed, checked } = JSON.parse(about) as AwaitUnit;
    yield* all(ERASE_UNIT, {
      ...of,
      call,
      about: JSON.stringify({ reminders: [], signed, checked }),
    });
  }
}

/** One at a time, because files are large. Published values keep their form. */
function* eraseAttachments(eraser: Eraser, of: Of): Script<void> {
  const attachments = yield* all<{ readonly name: string }>(ATTACHMENTS, of);
  for (const { name } of attachments) {
    const found = yield* one<{ readonly bytes: Uint8Array }>(ATTACHMENT, { ...of, name });
    const bytes = new Uint8Array(found?.bytes ?? []);
    const isPublished = name.startsWith(OWN_PREFIX);
    const erased = isPublished ? eraser.body(Buffer.from(bytes).toString()) : digestOf(bytes);
    const by = isPublished ? null : ERASED_BY;
    yield* all(ERASE_ATTACHMENT, { ...of, name, by, bytes: Buffer.from(erased) });
  }
}

function* noteErased({ id, project, was, now }: NoteErased): Script<void> {
  const [before, after] = [JSON.stringify(was), JSON.stringify(now)];
  const row = yield* lockExecution(id);
  const pending = { id, project, was: before, ...columnsOf(now) };
  yield* all(now.pending === undefined ? END_PENDING : NOTE_PENDING, pending);
  if (row === undefined) {
    yield* all(NOTE_ARCHIVED, { id, project, was: before, erased: after });
    return;
  }
  const execution = toExecution(row);
  if (JSON.stringify(execution.erased) !== before) return;
  yield* all(NOTE_ROW, { id, project, about: aboutWith(execution, now) });
}
