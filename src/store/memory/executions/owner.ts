// What the verbs of owners share: the view that decides, and what every write of an owner carries.

import type { OwnerDecision, OwnerRequest, OwnerView } from '../../../execution/decide/owner.ts';
import type { NewsRefusal, OwnerRefusal } from '../../../execution/refusal.ts';
import type { Instant } from '../../../support/clock.ts';
import type { OwnerWrite } from '../../contract/execution-store.ts';
import { openAwaits } from './awaits.ts';
import type { Entry, ExecutionState } from './state.ts';
import { insertChildren } from './submit.ts';

export function ownerView(
  state: ExecutionState,
  { id, seq }: Pick<OwnerRequest, 'id' | 'seq'>,
  count: number,
): OwnerView {
  const entry = state.entries.get(id);
  return {
    execution: entry?.execution,
    holder: state.kernel.chain(entry?.execution.session),
    lastIssued: state.kernel.lastIssued,
    lastSeq: entry?.history.length ?? 0,
    stored: entry?.history.slice(Math.max(0, seq - 1), Math.max(0, seq - 1) + count) ?? [],
  };
}

type Refused<Why> = { readonly kind: 'refused' } & Why;

/** A fence that nobody issued halts the store, whichever verb was shown it. */
export function refused<Why extends OwnerRefusal | NewsRefusal>(
  state: ExecutionState,
  refusal: Why,
): Refused<Why> {
  if (refusal.why === 'fence-ahead') state.kernel.haltFor(refusal.fence, state.kernel.now());
  return { kind: 'refused', ...refusal };
}

type Change = Extract<OwnerDecision, { kind: 'apply' }>;

/** Events, row, children, awaits and attachments together; ends go through `endExecution` for the first two. */
export function write(
  state: ExecutionState,
  entry: Entry,
  {
    change,
    request,
    now,
  }: {
    readonly change: Change;
    readonly request: Omit<OwnerWrite, 'events'>;
    readonly now: Instant;
  },
): void {
  state.append(entry, change.events);
  state.put(entry, change.execution);
  carry(state, entry, { request, now });
  if (request.awaits !== undefined) openAwaits(state, entry, { awaits: request.awaits, now });
}

export function carry(
  state: ExecutionState,
  entry: Entry,
  { request, now }: { readonly request: Omit<OwnerWrite, 'events'>; readonly now: Instant },
): void {
  for (const attachment of request.attachments ?? []) {
    entry.attachments.set(attachment.name, { ...structuredClone(attachment), at: now });
  }
  const { children = [] } = request;
  insertChildren(state, children, now);
  if (children.length > 0) state.ring();
}

/** The entry that a decision was about. */
export function entryOf(state: ExecutionState, { id }: Pick<OwnerRequest, 'id'>): Entry {
  const entry = state.entries.get(id);
  if (entry === undefined) throw new Error('a decision to write is about an execution that exists');
  return entry;
}
