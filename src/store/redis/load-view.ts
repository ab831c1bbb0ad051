// What a refusal is explained from: the snapshot that came with the no.

import type { TermView } from '../../lease/decide/term.ts';
import type { Instant } from '../../support/clock.ts';
import { type LeaseReply, toChain, toLease } from './records.ts';

/** What a verb of a term answers when it changed something, when not, and when the server is another one. */
export type TermReply =
  | readonly [kind: Buffer, now: number]
  | readonly [kind: Buffer, now: number, issued: Buffer, lease: Buffer | null, holder: Buffer[]];

export type TermOutcome<Done> =
  | { readonly kind: 'done'; readonly done: Done }
  | { readonly kind: 'no'; readonly view: TermView; readonly now: Instant };

export function kindOf(reply: readonly unknown[]): string {
  return String(reply[0]);
}

/** The view behind a no; undefined when the server has to be adopted first. */
export function refusedView(
  reply: TermReply,
): { readonly view: TermView; readonly now: Instant } | undefined {
  if (kindOf(reply) === 'moved') return undefined;
  const [, now, issued, record = null, holder = []] = reply;
  return { now: now as Instant, view: viewOf({ record }, holder, issued) };
}

export function viewOf(
  lease: LeaseReply,
  holder: readonly Buffer[],
  issued: Buffer | undefined,
): TermView {
  return {
    lease: toLease(lease),
    holder: toChain(holder),
    lastIssued: Number(issued?.toString() ?? 0),
  };
}
