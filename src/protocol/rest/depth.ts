// How much waits for workers, and how much they run.

import { depth } from '../messages/operations.ts';
import { type Route, route } from './route.ts';

/** Beyond it, how many more says nothing new, and counting them costs. */
const DEPTH_MAX = 10_000;

const read = route({
  method: 'GET',
  path: '/v1/depth',
  name: 'readDepth',
  summary: 'How many executions of the project are ready for a worker and how many run, by lane.',
  allows: ['submit', 'operate'],
  answers: { 200: { what: 'Each counted up to `max`.', schema: depth } },
  async handle({ store }, { caller }) {
    const { project } = caller;
    const { executions } = store;
    const [lanes, storeProblem] = await Promise.all([
      executions.depth({ max: DEPTH_MAX, project }),
      caller.isOfAll ? executions.findProblem?.() : undefined,
    ]);
    const counted = { max: DEPTH_MAX, lanes: [...lanes] };
    return { status: 200, body: { ...counted, ...(storeProblem && { storeProblem }) } };
  },
});

export const depthRoutes: readonly Route[] = [read];
