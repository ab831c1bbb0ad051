// Submits that may take a key over or signal the execution that has it. They lock the execution that has the key, so they do not
// share the statement of other submits.

import { decideCancel, decideSignal } from '../../execution/decide/command.ts';
import { decideHolder } from '../../execution/decide/submit.ts';
import type { ExecutionId, Payload } from '../../execution/names.ts';
import type {
  CommandResult,
  ExecutionStore,
  Submit,
  SubmitResult,
  VerbsWithin,
} from '../contract/execution-store.ts';
import { toExecution } from '../execution-rows.ts';
import { payloadsOf } from './blobs.ts';
import type { Natives } from './changes.ts';
import { commandsOf, isDone, runCommand } from './commands.ts';
import { existingSubmit, lockKey } from './executions.ts';
import { refuseRelease } from './releases.ts';
import { all, type Gateway, one, type Script, sql } from './script.ts';

const IS_THERE = sql('select id from hf.execution where id = :id');

const DROP_KEY = sql('update hf.execution set key = null where id = :id');

const REPLACED: Payload = '{"by":"holdfast","reason":"replaced"}' as Payload;

export function keyedOf({ repeat }: Gateway, natives: Natives): Pick<ExecutionStore, 'submit'> {
  return {
    submit: (request) =>
      repeat(() => submitKeyed(natives, request), { keeps: isWritten, notifies: isWritten }),
  };
}

/** All verbs that can join a transaction of the caller, whose gateway this is. */
export function withinOf(gateway: Gateway, natives: Natives): VerbsWithin {
  return {
    ...payloadsOf(gateway),
    signal: commandsOf(gateway, natives).signal,
    submit: (request) =>
      gateway.repeat(
        () => (isKeyed(request) ? submitKeyed(natives, request) : submitPlain(natives, request)),
        { keeps: isWritten, notifies: isWritten },
      ),
  };
}

/** If not, a store may write the submit together with others. */
export function isKeyed({ ifKeyTaken, message }: Submit): boolean {
  return (ifKeyTaken ?? message) !== undefined;
}

function* submitPlain(natives: Natives, request: Submit): Script<SubmitResult> {
  for (;;) {
    if (yield* natives.submit(request)) {
      return { kind: 'submitted', id: request.id, existing: false };
    }
    const result = yield* existingSubmit(request);
    // The execution that had the key is gone. Try again.
    if (result !== undefined) return result;
  }
}

/** Otherwise nothing of the script is kept: the execution that has the key must not lose it. */
function isWritten(result: SubmitResult): boolean {
  if (result.kind === 'refused') return false;
  return !result.existing || (result.signalled !== undefined && isDone(result.signalled));
}

function* submitKeyed(natives: Natives, request: Submit): Script<SubmitResult> {
  const { id, project, key = '', message, ifKeyTaken } = request;
  for (;;) {
    const row = yield* lockKey({ project, key });
    const holder = row && toExecution(row);
    const decision = holder && decideHolder(holder, request);
    if (decision !== 'keep' && (yield* one(IS_THERE, { id })) === undefined) {
      const refusal = yield* refuseRelease(request);
      if (refusal !== undefined) return { kind: 'refused', ...refusal };
      if (holder !== undefined && decision === 'cancel') {
        yield* runCommand(natives, { id: holder.id, project, body: REPLACED }, decideCancel);
      }
      if (holder !== undefined) yield* all(DROP_KEY, holder);
      if (yield* natives.submit(request)) {
        return {
          kind: 'submitted',
          id,
          existing: false,
          ...(yield* signalled(natives, request, id)),
        };
      }
    }
    // The message is for the execution that has the key, whatever its content.
    if (holder !== undefined && message !== undefined && ifKeyTaken !== 'refuse') {
      const sent = yield* signalled(natives, request, holder.id);
      return { kind: 'submitted', id: holder.id, existing: true, ...sent };
    }
    const result = yield* existingSubmit(request);
    // The execution that had the key is gone. Try again.
    if (result !== undefined) return result;
  }
}

function* signalled(
  natives: Natives,
  { project, message }: Submit,
  id: ExecutionId,
): Script<{ readonly signalled?: CommandResult }> {
  if (message === undefined) return {};
  return { signalled: yield* runCommand(natives, { ...message, id, project }, decideSignal) };
}
