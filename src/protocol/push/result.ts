// What an endpoint answered, if that can be believed: signed, good, and about the claim that it was called for.

import { Compile } from 'typebox/compile';
import type { Claimed } from '../../store/contract/execution-store.ts';
import { digestOf } from '../../support/digest.ts';
import { type PushResult, pushResult } from '../messages/push.ts';
import type { Signer } from '../messages/signing.ts';

export type Understood =
  | { readonly kind: 'result'; readonly result: PushResult }
  | { readonly kind: 'unknown'; readonly why: string };

const RESULT = Compile(pushResult);

/** Of a probe: of this one. */
export function probedFrom(
  signer: Signer,
  text: string,
  { nonce, nowMs }: { readonly nonce: string; readonly nowMs: number },
): Understood {
  const understood = understoodFrom(signer, text, nowMs);
  if (understood.kind === 'unknown') return understood;
  const { denied, nonce: of } = understood.result;
  if (of !== nonce) return unknown('its answer is of another probe');
  return denied === undefined ? understood : unknown(denied);
}

function understoodFrom(signer: Signer, text: string, nowMs: number): Understood {
  const verified = verifiedFrom(signer, text, nowMs);
  if (verified.kind === 'invalid') return unknown(verified.why);
  if (verified.kind === 'expired') return unknown('its result is good no more');
  const result: unknown = verified.claims;
  if (!RESULT.Check(result)) {
    const [first] = RESULT.Errors(result);
    return unknown(`its result cannot be read: ${first?.instancePath} ${first?.message}`);
  }
  return { kind: 'result', result };
}

export function resultFrom(
  signer: Signer,
  text: string,
  { claimed, nowMs }: { readonly claimed: Claimed; readonly nowMs: number },
): Understood {
  const understood = understoodFrom(signer, text, nowMs);
  if (understood.kind === 'unknown') return understood;
  const { result } = understood;
  const { execution, fence } = claimed;
  const isOfClaim = ({ id, fence: of }: { id?: string; fence?: number }): boolean =>
    id === execution.id && of === fence;
  const { writes = [], blobs = [] } = result;
  if (![result, ...writes].every(isOfClaim)) return unknown('its result is of another claim');
  const isWhole = blobs.every(
    ({ digest, bytes }) => digestOf(Buffer.from(bytes, 'base64')) === digest,
  );
  return isWhole ? { kind: 'result', result } : unknown('a value does not have its digest');
}

function verifiedFrom(signer: Signer, text: string, nowMs: number) {
  try {
    return signer.verify(text, { to: 'coordinator', nowMs });
  } catch {
    return { kind: 'invalid', why: 'its answer cannot be read' } as const;
  }
}

function unknown(why: string): Understood {
  return { kind: 'unknown', why };
}
