// What a run puts into the journal: an event, and what is stored together with it.

import type { HistoryEvent, NewEvent } from '../../execution/history.ts';
import type { OpenAwait } from '../../features/awaits/model.ts';
import type { Attachment, OwnerWrite, Submit } from '../../store/contract/execution-store.ts';
import type { Instant } from '../../support/clock.ts';

export interface Entry {
  readonly event: NewEvent;
  readonly children?: readonly Submit[];
  readonly awaits?: readonly OpenAwait[];
  readonly attachment?: Attachment;
  /** Written only together with entries that are not: it proves no progress. */
  readonly isNote?: true;
  /** After it is durable. */
  stored(at: Instant): void;
}

/** A write with which the owner leaves, while it is under way. */
export interface Leaving {
  readonly event: NewEvent;
  readonly entries: readonly Entry[];
  readonly base: OwnerWrite;
}

export function eventOf({ event }: Entry): NewEvent {
  return event;
}

/** Brings nothing but its event. */
export function isPlain({ children, awaits, attachment }: Entry): boolean {
  return children === undefined && awaits === undefined && attachment === undefined;
}

/** All that the entries bring beside their events, for one write. */
export function brought(
  entries: readonly Entry[],
): Pick<OwnerWrite, 'children' | 'awaits' | 'attachments'> {
  const children = entries.flatMap((entry) => entry.children ?? []);
  const awaits = entries.flatMap((entry) => entry.awaits ?? []);
  const attachments = entries.flatMap((entry) => entry.attachment ?? []);
  return {
    ...(children.length > 0 ? { children } : {}),
    ...(awaits.length > 0 ? { awaits } : {}),
    ...(attachments.length > 0 ? { attachments } : {}),
  };
}

/** What was asked for is in history. */
export interface Already {
  readonly kind: 'already';
  readonly event: HistoryEvent;
}
