// The service of work.proto, as both sides use it. A test compares it with the result of
// proto-loader.

import { decode, encode, type Shape } from '../../support/protobuf.ts';
import type { EnvelopeProblem, ReplyEnvelope } from './envelope.ts';

const REQUEST: Shape = {
  v: { no: 1, kind: 'int' },
  id: { no: 2, kind: 'text' },
  kind: { no: 3, kind: 'text' },
  body: { no: 4, kind: 'bytes' },
  bytes: { no: 5, kind: 'bytes' },
};

const PROBLEM: Shape = {
  status: { no: 1, kind: 'int' },
  code: { no: 2, kind: 'text' },
  detail: { no: 3, kind: 'text' },
};

const REPLY: Shape = {
  v: { no: 1, kind: 'int' },
  id: { no: 2, kind: 'text' },
  body: { no: 3, kind: 'bytes' },
  bytes: { no: 4, kind: 'bytes' },
  problem: { no: 5, kind: PROBLEM },
};

const FRAME: Shape = { reply: { no: 1, kind: REPLY }, wakeup: { no: 2, kind: 'bool' } };

/** A reply, or a wakeup. */
export interface Frame {
  readonly reply?: ReplyEnvelope;
  readonly wakeup: boolean;
}

interface Wire {
  readonly v: number;
  readonly id: string;
  readonly kind: string;
  readonly body: Buffer;
  readonly bytes: Buffer;
  readonly problem?: EnvelopeProblem;
}

/** An envelope whose body is not parsed yet. */
export interface UnparsedRequest {
  readonly id: string;
  readonly text: string;
  /** Parses the body. Includes fields that this version does not know, by number. */
  readonly parse: () => object;
}

export function unparsedRequest(wire: Buffer): UnparsedRequest {
  const unknown: Record<string, true> = {};
  const { v, id, kind, body, bytes } = decode<Wire>(REQUEST, wire, (no) => {
    unknown[`field ${no}`] = true;
  });
  const text = body.toString();
  const parse = (): object => ({
    ...{ v, id, kind },
    ...(text === '' ? {} : { body: parsed(text) }),
    ...(bytes.length === 0 ? {} : { bytes: new Uint8Array(bytes) }),
    ...unknown,
  });
  return { id, text, parse };
}

/** The schema of the message refuses a body that is not valid JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return 'not JSON';
  }
}

function contentOf({ body, bytes }: { readonly body?: unknown; readonly bytes?: unknown }): object {
  return {
    ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    ...(bytes === undefined ? {} : { bytes }),
  };
}

function toRequest(envelope: object): Buffer {
  return encode(REQUEST, { ...envelope, ...contentOf(envelope) });
}

function toReply(envelope: ReplyEnvelope): Buffer {
  return encode(REPLY, { ...envelope, ...contentOf(envelope) });
}

function replyFrom(wire: Buffer): ReplyEnvelope {
  return replyOf(decode<Wire>(REPLY, wire));
}

function replyOf({ v, id, body, bytes, problem }: Wire): ReplyEnvelope {
  return {
    ...{ v, id },
    ...(body.length === 0 ? {} : { body: parsed(body.toString()) }),
    ...(bytes.length === 0 ? {} : { bytes: new Uint8Array(bytes) }),
    ...(problem === undefined ? {} : { problem }),
  };
}

function toFrame({ reply, wakeup }: Frame): Buffer {
  if (reply === undefined) return encode(FRAME, { wakeup });
  return encode(FRAME, { reply: { ...reply, ...contentOf(reply) } });
}

function frameFrom(wire: Buffer): Frame {
  const { reply, wakeup } = decode<{ readonly reply?: Wire; readonly wakeup: boolean }>(
    FRAME,
    wire,
  );
  return { wakeup, ...(reply === undefined ? {} : { reply: replyOf(reply) }) };
}

const requests = {
  requestSerialize: toRequest,
  requestDeserialize: (wire: Buffer): object => unparsedRequest(wire).parse(),
} as const;

export const WORK_SERVICE = {
  Call: {
    path: '/holdfast.work.v1.Work/Call',
    requestStream: false,
    responseStream: false,
    ...requests,
    responseSerialize: toReply,
    responseDeserialize: replyFrom,
  },
  Stream: {
    path: '/holdfast.work.v1.Work/Stream',
    requestStream: true,
    responseStream: true,
    ...requests,
    responseSerialize: toFrame,
    responseDeserialize: frameFrom,
  },
} as const;
