// Which ttl? Asked of a coordinator, with what it has seen and what whoever asks knows.

import { adviceQuery, advised } from '../messages/advice.ts';
import { type Route, route } from './route.ts';
import { maySee } from './session-message.ts';

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
  async handle({ store, advise }, { query, caller }) {
    const found = await store.sessions.list({ limit: SESSIONS_MAX });
    const live = found
      .filter((each) => each.state === 'alive' && maySee(caller, each))
      .map(({ session }) => session);
    return { status: 200, body: advise({ query, live }) };
  },
});

export const adviceRoutes: readonly Route[] = [read];
