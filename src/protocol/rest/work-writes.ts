// Writes of owners: from messages to what the port takes, and what came of each.

import { interactionIdOf } from '../../engine/ids.ts';
import { type CallKey, type ExecutionId, parsePipelineName } from '../../execution/names.ts';
import type {
  CoordinatorStore,
  Finish,
  GiveBack,
  OwnerWrite,
  Park,
} from '../../store/contract/execution-store.ts';
import type { WriteMessage, WritesAnswer } from '../messages/work.ts';
import { requireOpenName } from './handling.ts';
import { problemFrom } from './problems.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';
import {
  remindersIn,
  requireOwnValues,
  requireReadable,
  rowsOf,
  type Submitted,
  submissionsIn,
} from './work-content.ts';
import { isIssued } from './work-session.ts';

export type OwnWrite = Written & {
  /** Digests of the values that it refers to. */
  readonly refersTo: readonly string[];
  readonly rows: number;
};

type Written =
  | { readonly verb: 'record'; readonly request: OwnerWrite }
  | { readonly verb: 'finish'; readonly request: Finish }
  | { readonly verb: 'park'; readonly request: Park }
  | { readonly verb: 'giveBack'; readonly request: GiveBack };

/** Throws when it would reach into another project, or carries what nobody could read. */
export function toWrite(message: WriteMessage, caller: Caller): OwnWrite {
  const { verb, attachments, ...rest } = message;
  requireOwnReach(message, caller);
  const refersTo = requireReadable(message);
  const bytes = attachments?.map((each) => ({ ...each, bytes: Buffer.from(each.bytes, 'base64') }));
  const { project } = caller;
  const request = { ...rest, project, ...(bytes === undefined ? {} : { attachments: bytes }) };
  return { verb, request, refersTo, rows: rowsOf(message) } as unknown as OwnWrite;
}

type Performing = Pick<Coordinator, 'store' | 'onFault'>;

/** Many at once, so that they share commits. What one of them runs into is its own. */
export async function perform(
  coordinator: Performing,
  caller: Caller,
  writes: readonly OwnWrite[],
): Promise<WritesAnswer> {
  const answers: WritesAnswer['answers'][number][] = [];
  for (const group of groupsOf(writes)) {
    answers.push(...(await Promise.all(group.map((each) => performed(coordinator, caller, each)))));
  }
  return { answers };
}

/** What one commit may take: others have their turn between two of them. */
const GROUP_ROWS_MAX = 5_000;

function groupsOf(writes: readonly OwnWrite[]): readonly (readonly OwnWrite[])[] {
  const groups: OwnWrite[][] = [];
  let rows = Number.POSITIVE_INFINITY;
  for (const write of writes) {
    rows += write.rows;
    if (rows > GROUP_ROWS_MAX) {
      groups.push([]);
      rows = write.rows;
    }
    groups.at(-1)?.push(write);
  }
  return groups;
}

async function performed(
  { store, onFault }: Performing,
  caller: Caller,
  write: OwnWrite,
): Promise<WritesAnswer['answers'][number]> {
  const { executions } = store;
  const { id, fence } = write.request;
  try {
    if (!(await isIssued(store, { id, fence, project: caller.project }))) {
      const refusal = { kind: 'refused', why: 'fence-ahead', id, fence };
      return refusal;
    }
    if (write.verb === 'finish') await requireSameOrigin(store, caller, write.request);
    const { refersTo: digests } = write;
    if (digests.length > 0) {
      await requireOwnValues(executions, caller.project, { id, digests });
    }
    const answer = await performOne(executions, write);
    return answer.kind === 'refused' ? await told(executions, caller, { write, answer }) : answer;
  } catch (error) {
    const { code, detail, isFault } = problemFrom(error);
    if (isFault) onFault?.(code, error);
    return { kind: 'fault', code, detail } as const;
  }
}

/** Of an execution that is somebody else's, not even why. Asked only when it was refused anyway. */
async function told(
  executions: CoordinatorStore['executions'],
  { project }: Caller,
  { write, answer }: { readonly write: OwnWrite; readonly answer: { readonly kind: string } },
): Promise<{ readonly kind: string }> {
  const { id } = write.request;
  const record = await executions.read(id);
  const refusal = { kind: 'refused', why: 'execution-unknown', id };
  return record?.project === project ? answer : refusal;
}

function performOne(
  executions: CoordinatorStore['executions'],
  write: OwnWrite,
): Promise<{ readonly kind: string }> {
  switch (write.verb) {
    case 'record':
      return executions.record(write.request);
    case 'finish':
      return executions.finish(write.request);
    case 'park':
      return executions.park(write.request);
    case 'giveBack':
      return executions.giveBack(write.request);
  }
}

// How far an owner's write reaches: into its own project, to its own children and its own questions. Ids are
// the worker's choice, so what they stand for is looked at before anything is written.

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
