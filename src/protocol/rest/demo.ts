// The demo of `holdfast dev`: real worker processes, which are really stopped.

import { demo as demoSchema, type Scene, sceneParams } from '../messages/coordinator.ts';
import { type Coordinator, type Demo, ProblemReply, type Route, route } from './route.ts';

const NONE = { 404: { what: 'There is no demo here.' } } as const;

const read = route({
  method: 'GET',
  path: '/v1/demo',
  name: 'readDemo',
  summary: 'The workers of the demo, and what happened to them.',
  allows: ['operate'],
  answers: { 200: { what: 'As it is now.', schema: demoSchema }, ...NONE },
  handle: async (coordinator) => ({ status: 200, body: demoOf(coordinator).read() }),
});

const play = route({
  method: 'POST',
  path: '/v1/demo/:scene',
  name: 'playDemo',
  summary:
    'Plays a scene: an order asks for approval, a worker is frozen in its work, or a payment fails.',
  allows: ['operate'],
  params: sceneParams,
  answers: {
    202: { what: 'It is under way.', schema: demoSchema },
    ...NONE,
    409: { what: 'A scene is being played.' },
  },
  async handle(coordinator, { params }) {
    const found = demoOf(coordinator);
    if (found.read().isPlaying) {
      throw new ProblemReply(409, 'demo-busy', 'A scene is being played: let it end first.');
    }
    found.play(params.scene as Scene);
    return { status: 202, body: found.read() };
  },
});

function demoOf({ demo }: Coordinator): Demo {
  if (demo !== undefined) return demo;
  throw new ProblemReply(404, 'demo-off', 'There is no demo here: `holdfast dev` has one.');
}

export const demoRoutes: readonly Route[] = [read, play];
