// Calls as they come to a handler, and what goes back.

import { WORK_VERSION } from '../protocol/messages/envelope.ts';
import type { PushCommand, PushResult } from '../protocol/messages/push.ts';
import { type Signer, SKEW_MS } from '../protocol/messages/signing.ts';
import { systemClock } from '../support/clock.ts';

export interface SignedCall {
  readonly claims: PushCommand;
  readonly kid: string;
}

/** Undefined when nobody who has a key has sent it, or too long ago. */
export function callIn(signer: Signer, text: string): SignedCall | undefined {
  try {
    const nowMs = systemClock.wallMs();
    const verified = signer.verify<PushCommand>(text, { to: 'worker', nowMs });
    return verified.kind === 'verified' ? verified : undefined;
  } catch {
    return undefined;
  }
}

/** A result is of use for as long as somebody waits for it. */
const RESULT_MS = 60_000;

/** Signed with the key of the call. */
export function answerTo(
  { kid }: SignedCall,
  signer: Signer,
  result: Partial<PushResult>,
): Response {
  const at = systemClock.wallMs();
  const until = at + RESULT_MS;
  const signed = { to: 'coordinator', at, until, v: WORK_VERSION, ...result } as const;
  return new Response(signer.sign(signed, kid), { headers: { 'content-type': 'text/plain' } });
}

/**
 * Calls that this process was given, for as long as they are good: who plays one again does not have its steps run
 * again. Another process does not know of them; what it would write is refused by fence and seq (M-1).
 */
export class InHand {
  readonly #until: Map<string, number> = new Map();

  /** False when it was taken before. */
  take(call: string, untilMs: number): boolean {
    const nowMs = systemClock.wallMs();
    for (const [each, until] of this.#until) if (until < nowMs) this.#until.delete(each);
    if (this.#until.has(call)) return false;
    this.#until.set(call, untilMs + SKEW_MS);
    return true;
  }
}
