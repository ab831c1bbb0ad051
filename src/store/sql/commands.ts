// Commands on an execution: cancel, pause, resume, signal (X-17 … X-19). One transaction locks the
// row, calls the pure decision and applies it.

import {
  CANCELLED_OUTCOME,
  type CommandDecision,
  type CommandView,
  decideCancel,
  decidePause,
  decideResume,
  decideSignal,
  requestedBy,
} from '../../execution/decide/command.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { InboxMessage } from '../../execution/history.ts';
import { changedByCommand } from '../../features/audit/decide.ts';
import type { Instant } from '../../support/clock.ts';
import type {
  Cancel,
  Command,
  CommandResult,
  ExecutionStore,
} from '../contract/execution-store.ts';
import { toExecution } from '../execution-rows.ts';
import { writeAudit } from './audit.ts';
import { deliverTo, type Natives, postMessage, saveExecution } from './changes.ts';
import { appendEvent, lockExecution } from './executions.ts';
import { onceOfJob } from './jobs.ts';
import { all, type Gateway, type Script, sql } from './script.ts';

type Decide<Request> = (view: CommandView, request: Request, now: Instant) => CommandDecision;

export function commandsOf(
  { repeat }: Gateway,
  natives: Natives,
): Pick<ExecutionStore, 'cancel' | 'pause' | 'resume' | 'signal'> {
  const command =
    <Request extends Command>(decide: Decide<Request>) =>
    (request: Request & Pick<Cancel, 'job'>): Promise<CommandResult> => {
      const of = { job: request.job, target: request.id };
      return repeat(() => onceOfJob(of, () => runCommand(natives, request, decide)), {
        notifies: isDone,
      });
    };
  return {
    cancel: command(decideCancel),
    pause: command(decidePause),
    resume: command(decideResume),
    signal: command(decideSignal),
  };
}

export function isDone({ kind }: CommandResult): boolean {
  return kind === 'done' || kind === 'forwarded';
}

const COMMANDS = sql(`
  select kind
    from hf.inbox indexed by inbox_asked
   where execution_id = :id
     and kind in ('cancel', 'pause', 'resume')
   order by n desc`);

/** Decides and applies a command. If it changed anything, it writes the audit record (J-1). */
export function* runCommand<Request extends Pick<Command, 'id' | 'audit'>>(
  natives: Natives,
  request: Request,
  decide: Decide<Request>,
): Script<CommandResult> {
  const { id } = request;
  const row = yield* lockExecution(id);
  const now = row?.now ?? (0 as Instant);
  const before = row === undefined ? undefined : toExecution(row);
  const hasMessages = before !== undefined && before.inboxCount > 0;
  const commands = hasMessages ? yield* all<Pick<InboxMessage, 'kind'>>(COMMANDS, { id }) : [];
  const view = { execution: before, ...requestedBy(commands.map(({ kind }) => kind)) };
  const decision = decide(view, request, now);
  yield* writeAudit(request, changedByCommand(before, decision), now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  const { execution } = decision;
  const { status } = execution;
  if (decision.kind === 'no-change') return { kind: 'no-change', status };
  if (decision.kind === 'pass-on') {
    yield* deliverTo(before as ExecutionRecord, decision);
    return { kind: decision.toOwner ? 'forwarded' : 'done', status };
  }
  if (decision.kind === 'end') {
    const end = { ...decision, outcome: CANCELLED_OUTCOME };
    yield* natives.endWaiting(before as ExecutionRecord, end);
    return { kind: 'done', status };
  }
  yield* saveExecution(execution);
  yield* appendEvent(id, decision.event);
  if (decision.message !== undefined) yield* postMessage(id, decision.message);
  return { kind: 'done', status };
}
