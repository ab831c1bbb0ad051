import { Fault } from '../support/fault.ts';
import type { LeaseKey } from './names.ts';

/** Why a handle no longer holds. `lapsed` may rejoin; the others are final. */
export type WithdrawnBy = 'lapsed' | 'lost' | 'released' | 'deadline' | 'too-little-left';

/** Thrown by `assertHeld`, and the reason of a handle's `signal`. */
export class LeaseNotHeld extends Fault {
  override readonly name = 'LeaseNotHeld';
  readonly key: LeaseKey;
  readonly by: WithdrawnBy;

  constructor(key: LeaseKey, by: WithdrawnBy, message: string) {
    super('lease-not-held', message);
    this.key = key;
    this.by = by;
  }
}

export function notHeld(key: LeaseKey, by: WithdrawnBy, detail?: string): LeaseNotHeld {
  return new LeaseNotHeld(
    key,
    by,
    `"${key}": ${TEXTS[by]}${detail === undefined ? '' : ` ${detail}`}`,
  );
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
