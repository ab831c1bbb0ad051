// Whether it lives, whether it can work, and what it counts.

import { Type } from 'typebox';
import { DEFAULT_PROJECT } from '../../execution/names.ts';
import type { Seal } from '../../features/export/model.ts';
import { SharedLook } from '../../support/turns.ts';
import { CLOSED } from '../messages/words.ts';
import { type Coordinator, ProblemReply, type Route, route } from './route.ts';

const READY_MS = 1_000;
const ok = Type.Object({ status: Type.Literal('ok') }, CLOSED);

const live = route({
  method: 'GET',
  path: '/healthz',
  name: 'checkHealth',
  summary: 'The process answers.',
  allows: 'public',
  answers: { 200: { what: 'It does.', schema: ok } },
  handle: async () => ({ status: 200, body: { status: 'ok' } }),
});

const ready = route({
  method: 'GET',
  path: '/readyz',
  name: 'checkReadiness',
  summary:
    'The store answers within a second and is not sealed, and the coordinator is not stopping.',
  allows: 'public',
  answers: { 200: { what: 'Send requests.', schema: ok }, 503: { what: 'Send them elsewhere.' } },
  async handle(coordinator, { signal }) {
    const found = signal.aborted ? 'away' : await storeFound(coordinator);
    if (found === 'away') {
      throw new ProblemReply(503, 'not-ready', 'The store does not answer, or this stops.');
    }
    if (found !== undefined) {
      const { to, reason } = found;
      const why = `The store was moved to ${JSON.stringify(to)} (${reason}) and takes no writes any more. Ask a coordinator of the new one.`;
      throw new ProblemReply(503, 'store-sealed', why);
    }
    return { status: 200, body: { status: 'ok' } };
  },
});

const metrics = route({
  method: 'GET',
  path: '/metrics',
  name: 'readMetrics',
  summary:
    'What is counted here, as Prometheus reads it: for a key of one project only what is of that project.',
  allows: ['operate'],
  answers: { 200: { what: 'Text.' }, 404: { what: 'prom-client is not installed.' } },
  async handle({ metrics: counted }, { caller }) {
    if (counted === undefined) {
      throw new ProblemReply(
        404,
        'metrics-off',
        'Metrics need the package prom-client beside holdfast: npm install prom-client.',
      );
    }
    const { key, isOfAll, project } = caller;
    const { type, text } = await counted(key === undefined || isOfAll ? undefined : project);
    return { status: 200, raw: { type, bytes: Buffer.from(text) } };
  },
});

type Found = Seal | 'away' | undefined;

/** Anybody may ask, so all that ask within this time share one look at the store. */
const LOOK_MS = 1_000;
const looks: WeakMap<Coordinator, SharedLook<Found>> = new WeakMap();

function storeFound(coordinator: Coordinator): Promise<Found> {
  const { clock } = coordinator;
  const look = (): Promise<Found> => lookAtStore(coordinator);
  const shared = looks.get(coordinator) ?? new SharedLook({ look, clock, ageMs: LOOK_MS });
  looks.set(coordinator, shared);
  return shared.found();
}

/** Undefined when it can be worked with. */
function lookAtStore({ store, timers }: Coordinator): Promise<Found> {
  return new Promise((resolve) => {
    const cancel = timers.after(READY_MS, () => resolve('away'));
    const told = (found: Found): void => {
      cancel();
      resolve(found);
    };
    Promise.all([store.seals.read(), store.access.project(DEFAULT_PROJECT)]).then(
      ([seal]) => told(seal),
      () => told('away'),
    );
  });
}

export const healthRoutes: readonly Route[] = [live, ready, metrics];
