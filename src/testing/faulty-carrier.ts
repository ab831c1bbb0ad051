// A transport that misbehaves on request, in front of a real one. It loses messages or replies,
// delivers some twice, and holds some back until others have overtaken them.

import type { Ask, Carrier } from '../protocol/messages/envelope.ts';
import type { WorkKind } from '../protocol/messages/work-messages.ts';
import { OutcomeUnknown } from '../support/fault.ts';

/** `lost`: it never arrives. `reply-lost`: it is done, and nobody hears. `doubled`: done twice. `held`: later. */
export type CarrierFault = 'lost' | 'reply-lost' | 'doubled' | 'held';

export interface FaultyCarrier extends Carrier {
  /** What happens to the next message of this kind; several are kept in order. */
  next(kind: WorkKind, fault: CarrierFault): void;
  /** Lets everything that is held back go, newest first. */
  release(): void;
  /** How many faults have happened. */
  readonly faults: number;
}

/** `plan` says what happens to the nth message, unless it was said by `next`. */
export function faultyCarrier(
  carrier: Carrier,
  plan: (nth: number, kind: WorkKind) => CarrierFault | undefined = () => undefined,
): FaultyCarrier {
  const planned = new Map<WorkKind, CarrierFault[]>();
  const held: (() => void)[] = [];
  let nth = 0;
  let faults = 0;
  const { onRing } = carrier;
  const send = async <Answer>(ask: Ask): Promise<Answer> => {
    nth += 1;
    const fault = planned.get(ask.kind)?.shift() ?? plan(nth, ask.kind);
    if (fault === undefined) return carrier.ask<Answer>(ask);
    faults += 1;
    if (fault === 'lost') throw new OutcomeUnknown(`${ask.kind} was lost on the way.`);
    if (fault === 'held') await new Promise<void>((resolve) => held.unshift(resolve));
    const answer = await carrier.ask<Answer>(ask);
    if (fault === 'doubled') return carrier.ask<Answer>(ask);
    if (fault === 'reply-lost') throw new OutcomeUnknown(`The reply to ${ask.kind} was lost.`);
    return answer;
  };
  return {
    name: `${carrier.name}, misbehaving`,
    doubles: true,
    ask: send,
    ...(onRing === undefined ? {} : { onRing: (listener) => onRing.call(carrier, listener) }),
    close: () => carrier.close(),
    next(kind, fault) {
      planned.set(kind, [...(planned.get(kind) ?? []), fault]);
    },
    release() {
      for (const each of held.splice(0)) each();
    },
    get faults() {
      return faults;
    },
  };
}
