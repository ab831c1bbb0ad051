import type { EventPage, ReadEvents } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function readEvents(state: ModelState, query: ReadEvents): EventPage {
  const oldest = state.events[0]?.seq ?? state.eventSeq + 1;
  if (query.after + 1 < oldest) return { kind: 'truncated', oldest: oldest - 1 };
  const start = query.after + 1 - oldest;
  const events = state.events.slice(start, start + query.limit);
  return { kind: 'events', events, next: events.at(-1)?.seq ?? query.after };
}
