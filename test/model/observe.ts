// Everything observable of a store.

import type { EventSeq, LeaseEvent } from '../../src/lease/event.ts';
import type { LeaseKey, SessionId } from '../../src/lease/names.ts';
import type {
  CarriedLease,
  KernelStore,
  LeaseInspection,
  SessionInspection,
} from '../../src/lease/port.ts';

export interface Observed {
  readonly leases: readonly LeaseInspection[];
  readonly sessions: readonly SessionInspection[];
  readonly living: readonly SessionId[];
  readonly carried: readonly (readonly CarriedLease[])[];
}

const PAGE = 500;

export const NOTHING: Observed = { leases: [], sessions: [], living: [], carried: [] };

export async function observe(store: KernelStore, keys: readonly LeaseKey[]): Promise<Observed> {
  const [sessions, living, leases] = await Promise.all([
    store.sessions.list({ limit: PAGE, all: true }),
    store.sessions.list({ limit: PAGE }),
    Promise.all(keys.map((key) => store.leases.inspect(key))),
  ]);
  const holders = [...new Set(leases.flatMap(({ record }) => record?.session ?? []))].sort();
  const carried = await Promise.all(holders.map((id) => store.sessions.leases(id)));
  return { leases, sessions, living: living.map(({ session }) => session.id), carried };
}

/** The events after `after`, and where to go on. */
export async function eventsAfter(
  store: KernelStore,
  after: EventSeq,
): Promise<{ readonly events: readonly LeaseEvent[]; readonly next: EventSeq }> {
  const events: LeaseEvent[] = [];
  for (let from = after; ; ) {
    const page = await store.leases.events({ after: from, limit: PAGE });
    if (page.kind === 'truncated') {
      if (page.oldest <= from) throw new Error(`O-1: sent back from ${from} to ${page.oldest}`);
      from = page.oldest;
      continue;
    }
    if (page.events.length === 0) return { events, next: from };
    events.push(...page.events);
    from = page.next;
  }
}

/**
 * Events in the order that matters: that of each key, and of each session. Between them a store may
 * write in any order, and may skip numbers.
 */
export function bySubject(events: readonly LeaseEvent[]): Readonly<Record<string, object[]>> {
  const subjects: Record<string, object[]> = {};
  for (const { seq: _, ...event } of events) {
    const subject = 'key' in event ? event.key : 'session' in event ? event.session : 'store';
    subjects[subject] = [...(subjects[subject] ?? []), event];
  }
  return Object.fromEntries(Object.entries(subjects).sort(([a], [b]) => (a < b ? -1 : 1)));
}
