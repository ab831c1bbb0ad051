import { Fault } from '../support/fault.ts';
import type { TermEnd } from './lease.ts';
import type { LeaseKey } from './names.ts';

/** Why a handle no longer holds. `lapsed` may rejoin; the others are final. */
export type WithdrawnBy = 'lapsed' | 'lost' | 'released' | 'deadline' | 'too-little-left';

/** Thrown by `assertHeld`, and the reason of a handle's `signal`. */
export class LeaseNotHeld extends Fault {
  override readonly name = 'LeaseNotHeld';
  readonly key: LeaseKey;
  readonly by: WithdrawnBy;
  /** When somebody else ended the term and the store said so: how, why, and who (O-5). */
  readonly ended: EndedBy | undefined;

  constructor(key: LeaseKey, by: WithdrawnBy, about: { message: string; ended?: EndedBy }) {
    super('lease-not-held', about.message);
    this.key = key;
    this.by = by;
    this.ended = about.ended;
  }
}

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
    'the lease lapsed: its session was not renewed in time. Stop. If nobody has taken over, rejoin() goes on in the same term; release() lets others have it.',
  lost: 'the lease was lost. Stop; acquire again to go on.',
  released: 'the lease was released. Acquire again to go on.',
  deadline:
    "the lease's own deadline has passed (drain or greatest tenure). Stop; acquire again to go on.",
  'too-little-left':
    'too little authority is left for an effect of this length. Wait for the next renewal, or make the effect shorter.',
};
