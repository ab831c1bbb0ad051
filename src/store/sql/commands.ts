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
import type { ExecutionId, Payload } from '../../execution/names.ts';
import { changedByCommand } from '../../features/audit/decide.ts';
import type { Instant } from '../../support/clock.ts';
import type {
  Cancel,
  ChildMessaged,
  Command,
  CommandResult,
  ExecutionStore,
  MessageChild,
  Signal,
} from '../contract/execution-store.ts';
import { toExecution } from '../execution-rows.ts';
import { writeAudit } from './audit.ts';
import { deliverTo, type Natives, postMessage, saveExecution } from './changes.ts';
import { appendEvent, lastSeqOf, lockNamed } from './executions.ts';
import { onceOfJob } from './jobs.ts';
import { all, type Gateway, one, type Script, sql } from './script.ts';

type Decide<Request> = (view: CommandView, request: Request, now: Instant) => CommandDecision;

export function commandsOf(
  { repeat }: Gateway,
  natives: Natives,
): Pick<ExecutionStore, 'cancel' | 'pause' | 'resume' | 'signal' | 'messageChild'> {
  const command =
    <Request extends Command>(decide: Decide<Request>) =>
    (request: Request & Pick<Cancel, 'job'>): Promise<CommandResult> => {
      const of = { job: request.job, target: request.id as ExecutionId };
      return repeat(() => onceOfJob(of, () => runCommand(natives, request, decide)), {
        notifies: isDone,
      });
    };
  return {
    cancel: command(decideCancel),
    pause: command(decidePause),
    resume: command(decideResume),
    signal: command(decideSignal),
    messageChild: (request) => repeat(() => messageChild(natives, request), { notifies: isDone }),
  };
}

// The locked row of the parent keeps its owner until the commit. The caller has locked the child:
// a child that ends also locks its own row first.
const OWN_CHILD = sql(`
  select c.id
    from hf.execution as p, hf.execution as c
   where p.id = :id
     and p.project = :project    -- guard: project
     and p.fence = :fence        -- guard: fence
     and p.session_id = :session -- guard: session
     and c.id = :child
     and c.parent_id = p.id      -- guard: parent
     for share of p`);

/** Sends a command to a child, for the owner of its parent. */
function* messageChild(natives: Natives, request: MessageChild): Script<ChildMessaged> {
  const { id: parent, fence, session, project, child: id, message } = request;
  yield* lockNamed(id, project);
  const isOwn = (yield* one(OWN_CHILD, request)) !== undefined && (yield* natives.isOpen(session));
  if (!isOwn) return { kind: 'refused', why: 'claim-ended', id: parent, fence };
  if (message.kind === 'cancel') {
    const { reason } = message;
    const body = JSON.stringify({ by: `execution ${parent}`, reason }) as Payload;
    return yield* runCommand(natives, { id, project, body }, decideCancel);
  }
  const { name, key, out } = message;
  const body = `{"out":${out}}` as Payload;
  return yield* runCommand(natives, { id, project, name, key, body }, decideSignal);
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

const REPEATED = sql(`
  select n
    from hf.inbox indexed by inbox_key
   where execution_id = :id
     and key = :key
     and key is not null`);

/** Decides and applies a command. If it changed anything, it writes the audit record (J-1). */
export function* runCommand<
  Request extends Pick<Command, 'id' | 'project' | 'audit'> &
    Pick<Signal, 'key'> &
    Pick<Cancel, 'force'>,
>(natives: Natives, request: Request, decide: Decide<Request>): Script<CommandResult> {
  const row = yield* lockNamed(request.id, request.project);
  const now = row?.now ?? (0 as Instant);
  const locked = row === undefined ? undefined : toExecution(row);
  const isForced = locked?.status === 'running' && request.force === true;
  const before = isForced ? { ...locked, seq: yield* lastSeqOf(locked.id) } : locked;
  const hasMessages = before !== undefined && before.inboxCount > 0;
  const commands = hasMessages ? yield* all<Pick<InboxMessage, 'kind'>>(COMMANDS, before) : [];
  const isRepeated =
    hasMessages &&
    request.key !== undefined &&
    (yield* one(REPEATED, { id: before.id, key: request.key })) !== undefined;
  const requested = requestedBy(commands.map(({ kind }) => kind));
  const view = { execution: before, ...requested, isRepeated };
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
    const { free, message, ...ended } = decision;
    if (free !== undefined) yield* saveExecution(free);
    if (message !== undefined) {
      yield* deliverTo(before as ExecutionRecord, { execution: free ?? execution, message });
    }
    yield* natives.endWaiting(free ?? (before as ExecutionRecord), {
      ...{ ...ended, outcome: CANCELLED_OUTCOME },
    });
    return { kind: 'done', status };
  }
  yield* saveExecution(execution);
  yield* appendEvent(execution.id, decision.event);
  if (decision.message !== undefined) yield* postMessage(execution.id, decision.message);
  return { kind: 'done', status };
}
