// Seals a store. Each store adds its own triggers, which refuse later writes (EX-2, EX-3).

import {
  GIVEN_BACK_BY_SEAL,
  OWES_COMPENSATION,
  type Seal,
  sealCause,
} from '../../features/export/model.ts';
import type { SealRequest, SealResult } from '../../features/export/port.ts';
import type { Instant } from '../../support/clock.ts';
import { PREVIOUS_CODES, SAGA_CODES, STATUS_CODES } from '../execution-rows.ts';
import { all, type Dialects, one, type Script, sql, sqlPerDialect } from './script.ts';

const READ = sql('select sealed from hf.meta where id = 1');

const KEEP = sql('update hf.meta set sealed = :sealed where id = 1');

const HELD_UNTIL = sql(`
  select hf_now() as now, max(expires_at) as until
    from hf.session
   where ended_at is null`);

interface Words {
  readonly execution: string;
  readonly id: string;
  readonly path: string;
  readonly within: string;
  readonly detail: string;
}

const WORDS: Dialects<Words> = {
  sqlite: {
    execution: 'row_id',
    id: 'row_id',
    path: 'json_each(h.path) as p',
    within: 'instr',
    detail: 'json_object',
  },
  postgres: {
    execution: 'execution_id',
    id: 'id',
    path: 'unnest(h.path) as p(value)',
    within: 'strpos',
    detail: 'jsonb_build_object',
  },
};

// Executions whose session, and all its ancestors, are alive (EX-3). The others are already lost
// and stay so.
const held = ({ path }: Words): string => `
         e.status = ${STATUS_CODES.running}
     and exists (select 1 from hf.session as h where h.id = e.session_id)
     and not exists (
           select 1
             from hf.session as h
            cross join ${path}
             left join hf.session as a on a.id = p.value
            where h.id = e.session_id
              and (a.id is null or a.ended_at is not null))`;

const lastSeq = ({ execution, id }: Words): string =>
  `(select max(l.seq) from hf.history as l where l.${execution} = e.${id})`;

const RECORD_GIVEN_BACK = sqlPerDialect(
  WORDS,
  (words) => `
  insert into hf.history (${words.execution}, seq, at, kind, body)
  select e.${words.id}, ${lastSeq(words)} + 1, :at, :kind, :body
    from hf.execution as e
   where ${held(words)}`,
);

const GIVE_BACK = sqlPerDialect(
  WORDS,
  (words) => `
  update hf.execution as e
     set status     = ${STATUS_CODES.queued},
         session_id = null,
         ready_at   = :at,
         wake_after = 0,
         previous   = ${PREVIOUS_CODES['given-back']},
         seq        = ${lastSeq(words)},
         saga       = case when e.saga = ${SAGA_CODES.none} and exists (
                             select 1 from hf.history as d
                              where d.${words.execution} = e.${words.id} and ${words.within}(d.body, :owes) > 0)
                           then ${SAGA_CODES.compensable} else e.saga end
   where ${held(words)}`,
);

const RECORD_ENDED = sqlPerDialect(
  WORDS,
  ({ detail }) => `
  insert into hf.event (at, kind, session_id, owner, detail)
  select :at, 'session-ended', s.id, s.owner, ${detail}('exit', 'revoked', 'cause', :cause::text, 'actor', :actor::text)
    from hf.session as s
   where s.ended_at is null
   order by s.id`,
);

const END_ALL = sql(`
  update hf.session
     set ended_at = :at,
         exit     = 'revoked',
         cause    = :cause,
         actor    = :actor
   where ended_at is null`);

export function* readSeal(): Script<Seal | undefined> {
  const sealed = (yield* one<{ sealed: string | null }>(READ))?.sealed ?? null;
  return sealed === null ? undefined : (JSON.parse(sealed) as Seal);
}

/**
 * The caller holds the write lock, or locks on all tables. Other writes commit before the seal, or
 * are refused.
 */
export function* seal({ id, actor, reason, to }: SealRequest): Script<SealResult> {
  const known = yield* readSeal();
  if (known !== undefined) return { kind: 'already', seal: known };
  const row = yield* one<{ now: Instant; until: Instant | null }>(HELD_UNTIL);
  const at = row?.now ?? (0 as Instant);
  const heldUntil = Math.max(at, row?.until ?? 0) as Instant;
  const made: Seal = { id, at, actor, reason, to, heldUntil };
  const cause = sealCause(made);
  yield* all(RECORD_GIVEN_BACK, { at, ...GIVEN_BACK_BY_SEAL });
  yield* all(GIVE_BACK, { at, owes: OWES_COMPENSATION });
  yield* all(RECORD_ENDED, { at, cause, actor });
  yield* all(END_ALL, { at, cause, actor });
  yield* all(KEEP, { sealed: JSON.stringify(made) });
  return { kind: 'sealed', seal: made };
}

export function* forgetSeal(): Script<void> {
  yield* all(KEEP, { sealed: null });
}
