// How far an owner's write reaches: into its own project, to its own children and its own questions. Ids are
// the worker's choice, so what they stand for is looked at before anything is written.

import { interactionIdOf } from '../../engine/ids.ts';
import { type CallKey, type ExecutionId, parsePipelineName } from '../../execution/names.ts';
import type { CoordinatorStore, Finish } from '../../store/contract/execution-store.ts';
import type { WriteMessage } from '../messages/work.ts';
import { requireOpenName } from './handling.ts';
import { type Caller, ProblemReply } from './route.ts';

type Submitted = NonNullable<WriteMessage['children']>[number];

function remindersIn(message: WriteMessage): readonly Submitted[] {
  return (message.awaits ?? []).flatMap(({ reminders }) => reminders.map(({ start }) => start));
}

export function submissionsIn(message: WriteMessage): readonly Submitted[] {
  const successor = message.verb === 'finish' ? message.successor : undefined;
  return [
    ...(message.children ?? []),
    ...remindersIn(message),
    ...(successor === undefined ? [] : [successor]),
  ];
}

/** Throws when it would reach further. A successor's parent is looked at when it is written. */
export function requireOwnReach(message: WriteMessage, { project }: Caller): void {
  const submissions = submissionsIn(message);
  for (const each of submissions) {
    requireOpenName('A pipeline', parsePipelineName(each.pipeline));
  }
  if (submissions.some((each) => each.project !== project)) {
    throw denied('A worker submits into its own project only.');
  }
  const { children = [], id } = message;
  if (children.some(({ parent }) => parent !== undefined && parent.id !== id)) {
    throw denied(`What the owner of ${id} submits has ${id} for its parent, or none.`);
  }
  if (remindersIn(message).some(({ parent }) => parent !== undefined)) {
    throw denied(`A reminder has no parent: nobody waits for it.`);
  }
  if ([...children, ...remindersIn(message)].some(isSaidOfOthers)) {
    throw denied(`What a worker submits is submitted by no caller and no schedule.`);
  }
  requireOwnQuestions(message);
}

/** Who asked for it, as people read it: a caller of the API, or a schedule. */
function isSaidOfOthers({ submittedBy, scheduled }: Submitted): boolean {
  return submittedBy !== undefined || scheduled !== undefined;
}

/** W-11: an id that follows from another execution's await would be that one's question. */
function requireOwnQuestions(message: WriteMessage): void {
  const execution = message.id as ExecutionId;
  for (const { call, items } of message.awaits ?? []) {
    const isForeign = items.some(
      ({ id }, item) => id !== interactionIdOf({ execution, call: call as CallKey, item }),
    );
    if (!isForeign) continue;
    throw denied(`The ids of "${call}" do not follow from execution ${execution} and that call.`);
  }
}

function denied(why: string): ProblemReply {
  return new ProblemReply(403, 'project-denied', `${why} Nothing was written.`);
}

/**
 * M-18: whoever goes on tells whom its predecessor would have told, which never changes; and was asked for by whom that
 * was.
 */
export async function requireSameOrigin(
  { executions }: Pick<CoordinatorStore, 'executions'>,
  { project }: Caller,
  { id, successor }: Pick<Finish, 'id' | 'successor'>,
): Promise<void> {
  const { parent, submittedBy, scheduled } = successor ?? {};
  if ((parent ?? submittedBy ?? scheduled) === undefined) return;
  const record = await executions.read(id);
  // Of what is somebody else's, nobody learns where it is from by guessing it.
  const own = record?.project === project ? record : undefined;
  if (parent !== undefined && !(own?.parent?.id === parent.id && own.parent.call === parent.call)) {
    throw denied(`What goes on for ${id} has the parent of ${id}, or none.`);
  }
  const isSame =
    (submittedBy === undefined || submittedBy === own?.submittedBy) &&
    (scheduled === undefined ||
      (scheduled.id === own?.scheduled?.id && scheduled.at === own.scheduled.at));
  if (isSame) return;
  throw denied(`What goes on for ${id} was submitted by whom ${id} was, or by nobody.`);
}
