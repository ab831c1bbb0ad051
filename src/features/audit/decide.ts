// The audit record of an operation's change (J-2, J-4). Pure: the store has the operation's view
// and decision at hand, and writes the record in the same transaction.

import type { CommandDecision } from '../../execution/decide/command.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import type {
  AnswerDecision,
  AnswerView,
  AwaitChange,
  AwaitCommandDecision,
} from '../awaits/decide.ts';
import type { AwaitUnit, Interaction } from '../awaits/model.ts';
import type { ReleaseKey, Rollout } from '../releases/model.ts';
import type { RedriveDecision } from '../repair/decide.ts';
import type { Schedule } from '../schedules/model.ts';
import type { Template } from '../templates/model.ts';
import type {
  AuditAction,
  Audited,
  AuditFacts,
  AuditRecord,
  AuditStamp,
  AuditTarget,
} from './model.ts';

export interface Changed {
  readonly project: ProjectName;
  readonly target: AuditTarget;
  readonly before?: AuditFacts;
  readonly after?: AuditFacts;
}

/** Undefined if there is nothing to write: no actor is given, or nothing changed (J-2). */
export function auditOf(
  { audit }: Audited,
  changed: Changed | undefined,
  at: Instant,
): AuditRecord | undefined {
  if (audit === undefined || changed === undefined) return undefined;
  const { project, target, before, after } = changed;
  if (JSON.stringify(before) === JSON.stringify(after)) return undefined;
  const { id, action, actor, reason, about } = audit;
  return {
    ...{ id, at, project, actor, action, target, reason },
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after: { ...after, ...about } }),
  };
}

/** A note changes nothing of the execution (J-5). */
export function noteRecord(
  audit: AuditStamp,
  { project, id }: Pick<ExecutionRecord, 'project' | 'id'>,
  at: Instant,
): AuditRecord {
  const action: AuditAction = 'note';
  const { actor, reason } = audit;
  return { id: audit.id, at, project, actor, action, target: { kind: 'execution', id }, reason };
}

/** `after` has the requested change (J-9). */
export function changedByOperation({
  project,
  target,
}: Pick<Changed, 'project' | 'target'>): Changed {
  return { project, target, after: {} };
}

/** For a running execution, the record has the request, because its owner carries it out. */
export function changedByCommand(
  before: ExecutionRecord | undefined,
  decision: CommandDecision,
): Changed | undefined {
  if (before === undefined || decision.kind === 'refuse' || decision.kind === 'no-change') {
    return undefined;
  }
  const after = factsOf(decision.execution);
  return {
    ...ofExecution(before),
    before: factsOf(before),
    after: decision.kind === 'pass-on' ? { ...after, asked: decision.message.kind } : after,
  };
}

/** The record has no values: neither those that went nor their digests. */
export function changedByErasure({
  id,
  project,
}: Pick<ExecutionRecord, 'id' | 'project'>): Changed {
  const target: AuditTarget = { kind: 'execution', id };
  return { project, target, before: { erased: false }, after: { erased: true } };
}

export function changedByRedrive(
  of: ExecutionRecord | undefined,
  decision: RedriveDecision,
): Changed | undefined {
  if (of === undefined || decision.kind !== 'insert') return undefined;
  const { status } = of;
  const after = { status, redrivenBy: decision.execution.id };
  return { ...ofExecution(of), before: { status }, after };
}

/** A repin to another release. */
export function changedByRepin(before: ExecutionRecord, after: ExecutionRecord): Changed {
  const facts = ({ release, holds }: ExecutionRecord): AuditFacts => ({
    release: release ?? null,
    holds,
  });
  return { ...ofExecution(before), before: facts(before), after: facts(after) };
}

/** The target is the pipeline; `after` also has the release that the operation was about. */
export function changedByRollout(
  { project, pipeline }: Pick<ReleaseKey, 'project' | 'pipeline'>,
  made: { readonly before: Rollout; readonly after: Rollout; readonly name: string },
): Changed {
  const { version: _, ...before } = made.before;
  const { version: __, ...after } = made.after;
  const target: AuditTarget = { kind: 'rollout', id: pipeline };
  return { project, target, before, after: { ...after, release: made.name } };
}

/** The start of a job. */
export function changedBySubmit(submitted: Pick<ExecutionRecord, 'id' | 'project'>): Changed {
  return { ...ofExecution(submitted), after: { status: 'queued' } };
}

type AwaitView = Pick<AnswerView, 'unit' | 'interaction'>;

export function changedByAwaitCommand(
  view: AwaitView,
  decision: AwaitCommandDecision,
): Changed | undefined {
  return decision.kind === 'refuse' ? undefined : changedAwait(view, decision.change);
}

/** A late answer changes nothing, so it has no record. */
export function changedByAnswer(view: AwaitView, decision: AnswerDecision): Changed | undefined {
  if (decision.kind === 'apply') return changedAwait(view, decision.change);
  if (decision.kind !== 'keep-early') return undefined;
  const { project, id, status } = decision.interaction;
  return { project, target: { kind: 'interaction', id }, after: { status } };
}

function changedAwait(
  { unit, interaction }: AwaitView,
  { unit: settled, interactions, closesOthers }: AwaitChange,
): Changed | undefined {
  if (unit === undefined || interaction === undefined) return undefined;
  const { project, id } = interaction;
  const closed: Interaction =
    closesOthers && interaction.status === 'open'
      ? { ...interaction, status: 'closed' }
      : interaction;
  const changed = interactions.find((each) => each.id === id) ?? closed;
  return {
    project,
    target: { kind: 'interaction', id },
    before: awaitFacts(unit, interaction),
    after: awaitFacts(settled, changed),
  };
}

function awaitFacts(unit: AwaitUnit, interaction: Interaction): AuditFacts {
  const { dueAt, answered } = unit;
  const { status, assignee } = interaction;
  return { ...{ status, await: unit.status, answered }, ...present({ dueAt, assignee }) };
}

export function changedSchedule(
  before: Schedule | undefined,
  after: Schedule | undefined,
): Changed | undefined {
  const schedule = after ?? before;
  if (schedule === undefined) return undefined;
  return {
    project: schedule.project,
    target: { kind: 'schedule', id: schedule.id },
    ...(before === undefined ? {} : { before: scheduleFacts(before) }),
    ...(after === undefined ? {} : { after: scheduleFacts(after) }),
  };
}

/** What a trigger or a backfill submitted: at most a few in one transaction. */
export function submittedBySchedule(
  { project, id }: Pick<Schedule, 'project' | 'id'>,
  executions: readonly string[],
): Changed {
  return { project, target: { kind: 'schedule', id }, after: { executions } };
}

function scheduleFacts({ paused, nextAt, digest }: Schedule): AuditFacts {
  return { paused, ...(nextAt === undefined ? {} : { nextAt }), digest };
}

type NewTemplate = Pick<Template, 'project' | 'id' | 'version' | 'pipeline' | 'digest'>;

export function changedByTemplate(template: NewTemplate): Changed {
  const { project, id, version, pipeline, digest } = template;
  return { project, target: { kind: 'template', id }, after: { version, pipeline, digest } };
}

function ofExecution({
  id,
  project,
}: Pick<ExecutionRecord, 'id' | 'project'>): Pick<Changed, 'project' | 'target'> {
  return { project, target: { kind: 'execution', id } };
}

function factsOf({ status, holds, compensating }: ExecutionRecord): AuditFacts {
  return { status, holds, ...(compensating ? { compensating } : {}) };
}
