// Judges the histories at the end of a run, when all faults are over and everyone has finished.

import { type ExecutionRecord, TERMINAL } from '../../../src/execution/execution.ts';
import { type HistoryEvent, parseBody } from '../../../src/execution/history.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import { AWAIT_CODES, INTERACTION_CODES } from '../../../src/features/awaits/rows.ts';
import { PARTS } from '../../../src/features/reconcile/model.ts';
import { formatInstant } from '../../../src/support/clock.ts';
import type { Ledger } from '../ledger.ts';
import { RECIPES } from '../workloads/pipelines.ts';
import type { World } from '../world.ts';
import type { Submissions, Submitted } from './executions.ts';

interface Evidence {
  readonly ledger: Ledger;
  readonly submissions: Submissions;
  /** What the store has acknowledged of each execution. */
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
  ['P5', receivedOnce],
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

/** Letters have different values. A value that comes twice was delivered twice. */
function receivedOnce({ execution, history }: Case): string | undefined {
  if (execution.pipeline !== 'letters') return undefined;
  const values = history
    .filter(({ kind }) => kind === 'signal-received')
    .map(({ body }) => body ?? '');
  // A re-driven execution has letters of two inboxes, so their numbers can be equal.
  const letters = values.map((body) => {
    const { key, n, ...letter } = parseBody<Record<string, unknown>>(body);
    return JSON.stringify(letter);
  });
  return new Set(letters).size === letters.length ? undefined : 'received a signal twice';
}

async function judgeOutcome(
  world: World,
  { id, pipeline, input, wasDisturbed }: Submitted,
): Promise<void> {
  const { executions } = world.reader;
  const execution = await executions.read(id as ExecutionId);
  if (execution === undefined) {
    return world.violate('P3', `Execution ${id} (${pipeline}) was acknowledged and is lost.`);
  }
  const expected = RECIPES[pipeline]?.expected(input);
  const { status } = execution;
  if (expected === undefined || !TERMINAL.has(status)) return;
  const mayBe = wasDisturbed
    ? [...expected.statuses, 'cancelled', 'compensated']
    : expected.statuses;
  if (!mayBe.includes(status)) {
    world.violate(
      'X-14',
      `Execution ${id} (${pipeline}) ended as ${status}, not as ${expected.statuses.join(' or ')}.`,
    );
  }
  if (status !== 'completed' || expected.output === undefined) return;
  const [outcome] = await executions.outcomes([id as ExecutionId]);
  const { out } = parseBody<{ out: { v: unknown } }>(outcome?.event.body);
  const text = JSON.stringify(out?.v);
  if (text !== JSON.stringify(expected.output)) {
    world.violate(
      'X-48',
      `Execution ${id} (${pipeline}) returned ${text}, not ${JSON.stringify(expected.output)}.`,
    );
  }
}

/** The invariants between rows, which Holdfast checks in production too. */
async function judgeRows(world: World): Promise<void> {
  for (const part of PARTS) {
    const { found } = await world.reader.executions.reconcile({ part, limit: 1_000, dryRun: true });
    for (const finding of found) world.violate('Z-1', `${JSON.stringify(finding)}`);
  }
}
