// Who acts on an execution, and why, as it is recorded.

import { type Payload, parseExecutionId } from '../execution/names.ts';
import type { Command, Signal } from '../store/contract/execution-store.ts';
import { boundedText, rejectUnknownOptions } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import type { Acting } from './holdfast-types.ts';
import type { Payloads } from './payloads.ts';
import { projectOf } from './submission.ts';

export function commandOf(id: string, acting: Acting): Command {
  rejectUnknownOptions('acting', acting, ['project', 'by', 'reason', 'name', 'value']);
  const { project, by, reason } = acting;
  return {
    id: parseExecutionId(id),
    project: projectOf(project),
    body: JSON.stringify({ by: by ?? 'unknown', reason: reason ?? '' }) as Payload,
  };
}

export async function signalOf(
  config: EngineConfig,
  id: string,
  message: { readonly name: string; readonly value?: unknown } & Acting,
): Promise<Signal> {
  const name = boundedText('The name of a signal', message.name, 256);
  const out = await config.payloads.encode(`Signal "${name}"`, message.value);
  const { by } = message;
  const body = `{"out":${out}${by === undefined ? '' : `,"by":${JSON.stringify(by)}`}}` as Payload;
  return { ...commandOf(id, message), name, body };
}

/** Before anything is written: what cannot be sent must not have been submitted either. */
export function checkSignal(
  payloads: Payloads,
  signal: { readonly name: string; readonly value?: unknown },
): void {
  const name = boundedText('The name of a signal', signal?.name, 256);
  payloads.check(`Signal "${name}"`, signal.value);
}
