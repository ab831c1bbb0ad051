// What people do to an execution.

import { parseExecutionId } from '../../execution/names.ts';
import type { CommandAnswer } from '../../store/contract/execution-store.ts';
import { actBody, commandAnswer, idParams, signalBody } from '../messages/execution.ts';
import { isReserved, requireOpenName } from './handling.ts';
import { refused } from './problems.ts';
import {
  actingFor,
  type Caller,
  type Coordinator,
  ProblemReply,
  type Reply,
  type Route,
  route,
} from './route.ts';

const ANSWERS = {
  200: { what: 'Done, passed on to its owner, or nothing to change.', schema: commandAnswer },
  409: { what: 'It has ended.' },
} as const;

export function commandReply(answer: CommandAnswer): Reply {
  if (answer.kind === 'refused') throw refused(answer);
  return { status: 200, body: { kind: answer.kind, status: answer.status } };
}

/** What operators do is an execution, too: who only submits does not stop it. */
async function requireNoAct(
  { store }: Coordinator,
  { project, roles }: Caller,
  id: string,
): Promise<void> {
  if (roles.has('operate')) return;
  const record = await store.executions.read(parseExecutionId(id));
  if (record?.project !== project || !isReserved(record.pipeline)) return;
  throw new ProblemReply(
    403,
    'role-missing',
    `Execution ${id} is an act of an operator, or of the engine itself: this needs a key with role operate.`,
  );
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
    async handle(coordinator, { params, body, caller }) {
      await requireNoAct(coordinator, caller, params.id);
      const acting = { ...actingFor(caller), ...body };
      return commandReply(await coordinator.holdfast[verb](params.id, acting));
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
  async handle(coordinator, { params, body, caller }) {
    requireOpenName('A signal', body.name);
    await requireNoAct(coordinator, caller, params.id);
    const message = { ...body, ...actingFor(caller) };
    return commandReply(await coordinator.holdfast.signal(params.id, message));
  },
});

export const commandRoutes: readonly Route[] = [
  act('cancel', 'Cancels it; a running one stops when its owner takes notice.'),
  act('pause', 'Holds it back from workers until it is resumed.'),
  act('resume', 'Lets it go on: one that is paused, or that drift has blocked.'),
  signal,
];
