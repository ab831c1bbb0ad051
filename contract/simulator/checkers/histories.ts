// Judges the histories at the end of a run, when all faults are over and all actors have finished.

import { type ExecutionRecord, TERMINAL } from '../../../src/execution/execution.ts';
import { type HistoryEvent, parseBody } from '../../../src/execution/history.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import { AWAIT_CODES, INTERACTION_CODES } from '../../../src/features/awaits/rows.ts';
import { PARTS } from '../../../src/features/reconcile/model.ts';
import { formatInstant } from '../../../src/support/clock.ts';
import { digestOf } from '../../../src/support/digest.ts';
import type { Ledger } from '../ledger.ts';
import { RECIPES } from '../workloads/pipelines.ts';
import type { World } from '../world.ts';
import type { Submissions, Submitted } from './executions.ts';

interface Evidence {
  readonly ledger: Ledger;
  readonly submissions: Submissions;
  /** The writes of each execution that the store has acknowledged. */
  readonly acknowledged: ReadonlyMap<
    string,
    { readonly seq: number; readonly end: string | undefined }
  >;
}

interface Case extends Evidence {
  readonly world: World;
  readonly execution: ExecutionRecord;
  readonly history: readonly HistoryEvent[];
}

/** One rule about one execution. Returns the problem, if there is one. */
type Rule = (given: Case) => string | undefined;

const RULES: readonly (readonly [string, Rule])[] = [
  [
    'X-10',
    ({ history }) =>
      history[0]?.kind === 'submitted' ? undefined : 'does not begin with submitted',
  ],
  ['X-4', gaps],
  ['P1', fencesInOrder],
  ['X-2', oneEnd],
  ['P3', acknowledgedIsKept],
  ['P5', ended],
  ['X-4', oneResultPerCall],
  ['Y-4', undoneInReverse],
  ['Y-5', everythingUndone],
  ['X-49', receivedInOrder],
  ['X-15', sleptEnough],
  ['X-20', keptDeadline],
  ['W-3', gotTheAnswer],
  ['Y-20', reusedSteps],
];

export async function judgeHistories(world: World, evidence: Evidence): Promise<void> {
  const { executions } = world.reader;
  const ids = world.disk
    .rows<{ id: ExecutionId }>('select id from execution order by id')
    .map(({ id }) => id);
  for (const execution of await executions.readMany(ids)) {
    const history = await executions.history({ id: execution.id, after: 0, limit: 10_000 });
    const given: Case = { world, execution, history, ...evidence };
    for (const [rule, judge] of RULES) {
      const problem = judge(given);
      if (problem !== undefined) {
        world.violate(
          rule,
          `Execution ${execution.id} (${execution.pipeline}, ${execution.status}): ${problem}.`,
        );
      }
    }
  }
  for (const submitted of evidence.submissions.known.values()) await judgeOutcome(world, submitted);
  judgeMessages(world);
  judgeAwaits(world);
  await judgeRows(world);
}

/** An execution that has ended gets no more messages. */
function judgeMessages(world: World): void {
  const late = world.disk.rows<{ id: string; kind: string }>(
    `select e.id, i.kind from inbox as i join execution as e on e.id = i.execution_id
      where e.ended_at < i.at`,
  );
  for (const { id, kind } of late) {
    world.violate('X-2', `Execution ${id} had ended and got the message ${kind}.`);
  }
}

/** A unit counts the answers that its interactions have, and with enough of them it stays answered. */
function judgeAwaits(world: World): void {
  const wrong = world.disk.rows<{ id: string; call: string; answered: number; kept: number }>(
    `select u.execution_id as id, u.call, u.answered, count(i.id) as kept, u.status, u.needed
       from await_unit as u
       left join interaction as i on i.execution_id = u.execution_id and i.call = u.call
                                 and i.status = ${INTERACTION_CODES.answered}
                                 and i.answer is not null
      group by u.execution_id, u.call
     having u.answered <> kept
         or (u.answered >= u.needed) <> (u.status = ${AWAIT_CODES.answered})`,
  );
  for (const { id, call, answered, kept } of wrong) {
    world.violate('W-9', `Execution ${id}: ${call} counts ${answered} answers and has ${kept}.`);
  }
  const left = world.disk.rows<{ id: string; call: string }>(
    `select i.execution_id as id, i.call
       from interaction as i
       join execution as e on e.id = i.execution_id and e.ended_at is not null
      where i.status in (${INTERACTION_CODES.open}, ${INTERACTION_CODES.early}, ${INTERACTION_CODES.queued})`,
  );
  for (const { id, call } of left) {
    world.violate('W-9', `Execution ${id} has ended, and its question ${call} is not closed.`);
  }
}

function gaps({ history, execution }: Case): string | undefined {
  const at = history.findIndex((event, index) => event.seq !== index + 1);
  if (at >= 0) return `event ${at + 1} is missing`;
  return execution.seq === history.length || execution.status === 'running'
    ? undefined
    : `its row counts ${execution.seq} events, its history has ${history.length}`;
}

/** Every event of an owner has the fence of the newest claim before it, and claims have rising fences. */
function fencesInOrder({ history }: Case): string | undefined {
  let newest = 0;
  for (const { kind, fence, seq } of history) {
    if (fence === undefined) continue;
    if (kind === 'claimed') {
      if (fence <= newest) return `claim ${seq} has fence ${fence} after ${newest}`;
      newest = fence;
    } else if (fence !== newest)
      return `event ${seq} has fence ${fence}, and the claim before it ${newest}`;
  }
  return undefined;
}

const ENDS: ReadonlySet<string> = new Set([
  'completed',
  'failed',
  'cancelled',
  'quarantined',
  'compensated',
]);

function oneEnd({ history, execution }: Case): string | undefined {
  const ends = history.filter(({ kind }) => ENDS.has(kind));
  if (!TERMINAL.has(execution.status))
    return ends.length === 0 ? undefined : 'is open and has an end';
  if (ends.length !== 1 || ends[0] !== history.at(-1)) return `has ${ends.length} ends`;
  return ends[0]?.kind === execution.status ? undefined : `its history ended as ${ends[0]?.kind}`;
}

function acknowledgedIsKept({ execution, history, acknowledged }: Case): string | undefined {
  const { seq = 0, end } = acknowledged.get(execution.id) ?? {};
  if (history.length < seq) return `event ${seq} was acknowledged and is lost`;
  return end === undefined || end === execution.status
    ? undefined
    : `its end as ${end} was acknowledged`;
}

function ended({ execution }: Case): string | undefined {
  if (TERMINAL.has(execution.status)) return undefined;
  const { holds, readyAt, wakeAfter, inboxCount } = execution;
  const ready = readyAt === undefined ? 'never' : formatInstant(readyAt);
  return `has not ended: holds [${holds.join(', ')}], ready ${ready}, waits for ${wakeAfter} children, ${inboxCount} messages`;
}

/** A step, a timer, a child or a signal has one result in each era. */
function oneResultPerCall({ history }: Case): string | undefined {
  let seen = new Set<string>();
  for (const { kind, body, seq } of history) {
    if (kind === 'checkpointed') seen = new Set();
    if (!['step-completed', 'timer-fired', 'child-ended', 'await-settled'].includes(kind)) continue;
    const { key, child } = parseBody<{ key: string; child: string }>(body);
    const call = `${kind} ${key} ${child ?? ''}`;
    if (seen.has(call)) return `event ${seq} is a second result of ${call}`;
    seen.add(call);
  }
  return undefined;
}

const UNDO = 'undo:';

function completedSteps(history: readonly HistoryEvent[]): readonly string[] {
  return history
    .filter(({ kind }) => kind === 'step-completed')
    .map(({ body }) => parseBody<{ key: string }>(body).key ?? '');
}

function undoneInReverse({ execution, history }: Case): string | undefined {
  if (execution.pipeline !== 'saga') return undefined;
  const steps = completedSteps(history);
  const done = registered(history);
  const undone = steps.filter((key) => key.startsWith(UNDO)).map((key) => key.slice(UNDO.length));
  const expected = done.toReversed().slice(0, undone.length);
  return expected.join() === undone.join()
    ? undefined
    : `undid ${undone.join()}, and did ${done.join()}`;
}

/** Steps with a compensation: those that completed, and those that may have had their effect (Y-1). */
function registered(history: readonly HistoryEvent[]): readonly string[] {
  return history
    .filter(({ kind }) => kind === 'step-completed' || kind === 'step-failed')
    .map(({ body }) => parseBody<{ key: string; saga: boolean }>(body))
    .filter(({ saga }) => saga === true)
    .map(({ key }) => key ?? '');
}

function everythingUndone({ execution, history }: Case): string | undefined {
  if (execution.status !== 'compensated') return undefined;
  const steps = completedSteps(history);
  const left = registered(history).filter((key) => !steps.includes(`${UNDO}${key}`));
  return left.length === 0 ? undefined : `did not undo ${left.join()}`;
}

/** Code gets the signals of a name in the order in which they came, each once, with its own value. */
function receivedInOrder({ world, execution, history }: Case): string | undefined {
  const received = history
    .filter(({ kind }) => kind === 'signal-received')
    .map(({ body }) => parseBody<{ n: number; out: unknown }>(body))
    // A re-drive reuses what its predecessor got, without the numbers.
    .filter(({ n }) => n !== undefined);
  if (received.length === 0) return undefined;
  const sent = world.disk.rows<{ n: number; body: string }>(
    "select n, body from inbox where execution_id = :id and kind = 'signal' order by n",
    { id: execution.id },
  );
  const at = received.findIndex(({ n, out }, index) => {
    const { n: expected, body } = sent[index] ?? {};
    const value = JSON.stringify(parseBody<{ out: unknown }>(body).out);
    return n !== expected || JSON.stringify(out) !== value;
  });
  if (at < 0) return undefined;
  return `receive ${at + 1} got message ${received[at]?.n}, and message ${sent[at]?.n} was next`;
}

/** Clocks of workers differ by their drift. */
const EARLY_MS = 5;

/** A sleep lasts as long as the code asked for, counted from the event before it. */
function sleptEnough({ world, history }: Case): string | undefined {
  if (!world.isContinuous) return undefined;
  const due = new Map<string, number>();
  let beforeAt = 0;
  for (const { kind, body, at, fence } of history) {
    const {
      key = '',
      ms,
      until,
    } = parseBody<{ key: string; ms: number; until: number }>(
      kind === 'timer-set' || kind === 'timer-fired' ? body : undefined,
    );
    if (kind === 'timer-set') due.set(key, until ?? beforeAt + (ms ?? 0));
    const dueAt = due.get(key);
    // A re-drive reuses sleeps that its predecessor has slept.
    const isReused = fence === undefined;
    if (kind === 'timer-fired' && !isReused && dueAt !== undefined && at < dueAt - EARLY_MS) {
      return `${key} ended ${dueAt - at} ms early`;
    }
    if (kind !== 'timer-set') beforeAt = at;
  }
  return undefined;
}

/** An end by the deadline is not before it, and nothing completes long after it. */
function keptDeadline({ world, execution, history }: Case): string | undefined {
  const { deadlineAt, endedAt, status } = execution;
  if (deadlineAt === undefined || endedAt === undefined || !world.isSteady) return undefined;
  const isByDeadline = history.at(-1)?.body?.includes('deadline-passed') === true;
  if (isByDeadline && endedAt < deadlineAt - EARLY_MS) {
    return `ended ${deadlineAt - endedAt} ms before its deadline, because of it`;
  }
  const begun = history.findLast(({ kind }) => kind === 'claimed')?.at ?? 0;
  return status === 'completed' && begun > deadlineAt
    ? `was claimed ${begun - deadlineAt} ms after its deadline, and completed`
    : undefined;
}

/** The outcome that the code returns is that of its question (W-3, W-4). */
function gotTheAnswer({ world, execution, history }: Case): string | undefined {
  if (execution.pipeline !== 'question' || execution.status !== 'completed') return undefined;
  // Its values are gone, and the model compares their digests.
  if (execution.erased !== undefined) return undefined;
  const [unit] = world.disk.rows<{ status: number; answer: string | null }>(
    `select u.status, i.answer from await_unit as u
       left join interaction as i on i.execution_id = u.execution_id and i.call = u.call
      where u.execution_id = :id`,
    { id: execution.id },
  );
  // A re-drive reuses the outcome of its predecessor.
  if (unit === undefined) return undefined;
  const { out } = parseBody<{ out: { v: unknown } }>(history.at(-1)?.body);
  const isAnswered = unit.status === AWAIT_CODES.answered;
  const expected = isAnswered ? (JSON.parse(unit.answer ?? '{}') as { v: unknown }).v : 'timed-out';
  return out?.v === expected ? undefined : `returned ${out?.v}, and its question had ${expected}`;
}

/** A re-drive runs no step again that its predecessor completed. */
function reusedSteps({ world, execution, history }: Case): string | undefined {
  const { redriveOf: of } = execution;
  if (of === undefined) return undefined;
  const done = world.disk.rows<{ name: string }>(
    `select name from history
      where row_id = (select row_id from execution where id = :of) and kind = 'step-completed'
        and body not like '%"undo:%'`,
    { of },
  );
  const reused = history.filter(({ fence }) => fence === undefined).map(({ name }) => name);
  const left = done.find(({ name }) => !reused.includes(name));
  return left === undefined ? undefined : `re-drives ${of} without its step ${left.name}`;
}

async function judgeOutcome(
  world: World,
  { id, pipeline, input, options, wasDisturbed }: Submitted,
): Promise<void> {
  const { executions } = world.reader;
  const execution = await executions.read(id as ExecutionId);
  if (execution === undefined) {
    return world.violate('P3', `Execution ${id} (${pipeline}) was acknowledged and is lost.`);
  }
  const expected = RECIPES[pipeline]?.expected(input);
  const { status } = execution;
  if (expected === undefined || !TERMINAL.has(status)) return;
  const mayFail = options.deadlineMs !== undefined || (wasDisturbed && pipeline === 'family');
  const mayBe = [
    ...expected.statuses,
    ...(wasDisturbed ? ['cancelled', 'compensated'] : []),
    ...(mayFail ? ['failed'] : []),
  ];
  if (!mayBe.includes(status)) {
    world.violate(
      'X-14',
      `Execution ${id} (${pipeline}) ended as ${status}, not as ${expected.statuses.join(' or ')}.`,
    );
  }
  if (status !== 'completed' || expected.output === undefined) return;
  const [outcome] = await executions.outcomes([id as ExecutionId]);
  const { out } = parseBody<{ out: { v: unknown; ref: string } }>(outcome?.event.body);
  const output = JSON.stringify(expected.output);
  if (execution.erased !== undefined) {
    if (out?.ref === digestOf(Buffer.from(output)) && out.v === undefined) return;
    return world.violate('F-13', `Execution ${id} kept ${JSON.stringify(out)} of ${output}.`);
  }
  const text = JSON.stringify(out?.v);
  if (text !== output) {
    world.violate('X-48', `Execution ${id} (${pipeline}) returned ${text}, not ${output}.`);
  }
}

/** The invariants between rows, which Holdfast checks in production too. */
async function judgeRows(world: World): Promise<void> {
  for (const part of PARTS) {
    const { found } = await world.reader.executions.reconcile({ part, limit: 1_000, dryRun: true });
    for (const finding of found) world.violate('Z-1', `${JSON.stringify(finding)}`);
  }
}
