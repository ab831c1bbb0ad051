// `child.signal` and `child.cancel`: steps that send a message to a child. The store sends it only for
// the owner of the parent, and a signal has the idempotency key of its step.

import type { ExecutionId } from '../../../execution/names.ts';
import { NAME_BYTES_MAX } from '../../../lease/names.ts';
import type { MessageChild } from '../../../store/contract/execution-store.ts';
import { boundedText, present } from '../../../support/options.ts';
import type { Child, StepContext } from '../../context.ts';
import { derivedUuid } from '../../ids.ts';
import { ClaimLost, untilReplied } from '../../store-replies.ts';
import { signalPosition } from '../../values/place.ts';
import { checkingArguments } from '../guarded.ts';
import type { Run } from '../run.ts';
import type { RunContext } from '../run-context.ts';
import { StepCall } from './step.ts';

export function messagesTo(
  ctx: RunContext,
  run: Run,
  child: ExecutionId,
): Pick<Child<unknown>, 'signal' | 'cancel'> {
  const step = (
    kind: string,
    name: string,
    messageOf: (key: string) => Promise<MessageChild['message']>,
  ): Promise<boolean> => {
    const key = ctx.nextKey(kind, name);
    const fn = async ({ idempotencyKey, signal }: StepContext): Promise<boolean> =>
      send(run, { child, message: await messageOf(idempotencyKey), signal });
    const rest = { timeoutMs: undefined, heartbeatTimeoutMs: undefined, circuit: undefined };
    const plan = { key, name, fn, retry: run.retry, ...rest, compensation: undefined };
    return ctx.enter((promised) => new StepCall<boolean>(run, plan, promised));
  };
  return {
    signal(name, value) {
      checkingArguments(() => {
        boundedText('The name of a signal', name, NAME_BYTES_MAX);
        run.config.payloads.check(`The value of signal "${name}"`, value);
      });
      return step('child-signal', name, async (key) => {
        const place = { owner: '', position: signalPosition(name) };
        const out = await run.payloads.encode(`The value of signal "${name}"`, value, place);
        return { kind: 'signal', name, key: derivedUuid(key), out };
      });
    },
    cancel(reason) {
      checkingArguments(() => reason !== undefined && boundedText('reason', reason, 8_192));
      return step('child-cancel', child, async () => ({ kind: 'cancel', ...present({ reason }) }));
    },
  };
}

/** False if the child has ended. Repeats until the step is aborted. */
async function send(
  run: Run,
  { signal, ...rest }: Pick<MessageChild, 'child' | 'message'> & Pick<StepContext, 'signal'>,
): Promise<boolean> {
  const { execution, fence } = run.claimed;
  const { id, project } = execution;
  const request = { id, project, fence, session: run.session.id, ...rest };
  const { config } = run;
  const sending = { config, session: { signal } };
  const sent = await untilReplied(sending, () => config.store.executions.messageChild(request));
  if (sent === undefined) throw signal.reason;
  if (sent.kind !== 'refused') return true;
  if (sent.why !== 'claim-ended') return false;
  const lost = new ClaimLost(sent);
  run.lost(lost);
  throw lost;
}
