import type { ListSessions, SessionInspection } from '../../../src/lease/port.ts';
import { inspection } from './inspect-session.ts';
import type { ModelState } from './state.ts';

export function listSessions(state: ModelState, query: ListSessions): readonly SessionInspection[] {
  const now = state.now();
  const { after } = query;
  return [...state.sessions.values()]
    .filter((session) => query.all === true || session.end === undefined)
    .filter((session) => after === undefined || session.id > after)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, query.limit)
    .map((session) => inspection(state.chain(session.id), now))
    .filter((each) => each !== undefined);
}
