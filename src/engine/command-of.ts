// Who acts on an execution, and why, as it is recorded.

import { type Payload, parseExecutionId } from '../execution/names.ts';
import { ACTING, checkedActing, stampOf } from '../features/audit/api.ts';
import type { Command, Signal } from '../store/contract/execution-store.ts';
import { boundedText, readOptions } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import type { Acting } from './holdfast-types.ts';
import { projectOf, SUBMIT_NAMES, type SubmitOptions } from './submission.ts';
import type { Payloads } from './values/payloads.ts';
import { signalPosition } from './values/place.ts';

export interface Message extends Acting {
  readonly name: string;
  readonly value?: unknown;
}

const NAME_BYTES_MAX = 256;

export function commandOf(what: string, id: string, given: Acting): Command {
  return command(id, readOptions(what, given, ACTING));
}

/** J-1: with who acts, for the audit. */
export function actOf(
  config: EngineConfig,
  act: 'cancel' | 'pause' | 'resume',
  { id, acting }: { readonly id: string; readonly acting: Acting },
): Command {
  const given = readOptions(act, acting, ACTING);
  return { ...command(id, given), audit: stampOf(config, act, given) };
}

export async function signalOf(config: EngineConfig, id: string, given: Message): Promise<Signal> {
  const {
    name: named,
    value,
    ...acting
  } = readOptions('signal', given, [...(['name', 'value'] as const), ...ACTING]);
  const asked = command(id, acting);
  const name = boundedText('The name of a signal', named, NAME_BYTES_MAX);
  const out = await config.payloads
    .of(asked.project)
    .encode(`The value of signal "${name}"`, value, {
      ...{ owner: asked.id, position: signalPosition(name) },
    });
  const { by } = acting;
  const body = `{"out":${out}${by === undefined ? '' : `,"by":${JSON.stringify(by)}`}}` as Payload;
  return { ...asked, name, body };
}

export interface SignalledSubmit extends Omit<SubmitOptions, 'client'> {
  /** What finds it. */
  readonly key: string;
  readonly signal: Pick<Message, 'name' | 'value'>;
}

/** Before anything is written: what cannot be sent must not have been submitted either. */
export function signalledSubmit(
  payloads: Payloads,
  given: SignalledSubmit,
): {
  readonly submit: SubmitOptions;
  readonly signal: Pick<Message, 'name' | 'value'>;
  readonly acting: Acting;
} {
  const names = ['signal', ...SUBMIT_NAMES.filter((name) => name !== 'client')];
  const { signal: sent, ...submit } = readOptions('submitOrSignal', given, names);
  boundedText('submitOrSignal: key', submit.key, NAME_BYTES_MAX);
  const signal = readOptions('submitOrSignal: signal', sent, ['name', 'value']);
  const name = boundedText('The name of a signal', signal.name, NAME_BYTES_MAX);
  payloads.check(`The value of signal "${name}"`, signal.value);
  const { project, by } = submit;
  const acting = {
    ...(project === undefined ? {} : { project }),
    ...(by === undefined ? {} : { by }),
  };
  return { submit, signal, acting };
}

function command(id: string, { project, ...said }: Acting): Command {
  const { by, reason } = checkedActing(said);
  return {
    id: parseExecutionId(id),
    project: projectOf(project),
    body: JSON.stringify({ by, reason }) as Payload,
  };
}
