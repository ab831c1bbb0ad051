import { decideLine, nameBefore, nameMeant } from '../../../release/decide/line.ts';
import { type Activation, type Line, NO_LINE } from '../../../release/release.ts';
import type {
  ChangeLine,
  LineChanged,
  ListActivations,
  OfPipeline,
  Pinned,
} from '../../contract/release-store.ts';
import {
  type ActivationRow,
  activationOf,
  fromLine,
  type LineRow,
  toActivation,
  toLine,
} from '../../release-rows.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import type { Parts } from './parts.ts';
import { readRelease } from './releases.ts';

const COLUMNS = 'l.version, l.active, l.previous, l.candidate, l.percent';

const LINE = statement(
  `select ${COLUMNS} from hf.release_line l where l.project = $1 and l.pipeline = $2`,
);

// So that there is a row to lock; a line of version 0 is none.
const BEGIN = statement(`
  insert into hf.release_line (project, pipeline, version)
  values ($1, $2, 0)
      on conflict (project, pipeline) do nothing`);

// RE-5: waits for submits under way, which share it, and is waited for by all others.
const LOCK = statement(
  `select ${COLUMNS} from hf.release_line l where l.project = $1 and l.pipeline = $2 for update of l`,
);

// RE-6: waits for submits that name it. Before the line, as they do.
const LOCK_RELEASE = statement(
  'select r.name from hf.release r where r.project = $1 and r.pipeline = $2 and r.name = $3 for update of r',
);

const SAVE = statement(`
  update hf.release_line l
     set version   = $3,
         active    = $4,
         previous  = $5,
         candidate = $6,
         percent   = $7
   where l.project = $1
     and l.pipeline = $2
     and l.version = $3 - 1`);

const LOG = statement(`
  insert into hf.activation (project, pipeline, version, at, act, name, actor, reason, forced, was, became)
  values ($1, $2, $3, hf_now(), $4, $5, $6, $7, $8, $9, $10)`);

const OPEN = `e.status < 10 and strpos(e.pipeline, E'\\x1f') > 0 and e.project collate "POSIX" = $1`;

// A statement of its own, after the locks: it sees all that was submitted before them.
const RETIRE = statement(`
  update hf.release r
     set retired_at = hf_now()
   where r.project = $1
     and r.pipeline = $2
     and r.name = $3
     and not exists (select from hf.execution e where ${OPEN} and e.pipeline collate "POSIX" = $2 || E'\\x1f' || $3) -- guard: pinned
  returning r.name`);

const PINNED = statement(`
  select split_part(e.pipeline, E'\\x1f', 2) as release, count(*)::integer as open
    from hf.execution e
   where ${OPEN}
     and e.pipeline collate "POSIX" > $2 || E'\\x1f'
     and e.pipeline collate "POSIX" < $2 || ' '
   group by 1
   order by 1`);

const ACTIVATIONS = statement(`
  select a.project, a.pipeline, a.version, a.at, a.act, a.name, a.actor, a.reason, a.forced, a.was, a.became
    from hf.activation a
   where a.project = $1
     and a.pipeline = $2
     and a.version < $3
   order by a.version desc
   limit $4`);

export function changeLine(parts: Parts, request: ChangeLine): Promise<LineChanged> {
  return persistently(parts.surroundings, () =>
    parts.database.attempt((queries) => change(queries, request), parts.boundaries),
  );
}

async function change(queries: Queries, request: ChangeLine): Promise<Attempted<LineChanged>> {
  const { project, pipeline, act } = request;
  if (act === 'retire') await queries.rows(LOCK_RELEASE, [project, pipeline, request.name ?? '']);
  await queries.rows(BEGIN, [project, pipeline]);
  const [row] = await queries.rows<LineRow & object>(LOCK, [project, pipeline]);
  const line = row === undefined ? NO_LINE : toLine(row);
  const name = nameMeant(line, request) ?? '';
  const of = (each: string) => readRelease(queries, { project, pipeline, name: each });
  const [release, before] = [await of(name), await of(nameBefore(line) ?? '')];
  // Whether anything is pinned to it, the predicate decides.
  const decision = decideLine({ line, release, before, pinned: 0 }, request);
  if (decision.kind === 'refuse') {
    return { keep: false, result: { kind: 'refused', ...decision.refusal } };
  }
  if (decision.kind === 'no-change') return { keep: false, result: decision };
  if (act === 'retire') {
    const retired = await queries.rows(RETIRE, [project, pipeline, name]);
    if (retired.length === 0) return { keep: false, result: await stillPinned(queries, request) };
  }
  const { line: after, forced } = decision;
  const { version, active: now, previous, candidate, percent } = fromLine(after);
  await queries.rows(SAVE, [project, pipeline, version, now, previous, candidate, percent]);
  const entry = activationOf(request, { before: line, after, name, forced });
  const told = [entry.actor, entry.reason, entry.forced, entry.was, entry.became];
  await queries.rows(LOG, [project, pipeline, version, act, name, ...told]);
  return { keep: true, result: { kind: 'changed', line: after } };
}

async function stillPinned(queries: Queries, request: ChangeLine): Promise<LineChanged> {
  const { pipeline, name = '' } = request;
  const open = await pinned(queries, request);
  const count = open.find(({ release }) => release === name)?.open ?? 0;
  return { kind: 'refused', why: 'release-pinned', pipeline, name, pinned: count };
}

export async function readLine(queries: Queries, { project, pipeline }: OfPipeline): Promise<Line> {
  const [row] = await queries.rows<LineRow & object>(LINE, [project, pipeline]);
  return row === undefined ? NO_LINE : toLine(row);
}

export async function activations(
  queries: Queries,
  { project, pipeline, before = 2_147_483_647, limit }: ListActivations,
): Promise<readonly Activation[]> {
  const values = [project, pipeline, before, limit];
  return (await queries.rows<ActivationRow & object>(ACTIVATIONS, values)).map(toActivation);
}

export async function pinned(
  queries: Queries,
  { project, pipeline }: OfPipeline,
): Promise<readonly Pinned[]> {
  return queries.rows<Pinned & object>(PINNED, [project, pipeline]);
}
