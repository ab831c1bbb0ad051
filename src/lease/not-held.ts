import { Fault } from '../support/fault.ts';
import type { TermEnd } from './lease.ts';
import type { LeaseKey } from './names.ts';

/**
 * Why a handle no longer holds its lease. Only a lapsed one may rejoin.
 *
 * - `lapsed`: the session missed heartbeats.
 * - `lost`: a successor or an operator ended the term, or the session is over.
 * - `released`: this process released it.
 * - `deadline`: the deadline of a drain, or `tenureMsMax`, has passed.
 * - `too-little-left`: authority does not last for the margin; the lease is still held.
 */
export type WithdrawnBy = 'lapsed' | 'lost' | 'released' | 'deadline' | 'too-little-left';

/**
 * The lease is not held, or not for long enough. `assertHeld` throws it, and `signal.reason` is
 * one.
 */
export class LeaseNotHeld extends Fault {
  override readonly name = 'LeaseNotHeld';
  /** The key. */
  readonly key: LeaseKey;
  /** Why. */
  readonly by: WithdrawnBy;
  /** How the term ended, if another party ended it and the store reported that. */
  readonly ended: EndedBy | undefined;

  constructor(key: LeaseKey, by: WithdrawnBy, about: { message: string; ended?: EndedBy }) {
    super('lease-not-held', about.message);
    this.key = key;
    this.by = by;
    this.ended = about.ended;
  }
}

/** How another party ended a term: exit, cause and actor. */
export type EndedBy = Pick<TermEnd, 'exit' | 'cause' | 'actor'>;

export function notHeld(key: LeaseKey, by: WithdrawnBy, end?: string | EndedBy): LeaseNotHeld {
  const ended = typeof end === 'object' ? end : undefined;
  const detail = typeof end === 'object' ? describeEnd(end) : end;
  const message = `"${key}": ${TEXTS[by]}${detail === undefined ? '' : ` ${detail}`}`;
  return new LeaseNotHeld(key, by, { message, ...(ended && { ended }) });
}

function describeEnd({ exit, cause, actor }: EndedBy): string {
  const by = actor === undefined ? '' : ` by ${actor}`;
  return `The term ended as ${exit}${by}${cause === undefined ? '' : `: ${cause}`}.`;
}

const TEXTS: Readonly<Record<WithdrawnBy, string>> = {
  lapsed:
    'the lease lapsed: its session was not renewed in time. Stop. Call rejoin() to continue the same term if no session has taken over, or release() to free the key.',
  lost: 'the lease was lost. Stop. Acquire it again to continue.',
  released: 'the lease was released. Acquire it again to continue.',
  deadline:
    'the deadline of the lease has passed (drain or greatest tenure). Stop. Acquire it again to continue.',
  'too-little-left':
    'too little authority is left for an effect of this length. Wait for the next renewal, or pass a smaller margin.',
};
