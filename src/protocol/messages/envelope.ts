// What a message travels in where the carrier has no place of its own for it. The envelope is control: it is
// strict, and of a version that both sides agreed on at the greeting; a field that this version does not
// know is refused by its name. What is inside payloads is nobody's business here.

import { type Static, Type } from 'typebox';
import type { Ask } from './carrier.ts';
import { faultOf } from './problem.ts';
import { CLOSED, NAME_MAX } from './words.ts';

/** The versions of the worker protocol that this build speaks. */
export const WORK_VERSION = 1;
export const OLDEST_WORK_VERSION = 1;

export const requestEnvelope = Type.Object(
  {
    v: Type.Integer({ minimum: 1, description: 'The version that was agreed on at the greeting.' }),
    id: Type.String({ minLength: 1, maxLength: NAME_MAX, description: 'Its reply has it too.' }),
    kind: Type.String({ minLength: 1, maxLength: NAME_MAX }),
    body: Type.Optional(Type.Unknown()),
    bytes: Type.Optional(Type.Unsafe<Uint8Array>({ description: 'Base64 where it is JSON.' })),
  },
  CLOSED,
);

export type RequestEnvelope = Static<typeof requestEnvelope>;

export interface EnvelopeProblem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

/** One of `body`, `bytes` and `problem`, or none of them where there is nothing to say. */
export interface ReplyEnvelope {
  readonly v: number;
  readonly id: string;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
  readonly problem?: EnvelopeProblem;
}

// From what a worker asks to an envelope, and from its reply to what it was asked for.

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
