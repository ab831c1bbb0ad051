// What people do to an execution.

import type { CommandAnswer } from '../../store/contract/execution-store.ts';
import { actBody, commandAnswer, idParams, signalBody } from '../messages/execution.ts';
import { refused } from './problems.ts';
import { requireOpenName } from './reserved.ts';
import { actingFor, type Reply, type Route, route } from './route.ts';

const ANSWERS = {
  200: { what: 'Done, passed on to its owner, or nothing to change.', schema: commandAnswer },
  409: { what: 'It has ended.' },
} as const;

export function commandReply(answer: CommandAnswer): Reply {
  if (answer.kind === 'refused') throw refused(answer);
  return { status: 200, body: { kind: answer.kind, status: answer.status } };
}

function act(verb: 'cancel' | 'pause' | 'resume', summary: string): Route {
  return route({
    method: 'POST',
    path: `/v1/executions/:id/${verb}`,
    name: `${verb}Execution`,
    summary,
    allows: verb === 'cancel' ? ['submit', 'operate'] : ['operate'],
    params: idParams,
    body: actBody,
    answers: ANSWERS,
    async handle({ holdfast }, { params, body, caller }) {
      const acting = { ...actingFor(caller), ...body };
      return commandReply(await holdfast[verb](params.id, acting));
    },
  });
}

const signal = route({
  method: 'POST',
  path: '/v1/executions/:id/signals',
  name: 'signalExecution',
  summary: 'A named message to its code; kept until the code asks for it.',
  allows: ['submit', 'operate'],
  params: idParams,
  body: signalBody,
  takesValues: true,
  answers: ANSWERS,
  async handle({ holdfast }, { params, body, caller }) {
    requireOpenName('A signal', body.name);
    const message = { ...body, ...actingFor(caller) };
    return commandReply(await holdfast.signal(params.id, message));
  },
});

export const commandRoutes: readonly Route[] = [
  act('cancel', 'Cancels it; a running one stops when its owner takes notice.'),
  act('pause', 'Holds it back from workers until it is resumed.'),
  act('resume', 'Lets it go on: one that is paused, or that drift has blocked.'),
  signal,
];
