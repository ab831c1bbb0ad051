// Workers that are not what they say (RE-9), for who looks for them. The store keeps what a worker is; what it said
// that it is, is known to the coordinator that refused it, until it says something else. What is registered is told
// to who lists workers, never to the worker: it could say that next.

import type { ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';
import type { RefusedWorkerMessage } from '../../protocol/messages/operations.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import type { Announcement, Release } from './model.ts';
import type { Announced } from './port.ts';

type Refusal = Exclude<
  Extract<Announced, { readonly kind: 'refused' }>,
  { readonly why: 'session-not-live' }
>;

interface Refused {
  readonly refusal: Refusal;
  readonly digest: string;
  /** Of its code, for the pipeline that it was refused for. */
  readonly contract: string;
}

/** Of one project; of more than these the oldest are not known. */
const KNOWN_MAX = 1_000;

type OfProjects = Map<ProjectName, Map<SessionId, Refused>>;

const known: WeakMap<CoordinatorStore, OfProjects> = new WeakMap();

/** With every announcement: what is well again is forgotten. */
export function noteAnnounced(
  store: CoordinatorStore,
  said: Announcement & { readonly project: ProjectName },
  answer: Announced,
): void {
  const { session, project, release } = said;
  const all: OfProjects = known.get(store) ?? new Map();
  known.set(store, all);
  const own = all.get(project) ?? new Map<SessionId, Refused>();
  own.delete(session);
  const isRefused = answer.kind === 'refused' && answer.why !== 'session-not-live';
  if (isRefused && release !== undefined) {
    const contract = release.contracts[answer.pipeline] ?? '';
    own.set(session, { refusal: answer, digest: release.digest, contract });
  }
  for (const oldest of own.keys()) {
    if (own.size <= KNOWN_MAX) break;
    own.delete(oldest);
  }
  all.set(project, own);
}

/** Of these sessions, those that this coordinator has refused. */
export async function refusedAmong(
  store: CoordinatorStore,
  sessions: readonly { readonly id: SessionId; readonly project: ProjectName | undefined }[],
): Promise<ReadonlyMap<SessionId, RefusedWorkerMessage>> {
  const told = new Map<SessionId, RefusedWorkerMessage>();
  for (const { id, project } of sessions) {
    if (project === undefined) continue;
    const refused = known.get(store)?.get(project)?.get(id);
    if (refused === undefined) continue;
    const { pipeline, name } = refused.refusal;
    const registered = await store.executions.release({ project, pipeline, name });
    told.set(id, messageOf(refused, registered));
  }
  return told;
}

function messageOf(refused: Refused, registered: Release | undefined): RefusedWorkerMessage {
  const { refusal, digest } = refused;
  const { why, pipeline, name } = refusal;
  const differs = differenceOf(refused, registered);
  return {
    ...{ release: name, digest, pipeline, why },
    ...(differs === undefined ? {} : { differs }),
    detail: detailOf({ pipeline, name, why, digest }, differs),
  };
}

type Difference = NonNullable<RefusedWorkerMessage['differs']>;

function differenceOf(
  { refusal, digest, contract }: Refused,
  registered: Release | undefined,
): Difference | undefined {
  if (refusal.why !== 'release-differs' || registered === undefined) return undefined;
  return refusal.part === 'contract'
    ? { part: 'contract', announced: contract, registered: registered.contractVersion }
    : { part: 'digest', announced: digest, registered: registered.digest };
}

/** What it said, why that is refused, and what to do. */
function detailOf(
  { pipeline, name, why, digest }: Pick<Refusal, 'pipeline' | 'name' | 'why'> & { digest: string },
  differs: Difference | undefined,
): string {
  const said = `It says that it is release "${name}" of pipeline "${pipeline}", with digest ${digest}`;
  if (why === 'release-unknown') {
    return `${said}; none of that name is registered for any of its pipelines. Register it (holdfast releases register ${pipeline} ${name} …), or start it with the name of one that is.`;
  }
  if (why === 'release-retired') {
    return `${said}, which is retired. Stop it, or register its build under a name of its own.`;
  }
  if (differs?.part === 'contract') {
    return `${said}. Its code has contract ${differs.announced}, and registered is ${differs.registered}. Deploy the code that was registered, or register this one under a name of its own.`;
  }
  return `${said}; registered is ${differs?.registered ?? 'another'}. Deploy the artifact that was registered, or register this one under a name of its own.`;
}
