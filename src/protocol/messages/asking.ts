// From what a worker asks to an envelope, and from its reply to what it was asked for.

import type { Ask } from './carrier.ts';
import { type ReplyEnvelope, type RequestEnvelope, WORK_VERSION } from './envelope.ts';
import { faultOf } from './fault-of.ts';

export function envelopeOf({ kind, body, bytes }: Ask, id: string): RequestEnvelope {
  return {
    v: WORK_VERSION,
    id,
    kind,
    ...(body === undefined ? {} : { body }),
    ...(bytes === undefined ? {} : { bytes }),
  };
}

/** Throws the problem that came instead. */
export function answerIn<Answer>({ kind }: Ask, { body, bytes, problem }: ReplyEnvelope): Answer {
  if (problem !== undefined) {
    throw faultOf(problem.code, `${kind}: ${problem.detail}`, problem.status);
  }
  return (bytes ?? body) as Answer;
}
