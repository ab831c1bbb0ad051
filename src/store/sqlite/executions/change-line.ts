import { ROUTE_MARK } from '../../../execution/route.ts';
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
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { forgetLines } from './pin.ts';
import { readRelease } from './releases.ts';

const LINE = `
  select version, active, previous, candidate, percent
    from release_line
   where project = :project
     and pipeline = :pipeline`;

// RE-4: the write lock is held; the version is what an act saw all the same.
const SAVE = `
  insert into release_line (project, pipeline, version, active, previous, candidate, percent)
  values (:project, :pipeline, :version, :active, :previous, :candidate, :percent)
  on conflict (project, pipeline) do update
     set version = excluded.version,
         active = excluded.active,
         previous = excluded.previous,
         candidate = excluded.candidate,
         percent = excluded.percent`;

const LOG = `
  insert into activation (project, pipeline, version, at, act, name, actor, reason, forced, was, became)
  values (:project, :pipeline, :version, :now, :act, :name, :actor, :reason, :forced, :was, :became)`;

const RETIRE = `
  update release
     set retired_at = :now
   where project = :project
     and pipeline = :pipeline
     and name = :name`;

// As the index says it.
const PINNED = `
  select substr(pipeline, :after) as release, count(*) as open
    from execution indexed by execution_pinned
   where project = :project
     and pipeline > :pipeline || char(31)
     and pipeline < :pipeline || char(32)
     and ended_at is null
     and instr(pipeline, char(31)) > 0
   group by pipeline
   order by pipeline`;

const ACTIVATIONS = `
  select project, pipeline, version, at, act, name, actor, reason, forced, was, became
    from activation
   where project = :project
     and pipeline = :pipeline
     and version < :before
   order by version desc
   limit :limit`;

export function changeLine(tx: Transaction, request: ChangeLine): LineChanged {
  const { project, pipeline, act } = request;
  const line = readLine(tx, request);
  const name = nameMeant(line, request) ?? '';
  const of = (each: string) => readRelease(tx, { project, pipeline, name: each });
  const open = act === 'retire' ? pinned(tx, request) : [];
  const view = {
    ...{ line, release: of(name), before: of(nameBefore(line) ?? '') },
    pinned: open.find(({ release }) => release === name)?.open ?? 0,
  };
  const decision = decideLine(view, request);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'no-change') return decision;
  const { line: after, forced } = decision;
  const entry = activationOf(request, { before: line, after, name, forced });
  tx.run(SAVE, { project, pipeline, ...fromLine(after) });
  tx.run(LOG, { ...entry, forced: forced ? 1 : 0, now: tx.now });
  if (act === 'retire') tx.run(RETIRE, { project, pipeline, name, now: tx.now });
  forgetLines(tx);
  return { kind: 'changed', line: after };
}

export function readLine(tx: ReadTransaction, { project, pipeline }: OfPipeline): Line {
  const row = tx.get<LineRow>(LINE, { project, pipeline });
  return row === undefined ? NO_LINE : toLine(row);
}

export function activations(tx: ReadTransaction, query: ListActivations): readonly Activation[] {
  const { project, pipeline, before = Number.MAX_SAFE_INTEGER, limit } = query;
  const rows = tx.all<ActivationRow>(ACTIVATIONS, { project, pipeline, before, limit });
  return rows.map(toActivation);
}

export function pinned(tx: ReadTransaction, { project, pipeline }: OfPipeline): readonly Pinned[] {
  // Text counts from one.
  const after = [...pipeline, ROUTE_MARK].length + 1;
  return tx.all<Pinned>(PINNED, { project, pipeline, after }).map((row) => ({ ...row }));
}
