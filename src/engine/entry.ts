// What a run puts into the journal: an event, and what is stored together with it.

import type { OpenAwait } from '../execution/await.ts';
import type { NewEvent } from '../execution/history.ts';
import type { Attachment, Submit } from '../store/contract/execution-store.ts';
import type { Instant } from '../support/clock.ts';

export interface Entry {
  readonly event: NewEvent;
  readonly children?: readonly Submit[];
  readonly awaits?: readonly OpenAwait[];
  readonly attachment?: Attachment;
  /** After it is durable. */
  stored(at: Instant): void;
}

export function eventOf({ event }: Entry): NewEvent {
  return event;
}

/** Brings nothing but its event. */
export function isPlain({ children, awaits, attachment }: Entry): boolean {
  return children === undefined && awaits === undefined && attachment === undefined;
}
