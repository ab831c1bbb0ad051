// Compares the store with the model of executions: the reply to every write, the row that it leaves,
// and the replies to reads. Some writes follow from time alone and have no caller that waits for them.
// The model accepts one when it finds it in the store, if the rules allow it at that time.

import type { AnswerRequest } from '../../../src/features/awaits/decide.ts';
import type { FireSchedule } from '../../../src/features/schedules/port.ts';
import type { Claim, ClaimResult, Submit } from '../../../src/store/contract/execution-store.ts';
import {
  HOLD_BITS,
  PREVIOUS_CODES,
  SAGA_CODES,
  toStatus,
} from '../../../src/store/execution-rows.ts';
import type { StoreCall } from '../link.ts';
import { type Entry, isOver, type ModelExecution, timeOut } from '../model/execution.ts';
import { ExecutionsModel, type Expected, type State } from '../model/executions.ts';
import type { Checker, World } from '../world.ts';
import { judgeClaim } from './claims.ts';
import { differenceIn, judgeRead, type Knowledge } from './execution-reads.ts';

export function executionModel(world: World): Checker {
  return new ModelChecker(world);
}

/** The writes that the model knows, and the rule of their replies. */
/** Verbs that submit what a schedule is due, or what an operator triggers. */
const FIRES: ReadonlySet<string> = new Set([
  'executions.fireSchedule',
  'executions.triggerSchedule',
]);

const WRITES = {
  'executions.submit': ['submit', 'X-58'],
  'executions.redrive': ['redrive', 'Y-21'],
  'executions.record': ['record', 'X-51'],
  'executions.park': ['park', 'X-15'],
  'executions.giveBack': ['giveBack', 'X-15'],
  'executions.finish': ['finish', 'X-14'],
  'executions.cancel': ['cancel', 'X-17'],
  'executions.pause': ['pause', 'X-18'],
  'executions.resume': ['resume', 'X-75'],
  'executions.signal': ['signal', 'X-19'],
  'executions.messageChild': ['messageChild', 'X-125'],
  'executions.answer': ['answer', 'W-4'],
  'executions.erase': ['erase', 'F-13'],
} as const;

interface Row {
  readonly status: number;
  readonly hold: number;
  readonly readyAt: number | null;
  readonly deadlineAt: number | null;
  readonly endedAt: number | null;
  readonly wakeAfter: number;
  readonly fence: number | null;
  readonly session: string | null;
  readonly previous: number;
  readonly saga: number;
  readonly losses: number;
  readonly seq: number;
  readonly inboxCount: number;
  readonly key: string | null;
}

const ROW = `
  select status, hold, ready_at as readyAt, deadline_at as deadlineAt, ended_at as endedAt,
         wake_after as wakeAfter, fence, session_id as session, previous, saga, fruitless as losses,
         seq, news as inboxCount, key
    from execution
   where id = :id`;

const NEXT_EVENT = `
  select kind, body, at
    from history
   where row_id = (select row_id from execution where id = :id)
     and seq = :nth
     and fence is null`;

const NEXT_MESSAGE = 'select kind, name, body, at from inbox where execution_id = :id and n = :nth';

const REDRIVEN = 'select 1 from execution where id = :id and redrive_of is not null';

const REDRIVES = 'select id from execution where redrive_of = :of';

const PARENT_ENDED = '"reason":"parent-ended"';

class ModelChecker implements Checker {
  readonly name = 'execution model';
  readonly #world: World;
  readonly #model: ExecutionsModel;
  readonly #knowledge: Knowledge;
  #backup: State | undefined;
  /** The store differed from the model, so the model no longer knows them. */
  readonly #lost: Set<string> = new Set();
  #lastVerb = '';

  constructor(world: World) {
    this.#world = world;
    this.#model = new ExecutionsModel((execution) => this.#catchUp(execution));
    this.#knowledge = {
      ...{ model: this.#model, lost: this.#lost },
      isUnseen: (id) => this.#isUnseen(id),
      violate: (rule, id, text) => this.#violate(rule, id, text),
    };
  }

  handled(call: StoreCall): void {
    const { verb, reply } = call;
    if (!verb.startsWith('executions.')) return;
    this.#lastVerb = verb;
    if (verb === 'executions.claim') this.#claimed(call);
    else if (FIRES.has(verb)) this.#fired(call);
    else if (verb === 'executions.answerAll') this.#answeredAll(call);
    else if (verb in WRITES) this.#written(call, reply as Expected);
    else judgeRead(this.#knowledge, call);
  }

  /** After all calls of an event: their rows must be as the model has them. */
  settled(): void {
    const { touched } = this.#model;
    for (const id of touched) this.#compare(id);
    touched.clear();
  }

  backedUp(): void {
    this.#backup = this.#model.copy();
  }

  restored(): void {
    this.#model.restore(this.#backup);
  }

  async ended(): Promise<void> {
    for (const id of this.#model.executions.keys()) {
      this.#compare(id);
      this.#compareEntries(id);
    }
  }

  // Writes ---------------------------------------------------------------------------------------

  #written({ verb, request, reply, at }: StoreCall, given: Expected): void {
    const [name, rule] = WRITES[verb as keyof typeof WRITES];
    const { id = '', of = id } = request as { readonly id?: string; readonly of?: string };
    if (name === 'redrive' && this.#hasUnseenRedrive(of, given)) this.#lost.add(of);
    if (this.#lost.has(of)) return;
    const time = at ?? this.#submittedAt(reply);
    if (time === undefined) return;
    const when = { at: time, hasEnded: (session: string) => this.#hasEnded(session, time) };
    const expected = this.#model[name](request as never, when);
    const problem = differenceOf(expected, given);
    if (problem !== undefined) this.#violate(rule, of, `${name} ${problem}`);
    else if (expected['kind'] === 'parked') this.#mustHaveReceived(of);
  }

  /** In the order of the ids (W-16). */
  #answeredAll(call: StoreCall): void {
    const replies = call.reply as readonly Expected[];
    const requests = [...(call.request as readonly AnswerRequest[]).entries()];
    for (const [nth, request] of requests.sort(([, a], [, b]) => (a.id < b.id ? -1 : 1))) {
      this.#written({ ...call, verb: 'executions.answer', request }, replies[nth] ?? {});
    }
  }

  /** The code of this pipeline always asks for the next letter, so none is left when it parks. */
  #mustHaveReceived(id: string): void {
    const known = this.#model.executions.get(id);
    if (known?.submit.pipeline !== 'letters') return;
    const sent = known.inbox.filter(({ kind }) => kind === 'signal').length;
    const received = known.history.filter(
      ({ kind, fence }) => kind === 'signal-received' && fence !== undefined,
    ).length;
    if (received < sent)
      this.#violate('X-49', id, `it parked with ${sent - received} signals left`);
  }

  /** Re-drives run together, and only the first knows its transaction. */
  #submittedAt(reply: unknown): number | undefined {
    const { id } = reply as { readonly id?: string };
    const sql = 'select submitted_at as at from execution where id = :id';
    return id === undefined
      ? this.#world.host.clock.wallMs()
      : this.#world.disk.rows<{ at: number }>(sql, { id })[0]?.at;
  }

  #claimed({ request, reply, at = 0 }: StoreCall): void {
    const result = reply as ClaimResult;
    if (result.kind !== 'claimed') return;
    judgeClaim(
      this.#knowledge,
      { request: request as Claim, result },
      {
        at,
        hasEnded: (session) => this.#hasEnded(session, at),
        isPlain: (submit) => this.#isPlain(submit),
      },
    );
  }

  /** Not pinned to a release. */
  #isPlain({ id }: Submit): boolean {
    this.#catchUp(this.#model.executions.get(id) as ModelExecution);
    const sql = 'select pipeline, status, ready_at as readyAt from execution where id = :id';
    const [row] = this.#world.disk.rows<{
      pipeline: string;
      status: number;
      readyAt: number | null;
    }>(sql, { id });
    // Its row is compared later, if it has changed since.
    return row !== undefined && !row.pipeline.includes('\u001f') && row.readyAt !== null;
  }

  #fired({ request, reply, at = 0 }: StoreCall): void {
    const { id, submits, cancel } = request as FireSchedule;
    if ((reply as Expected)['kind'] !== 'fired') return;
    if (cancel !== undefined) this.#cancelledBy(`schedule:${id}`, cancel.body, at);
    this.#model.submitAll(submits, at);
  }

  /** The last execution of a schedule, if its next one cancels it. */
  #cancelledBy(place: string, body: string, at: number): void {
    for (const known of this.#model.executions.values()) {
      const { submit, history, inbox } = known;
      const { id, project, concurrency } = submit;
      if (isOver(known) || concurrency?.key !== place) continue;
      const [event] = this.#world.disk.rows<Entry>(NEXT_EVENT, { id, nth: history.length + 1 });
      const [sent] = this.#world.disk.rows<Entry>(NEXT_MESSAGE, { id, nth: inbox.length + 1 });
      const isCancelled =
        (event?.kind === 'cancelled' && event.body === body) ||
        (sent?.kind === 'cancel' && sent.body === body);
      const when = { at, hasEnded: (session: string) => this.#hasEnded(session, at) };
      if (isCancelled) this.#model.cancel({ id, project, body } as never, when);
    }
  }

  /** Its reply was lost, so the model did not learn of it. The reply that is judged may be its own. */
  #hasUnseenRedrive(of: string, { id, existing }: Expected): boolean {
    const own = existing === true ? '' : id;
    const rows = this.#world.disk.rows<{ id: string }>(REDRIVES, { of });
    return rows.some((row) => row.id !== own && this.#isUnseen(row.id));
  }

  /** Re-drives run together. If the reply was lost, the model learns only of the first. */
  #isUnseen(id: string): boolean {
    if (this.#model.executions.has(id)) return false;
    const isRedrive = this.#world.disk.rows(REDRIVEN, { id }).length > 0;
    if (isRedrive) this.#lost.add(id);
    return isRedrive;
  }

  // Effects of time -----------------------------------------------------------------------

  #catchUp(known: ModelExecution): void {
    while (this.#mayChange(known) && (this.#nextEvent(known) || this.#nextMessage(known)));
  }

  #mayChange(known: ModelExecution): boolean {
    if (isOver(known)) return false;
    if (known.deadlineAt !== undefined || this.#isOrphan(known)) return true;
    for (const { status, dueAt } of known.units.values()) {
      if (status === 'open' && dueAt !== undefined) return true;
    }
    return false;
  }

  #isOrphan({ submit: { parent } }: ModelExecution): boolean {
    const found = parent && this.#model.executions.get(parent.id);
    return found !== undefined && isOver(found);
  }

  /** A passed deadline, or the end of the parent. */
  #nextEvent(known: ModelExecution): boolean {
    const { submit, history, deadlineAt } = known;
    const given = { id: submit.id, nth: history.length + 1 };
    const [event] = this.#world.disk.rows<Entry & { at: number }>(NEXT_EVENT, given);
    if (event === undefined) return false;
    const { body = '', at } = event;
    if (body.includes('deadline-passed')) {
      if (deadlineAt === undefined || deadlineAt > at) {
        this.#violate(
          'X-76',
          submit.id,
          `it was ended at ${at}, before its deadline ${deadlineAt}`,
        );
      }
      this.#model.overdue(known, at);
      return true;
    }
    if (!body.includes(PARENT_ENDED) || !this.#isOrphan(known)) return false;
    return this.#model.orphaned(known, { body: askedIn(body), at });
  }

  /** The time of a question, or the end of the parent. */
  #nextMessage(known: ModelExecution): boolean {
    const { submit, inbox, units } = known;
    const given = { id: submit.id, nth: inbox.length + 1 };
    const [message] = this.#world.disk.rows<Entry & { at: number }>(NEXT_MESSAGE, given);
    if (message === undefined) return false;
    const { kind, name = '', body = '', at } = message;
    if (kind === 'cancel' && body.includes(PARENT_ENDED) && this.#isOrphan(known)) {
      return this.#model.orphaned(known, { body, at });
    }
    const unit = units.get(name);
    if (kind !== 'await-settled' || unit?.status !== 'open') return false;
    if (unit.dueAt === undefined || unit.dueAt > at || !body.includes('timed-out')) return false;
    timeOut(known, unit, at);
    return true;
  }

  // Rows -----------------------------------------------------------------------------------------

  #compare(id: string): void {
    const known = this.#model.executions.get(id);
    if (known === undefined || this.#lost.has(id)) return;
    this.#catchUp(known);
    const [row] = this.#world.disk.rows<Row>(ROW, { id });
    if (row === undefined) {
      this.#violate('P3', id, 'its row is missing');
      return;
    }
    const [stored, own] = [seenRow(row, known), rowOf(known)];
    const wrong = Object.keys(own).filter((part) => stored[part] !== own[part]);
    if (wrong.length === 0) return;
    const text = wrong.map((part) => `${part} ${stored[part]} instead of ${own[part]}`).join(', ');
    this.#violate('X-4', id, `its row has ${text}, after ${this.#lastVerb}`);
  }

  /** Every event and every message, in order. */
  #compareEntries(id: string): void {
    const known = this.#model.executions.get(id);
    if (known === undefined || this.#lost.has(id)) return;
    const { disk } = this.#world;
    const events = disk.rows<Entry>(
      `select kind, name, body, fence from history
        where row_id = (select row_id from execution where id = :id) order by seq`,
      { id },
    );
    const messages = disk.rows<Entry>(
      'select kind, name, body from inbox where execution_id = :id order by n',
      { id },
    );
    const wrong = differenceIn(known.history, events, known.isErased);
    if (wrong !== undefined) this.#violate('X-4', id, `its history has ${wrong}`);
    const missed = differenceIn(known.inbox, messages, known.isErased);
    if (missed !== undefined) this.#violate('X-5', id, `its inbox has ${missed}`);
  }

  /** Sessions end in transactions that no checker sees, so the row decides. */
  #hasEnded(session: string, at: number): boolean {
    const sql = 'select ended_at as ended from session where id = :session';
    const [row] = this.#world.disk.rows<{ ended: number | null }>(sql, { session });
    return row === undefined || (row.ended !== null && row.ended <= at);
  }

  #violate(rule: string, id: string, text: string): void {
    this.#lost.add(id);
    this.#world.violate(rule, `Execution ${id}: ${text}.`);
  }
}

/** The body of a turn back has the request inside. */
function askedIn(body: string): string {
  const { asked } = JSON.parse(body) as { readonly asked?: object };
  return asked === undefined ? body : JSON.stringify(asked);
}

function differenceOf(expected: Expected, reply: Expected): string | undefined {
  if (expected['kind'] === 'replayed') {
    return reply['kind'] === 'refused'
      ? `was refused (${reply['why']}), and it was a replay`
      : undefined;
  }
  const wrong = Object.keys(expected).filter((part) => reply[part] !== expected[part]);
  const text = (from: Expected): string => wrong.map((part) => `${part} ${from[part]}`).join(', ');
  return wrong.length === 0 ? undefined : `returned ${text(reply)}, not ${text(expected)}`;
}

type Comparable = Readonly<Record<string, unknown>>;

function isKeyed({ submit }: ModelExecution): boolean {
  return submit.concurrency !== undefined || submit.rate !== undefined;
}

/** Limits hold executions back and move their times; other checkers judge that. */
function seenRow(row: Row, known: ModelExecution): Comparable {
  const { status, hold, readyAt, seq } = row;
  const limited = isKeyed(known) ? HOLD_BITS['concurrency-limit'] : 0;
  return {
    ...row,
    status: toStatus(status),
    hold: hold & ~limited,
    ...(isKeyed(known) && { readyAt: readyAt === null ? null : 'some' }),
    seq: known.status === 'running' ? known.claimedSeq : seq,
  };
}

function rowOf(known: ModelExecution): Comparable {
  const { status, isPaused, isBlocked, readyAt, previous, saga, history, inbox } = known;
  const { deadlineAt = null, endedAt = null, wakeAfter, fence = null, losses, key = null } = known;
  return {
    ...{ status, deadlineAt, endedAt, wakeAfter, fence, losses, key },
    hold: (isPaused ? HOLD_BITS.paused : 0) + (isBlocked ? HOLD_BITS.blocked : 0),
    readyAt: readyAt === undefined ? null : isKeyed(known) ? 'some' : readyAt,
    session: known.session ?? null,
    previous: PREVIOUS_CODES[previous],
    saga: SAGA_CODES[saga],
    seq: status === 'running' ? known.claimedSeq : history.length,
    inboxCount: inbox.length,
  };
}
