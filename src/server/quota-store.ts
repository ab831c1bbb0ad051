// The store of a coordinator, behind the quotas of projects: a write that would take more than its project may have is
// refused before it reaches the store, by whichever way it came.

import { OWN_PREFIX, type PipelineName, type ProjectName } from '../execution/names.ts';
import { PROJECT_METADATA } from '../lease/session.ts';
import { ProblemReply } from '../protocol/rest/route.ts';
import type {
  CoordinatorStore,
  ExecutionStore,
  OwnerWrite,
} from '../store/contract/execution-store.ts';
import { Turns } from '../support/turns.ts';
import type { ProjectQuotas } from './project-quotas.ts';

export function quotaStore(store: CoordinatorStore, quotas: ProjectQuotas): CoordinatorStore {
  const { sessions, access, executions } = store;
  const open: typeof sessions.open = async (request) => {
    const project = request.metadata[PROJECT_METADATA] as ProjectName | undefined;
    if (project !== undefined) await quotas.take(project, 'sessions');
    return sessions.open(request);
  };
  const addKey: typeof access.addKey = async (request) => {
    if (request.project !== undefined) await quotas.take(request.project, 'keys');
    return access.addKey(request);
  };
  const limited = {
    ...executions,
    ...limitedSubmits(executions, quotas),
    ...limitedWrites(executions, quotas),
  };
  return {
    ...store,
    sessions: { ...sessions, open },
    access: { ...access, addKey },
    executions: limited,
  };
}

type Submits = Pick<ExecutionStore, 'submit' | 'redrive' | 'putSchedule' | 'fireSchedule'>;

function limitedSubmits(executions: ExecutionStore, quotas: ProjectQuotas): Submits {
  return {
    async submit(request) {
      if (isUsers(request)) await quotas.take(request.project, 'executions');
      return executions.submit(request);
    },
    async redrive(request) {
      await quotas.take(request.project, 'executions');
      return executions.redrive(request);
    },
    async putSchedule(request) {
      await quotas.take(request.project, 'schedules').catch(async (refusal: unknown) => {
        // One that is there may be changed.
        if ((await executions.schedule(request)) === undefined) throw refusal;
      });
      return executions.putSchedule(request);
    },
    async fireSchedule(request) {
      const { project, submits } = request;
      const hasRoom = await quotas.take(project, 'executions', submits.length).then(
        () => true,
        (refusal: unknown) => {
          if (refusal instanceof ProblemReply) return false;
          throw refusal;
        },
      );
      // Its time is left out, or the schedules of a project without room would stay in front of all others.
      return executions.fireSchedule(hasRoom ? request : { ...request, submits: [] });
    },
  };
}

type Writes = Pick<ExecutionStore, 'putBlob' | 'record' | 'finish' | 'park' | 'giveBack'>;

function limitedWrites(executions: ExecutionStore, quotas: ProjectQuotas): Writes {
  // A commit has large values of a project once: others' writes may be in it, and wait for it.
  const turns = new Turns(1);
  /** A worker repeats what is refused here until there is room. */
  const within = async <Answer>(write: OwnerWrite, act: () => Promise<Answer>): Promise<Answer> => {
    const { children = [], attachments = [], project } = write;
    const started = Map.groupBy(children.filter(isUsers), (child) => child.project);
    for (const [of, { length }] of started) await quotas.take(of, 'executions', length);
    const bytes = attachments.reduce((sum, each) => sum + each.bytes.length, 0);
    if (project !== undefined) await quotas.take(project, 'bytes', bytes);
    return act();
  };
  const limited =
    <Write extends OwnerWrite, Answer>(act: (write: Write) => Promise<Answer>) =>
    (write: Write): Promise<Answer> =>
      write.children === undefined && write.attachments === undefined
        ? act(write)
        : within(write, () => act(write));
  return {
    async putBlob(blob) {
      await quotas.take(blob.project, 'bytes', blob.bytes.length);
      return turns.take(blob.project, () => executions.putBlob(blob));
    },
    record: limited((write) => executions.record(write)),
    finish: limited((write) => executions.finish(write)),
    park: limited((write) => executions.park(write)),
    giveBack: limited((write) => executions.giveBack(write)),
  };
}

/** By a job an operator cancels many: it must start where a project has too many. */
function isUsers({ pipeline }: { readonly pipeline: PipelineName }): boolean {
  return !pipeline.startsWith(OWN_PREFIX);
}
