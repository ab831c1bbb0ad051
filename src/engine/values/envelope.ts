// How a value is stored: `{"v":…}` inline, `{"enc":…}` through the codec, `{"ref":…}` kept apart; `{}` is
// undefined.

import { Fault, InvalidInput } from '../../support/fault.ts';
import { readOptions, shown } from '../../support/options.ts';

export interface Envelope {
  readonly v?: unknown;
  /** Base64 of the codec's bytes, or the digest of the blob that has them. */
  readonly enc?: string;
  readonly ref?: string;
  /** Names codec and key. */
  readonly by?: string;
  /** Where a value belongs that went through the codec, which has sealed this with it: project, owner, position. */
  readonly at?: string;
  readonly size?: number;
  /** Its text has tags (value.ts). */
  readonly tagged?: true;
}

const NAMES: readonly (keyof Envelope)[] = ['v', 'enc', 'ref', 'by', 'at', 'size', 'tagged'];
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** As somebody hands it in who has it from a record or from a history. */
export function parseEnvelope(payload: unknown): Envelope {
  const given = typeof payload === 'string' ? parsed(payload) : payload;
  const envelope = readOptions('decode: payload', given as Envelope, NAMES);
  const { enc, ref, by, at, tagged } = envelope;
  const isText = (value: unknown, form: RegExp): boolean =>
    value === undefined || (typeof value === 'string' && form.test(value));
  const isWhole =
    isText(enc, BASE64) &&
    isText(ref, DIGEST) &&
    isText(by, /./) &&
    (tagged === undefined || tagged === true) &&
    isText(at, /./) &&
    // Only what went through a codec is kept as bytes, and says which.
    (enc === undefined || by !== undefined) &&
    ['v', 'enc', 'ref'].filter((name) => name in envelope).length <= 1;
  if (isWhole) return envelope;
  throw unlike(payload);
}

/** Cheap, and never wrong when it says no. */
export function mayBeTagged(payload: string | object): boolean {
  return typeof payload === 'string' ? payload.includes('"tagged":true') : 'tagged' in payload;
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    throw unlike(payload);
  }
}

function unlike(payload: unknown): InvalidInput {
  return new InvalidInput(
    `decode: payload is what a record has as input or progress, or what an event has as out; got ${shown(payload)}.`,
  );
}

/** Of what should have been sealed. */
export function notSealed(what: string): Fault {
  return new Fault(
    'codec-required',
    `${what} was stored without a codec, and the codec of this process is required. Submit, signal and answer from processes that have it, or open this one without \`required\`.`,
  );
}
