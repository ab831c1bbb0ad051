// Writes of owners: from messages to what the port takes, and what came of each.

import type {
  CoordinatorStore,
  Finish,
  GiveBack,
  OwnerWrite,
  Park,
} from '../../store/contract/execution-store.ts';
import type { WriteMessage, WritesAnswer } from '../messages/work.ts';
import { isIssued } from './issued-fences.ts';
import { problemFrom } from './problems.ts';
import type { Caller, Coordinator } from './route.ts';
import { requireOwnValues } from './values-apart.ts';
import { requireReadable, rowsOf } from './work-content.ts';
import { requireOwnReach, requireSameOrigin } from './work-reach.ts';

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
