// The store of a coordinator, behind the quotas of projects, by whichever way a write came. Of keys and schedules the
// store counts itself, in the statement that adds one; a write that would add more of the rest is refused before it
// reaches the store.

import { OWN_PREFIX, type PipelineName, type ProjectName } from '../execution/names.ts';
import { PROJECT_METADATA } from '../lease/session.ts';
import { ProblemReply } from '../protocol/rest/route.ts';
import type {
  Attachment,
  CoordinatorStore,
  ExecutionStore,
  OwnerWrite,
  Submit,
} from '../store/contract/execution-store.ts';
import { Turns } from '../support/turns.ts';
import type { Addition, ProjectQuotas } from './project-quotas.ts';

export function quotaStore(store: CoordinatorStore, quotas: ProjectQuotas): CoordinatorStore {
  const { sessions, access, executions } = store;
  const open: typeof sessions.open = (request) => {
    const project = request.metadata[PROJECT_METADATA] as ProjectName | undefined;
    if (project === undefined) return sessions.open(request);
    const missing = async (): Promise<number> =>
      (await sessions.inspect(request.id)) === undefined ? 1 : 0;
    const one = { project, quota: 'sessions', count: 1, missing } as const;
    return quotas.within(one, () => sessions.open(request));
  };
  const { keys, schedules } = quotas.defaults;
  const limited = {
    ...executions,
    ...limitedSubmits(executions, quotas),
    ...limitedWrites(executions, quotas),
    putSchedule: (request) => executions.putSchedule({ ...request, quota: schedules }),
  } satisfies ExecutionStore;
  return {
    ...store,
    sessions: { ...sessions, open },
    access: { ...access, addKey: (request) => access.addKey({ ...request, quota: keys }) },
    executions: limited,
  };
}

type Submits = Pick<ExecutionStore, 'submit' | 'redrive' | 'fireSchedule'>;

function limitedSubmits(executions: ExecutionStore, quotas: ProjectQuotas): Submits {
  return {
    async submit(request) {
      if (!isUsers(request)) return executions.submit(request);
      const missing = async (): Promise<number> =>
        (await executions.submitted(request)) === undefined ? 1 : 0;
      const one = { project: request.project, quota: 'executions', count: 1, missing } as const;
      return quotas.within(one, () => executions.submit(request));
    },
    async redrive(request) {
      const addition = addedExecutions(executions, request.project, [request.submit]);
      return quotas.within(addition, () => executions.redrive(request));
    },
    async fireSchedule(request) {
      const addition = addedExecutions(executions, request.project, request.submits);
      return quotas
        .within(addition, () => executions.fireSchedule(request))
        .catch((refusal: unknown) => {
          if (!(refusal instanceof ProblemReply)) throw refusal;
          // Its time is left out, or the schedules of a project without room would stay in front of all others.
          return executions.fireSchedule({ ...request, submits: [] });
        });
    },
  };
}

type Writes = Pick<ExecutionStore, 'putBlob' | 'record' | 'finish' | 'park' | 'giveBack'>;

function limitedWrites(executions: ExecutionStore, quotas: ProjectQuotas): Writes {
  // A commit has large values of a project once: others' writes may be in it, and wait for it.
  const turns = new Turns(1);
  /** A worker repeats what is refused here until there is room. */
  const limited =
    <Write extends OwnerWrite, Answer>(act: (write: Write) => Promise<Answer>) =>
    (write: Write): Promise<Answer> =>
      additionsOf(executions, write).reduce<() => Promise<Answer>>(
        (next, addition) => () => quotas.within(addition, next),
        () => act(write),
      )();
  return {
    async putBlob(blob) {
      const { project, digest, bytes } = blob;
      const missing = async (): Promise<number> =>
        (await executions.missingBlobs({ project, digests: [digest] })).length * bytes.length;
      const all = { project, quota: 'bytes', count: bytes.length, missing } as const;
      return quotas.within(all, () => turns.take(project, () => executions.putBlob(blob)));
    },
    record: limited((write) => executions.record(write)),
    finish: limited((write) => executions.finish(write)),
    park: limited((write) => executions.park(write)),
    giveBack: limited((write) => executions.giveBack(write)),
  };
}

const NONE: readonly Addition[] = [];

function additionsOf(executions: ExecutionStore, write: OwnerWrite): readonly Addition[] {
  const { id, children, attachments, project } = write;
  if (children === undefined && attachments === undefined) return NONE;
  const started = Map.groupBy(children?.filter(isUsers) ?? [], (child) => child.project);
  const additions = [...started].map(([of, some]) => addedExecutions(executions, of, some));
  if (attachments === undefined || project === undefined) return additions;
  const missing = async (): Promise<number> => {
    const there = new Map(
      (await executions.attachments(id)).map((each) => [each.name, each.bytes]),
    );
    return bytesOf(attachments.filter((each) => there.get(each.name) !== sizeOf(each)));
  };
  return [...additions, { project, quota: 'bytes', count: bytesOf(attachments), missing }];
}

function bytesOf(attachments: readonly Attachment[]): number {
  return attachments.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** As `attachments` returns it. */
function sizeOf({ bytes, sealed }: Attachment): number {
  return sealed?.size ?? bytes.length;
}

function addedExecutions(
  executions: ExecutionStore,
  project: ProjectName,
  submits: readonly Submit[],
): Addition {
  const missing = async (): Promise<number> =>
    submits.length - (await executions.readMany(submits.map(({ id }) => id))).length;
  return { project, quota: 'executions', count: submits.length, missing };
}

/** By a job an operator cancels many: it must start where a project has too many. */
function isUsers({ pipeline }: { readonly pipeline: PipelineName }): boolean {
  return !pipeline.startsWith(OWN_PREFIX);
}
