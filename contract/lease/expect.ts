// Common assertions of cases: the kind of a reply, and that nothing stored has changed.

import assert from 'node:assert/strict';
import type { LeaseEvent } from '../../src/lease/event.ts';
import type { LeaseKey } from '../../src/lease/names.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type { Refusal } from '../../src/lease/refusal.ts';

const PAGE = 1_000;

/** Asserts the kind of a reply and narrows its type. */
export function expectKind<Answer extends { readonly kind: string }, Kind extends Answer['kind']>(
  result: Answer,
  kind: Kind,
): Extract<Answer, { readonly kind: Kind }> {
  assert.equal(result.kind, kind, `expected ${kind}, got ${JSON.stringify(result)}`);
  return result as Extract<Answer, { readonly kind: Kind }>;
}

export function expectRefusal(result: { readonly kind: string }, why: Refusal['why']): void {
  assert.deepEqual(
    { kind: result.kind, why: whyOf(result) },
    { kind: 'refused', why },
    JSON.stringify(result),
  );
}

/** Returns the reason of a refusal, or the kind of another reply. */
export function whyOf(result: { readonly kind: string }): string {
  return 'why' in result && typeof result.why === 'string' ? result.why : result.kind;
}

/** Runs a call that must be refused for this reason and change nothing. */
export async function expectUnchanged(
  store: KernelStore,
  why: Refusal['why'],
  operation: () => Promise<{ readonly kind: string }>,
): Promise<void> {
  expectRefusal(await unchangedBy(store, operation), why);
}

/** Returns the result of `action` after asserting that it changed nothing visible. */
export async function unchangedBy<Answer>(
  store: KernelStore,
  operation: () => Promise<Answer>,
): Promise<Answer> {
  const before = await everything(store);
  const result = await operation();
  assert.deepEqual(await everything(store), before, 'nothing stored may have changed');
  return result;
}

/** Lists every event that is still kept. */
export async function allEvents(store: KernelStore): Promise<readonly LeaseEvent[]> {
  const events: LeaseEvent[] = [];
  for (let after = 0; ; ) {
    const page = await store.leases.events({ after, limit: PAGE });
    if (page.kind === 'truncated') {
      assert.ok(page.oldest > after, 'a reader must be sent forwards');
      after = page.oldest;
      continue;
    }
    if (page.events.length === 0) return events;
    events.push(...page.events);
    after = page.next;
  }
}

export async function eventsOfKind<Kind extends LeaseEvent['kind']>(
  store: KernelStore,
  kind: Kind,
): Promise<readonly Extract<LeaseEvent, { readonly kind: Kind }>[]> {
  const isOfKind = (event: LeaseEvent): event is Extract<LeaseEvent, { readonly kind: Kind }> =>
    event.kind === kind;
  return (await allEvents(store)).filter(isOfKind);
}

/** Reads everything visible: every key in the events, every session, every event. */
async function everything(store: KernelStore): Promise<unknown> {
  const events = await allEvents(store);
  const keys = new Set<LeaseKey>(events.flatMap((event) => ('key' in event ? [event.key] : [])));
  const leases: unknown[] = [];
  for (const key of keys) leases.push(await store.leases.inspect(key));
  return { leases, sessions: await store.sessions.list({ limit: PAGE, all: true }), events };
}
