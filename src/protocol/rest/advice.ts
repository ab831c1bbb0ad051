// Which ttl? Asked of a coordinator, with what it has seen and what whoever asks knows.

import { adviceQuery, advised } from '../messages/advice.ts';
import { type Route, route } from './route.ts';
import { maySee, scanned } from './sessions.ts';

/** Enough to know what most are set to. */
const SESSIONS_MAX = 500;

const read = route({
  method: 'GET',
  path: '/v1/advice',
  name: 'readAdvice',
  summary: 'Which ttl and grace fit what is wanted, and why; with all that were looked at.',
  allows: ['operate'],
  query: adviceQuery,
  answers: {
    200: { what: 'A recommendation, or limits that contradict each other.', schema: advised },
  },
  async handle(coordinator, { query, caller }) {
    const { items } = await scanned(
      coordinator,
      { limit: SESSIONS_MAX },
      (each) => each.state === 'alive' && maySee(caller, each),
    );
    const live = items.map(({ session }) => session);
    const { isOfAll } = caller;
    return { status: 200, body: coordinator.advise({ query, live, isOfAll }) };
  },
});

export const adviceRoutes: readonly Route[] = [read];
