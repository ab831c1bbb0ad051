// Quotas that each coordinator counts for itself (P-14): the last count in the store, the writes in
// progress, and those added since. A shared counter would make all writes of a project wait for
// each other. Counting at each write would cost as much as the project has. So a coordinator counts
// at most once a second, and spends at most a hundredth of its time on it. One coordinator keeps
// within a quota. Each further one can exceed it by at most the quota, and only by what it adds
// between two counts.

import { OWN_PREFIX, type PipelineName, type ProjectName } from '../execution/names.ts';
import {
  type CountedQuota,
  DEFAULT_QUOTAS,
  describeOverQuota,
  type Quotas,
} from '../features/access/model.ts';
import type { AccessStore } from '../features/access/port.ts';
import { projectOfKey } from '../features/leases/model.ts';
import { PROJECT_METADATA } from '../lease/session.ts';
import { ProblemReply } from '../protocol/rest/route.ts';
import type {
  Attachment,
  CoordinatorStore,
  ExecutionStore,
  OwnerWrite,
  Submit,
} from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { Turns } from '../support/turns.ts';

const RECOUNT_MS = 1_000;
const COUNT_COST_FACTOR = 100;
/** The most remembered projects and quotas; above it, all are counted again. */
const BOOK_MAX = 50_000;

interface Entry {
  /** The last count. */
  found: number;
  limit: number;
  /** Writes without a reply yet; a count may or may not include them. */
  underWay: number;
  /** Writes whose reply came since the last count began. */
  added: number;
  /** The earliest time of the next count. */
  nextAtMs: number;
  counting: Promise<void> | undefined;
}

export interface Addition {
  readonly project: ProjectName;
  readonly quota: CountedQuota;
  readonly count: number;
  /**
   * The part that the store does not have yet. Read only at a full quota, because a repeated write
   * adds nothing.
   */
  missing(): Promise<number>;
}

export class ProjectQuotas {
  readonly #access: AccessStore;
  readonly #clock: Clock;
  /** The quotas of projects without settings of their own. */
  readonly defaults: Quotas;
  readonly #book: Map<string, Entry> = new Map();

  constructor(access: AccessStore, clock: Clock, quotas: Partial<Quotas> = {}) {
    this.#access = access;
    this.#clock = clock;
    this.defaults = { ...DEFAULT_QUOTAS, ...quotas };
  }

  /** Performs the write, or throws if the project would exceed its quota. */
  async within<Result>(addition: Addition, write: () => Promise<Result>): Promise<Result> {
    if (addition.count === 0) return write();
    const entry = await this.#entry(addition);
    const count = await this.#take(entry, addition);
    let added = count;
    try {
      const result = await write();
      if (addsNothing(result)) added = 0;
      return result;
    } finally {
      entry.underWay -= count;
      entry.added += added;
      // Does not wait for the count. Until it is done, all additions count, as if nothing had
      // ended.
      if (this.#isDue(entry)) void this.#recount(entry, addition).catch(() => undefined);
    }
  }

  /** The amount that the write adds; it counts as in progress from here on. */
  async #take(entry: Entry, addition: Addition): Promise<number> {
    const { project, quota, count } = addition;
    const takes = (more: number): boolean => {
      const all = entry.found + entry.underWay + entry.added + more;
      if (more > 0 && all > entry.limit) return false;
      entry.underWay += more;
      return true;
    };
    if (takes(count)) return count;
    if (this.#isDue(entry)) await this.#recount(entry, addition);
    if (takes(count)) return count;
    const missing = await addition.missing();
    if (takes(missing)) return missing;
    throw overQuota(project, quota, entry.limit);
  }

  async #entry(of: Addition): Promise<Entry> {
    const { project, quota } = of;
    const name = `${quota} ${project}`;
    const known = this.#book.get(name);
    if (known !== undefined) {
      if (known.nextAtMs === Number.NEGATIVE_INFINITY) await this.#recount(known, of);
      return known;
    }
    if (this.#book.size >= BOOK_MAX) this.#book.clear();
    const entry: Entry = {
      ...{ found: 0, limit: 0, underWay: 0, added: 0, counting: undefined },
      nextAtMs: Number.NEGATIVE_INFINITY,
    };
    this.#book.set(name, entry);
    await this.#recount(entry, of);
    return entry;
  }

  #isDue({ nextAtMs }: Entry): boolean {
    return this.#clock.monotonicMs() >= nextAtMs;
  }

  #recount(entry: Entry, of: Addition): Promise<void> {
    entry.counting ??= this.#count(entry, of).finally(() => {
      entry.counting = undefined;
    });
    return entry.counting;
  }

  async #count(entry: Entry, { project, quota }: Addition): Promise<void> {
    const sinceMs = this.#clock.monotonicMs();
    const before = entry.added;
    const settings = (await this.#access.project(project))?.settings;
    const limit = settings?.quotas?.[quota] ?? this.defaults[quota];
    entry.found = await this.#access.usage({ project, quota, max: limit + 1 });
    entry.limit = limit;
    entry.added -= before;
    const nowMs = this.#clock.monotonicMs();
    entry.nextAtMs = nowMs + Math.max(RECOUNT_MS, (nowMs - sinceMs) * COUNT_COST_FACTOR);
  }
}

function addsNothing(result: unknown): boolean {
  const { kind, existing, replayed } = Object(result);
  return kind === 'refused' || kind === 'queued' || existing === true || replayed === true;
}

function overQuota(project: ProjectName, quota: CountedQuota, limit: number): ProblemReply {
  const reply = new ProblemReply('over-quota', describeOverQuota(project, quota, limit));
  reply.retryAfterS = RECOUNT_MS / 1_000;
  return reply;
}

// The store of a coordinator behind the projects' quotas, for every transport. The store itself
// counts keys, schedules and saved views, in the statement that adds one. For the rest, the coordinator refuses
// a write above the quota before it reaches the store.

export function quotaStore(store: CoordinatorStore, quotas: ProjectQuotas): CoordinatorStore {
  const { sessions, leases, access, executions } = store;
  const open: typeof sessions.open = (request) => {
    const project = request.metadata[PROJECT_METADATA] as ProjectName | undefined;
    if (project === undefined) return sessions.open(request);
    const missing = async (): Promise<number> =>
      (await sessions.inspect(request.id)) === undefined ? 1 : 0;
    const one = { project, quota: 'sessions', count: 1, missing } as const;
    return quotas.within(one, () => sessions.open(request));
  };
  const acquire: typeof leases.acquire = (request) => {
    const project = projectOfKey(request.key);
    if (project === undefined) return leases.acquire(request);
    const missing = async (): Promise<number> =>
      (await leases.inspect(request.key)).record === undefined ? 1 : 0;
    const one = { project, quota: 'leases', count: 1, missing } as const;
    return quotas.within(one, () => leases.acquire(request));
  };
  const { keys, schedules, views, channels } = quotas.defaults;
  const limited = {
    ...executions,
    ...limitedSubmits(executions, quotas),
    ...limitedWrites(executions, quotas),
    putSchedule: (request) => executions.putSchedule({ ...request, quota: schedules }),
  } satisfies ExecutionStore;
  return {
    ...store,
    sessions: { ...sessions, open },
    leases: { ...leases, acquire },
    access: {
      ...access,
      createKey: (request) => access.createKey({ ...request, quota: keys }),
      putView: (request) => access.putView({ ...request, quota: views }),
      putChannel: (request) => access.putChannel({ ...request, quota: channels }),
    },
    executions: limited,
  };
}

type Submits = Pick<ExecutionStore, 'submit' | 'redrive' | 'fireSchedule' | 'triggerSchedule'>;

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
    async triggerSchedule(request) {
      const addition = addedExecutions(executions, request.project, request.submits);
      return quotas.within(addition, () => executions.triggerSchedule(request));
    },
    async fireSchedule(request) {
      const addition = addedExecutions(executions, request.project, request.submits);
      return quotas
        .within(addition, () => executions.fireSchedule(request))
        .catch((refusal: unknown) => {
          if (!(refusal instanceof ProblemReply)) throw refusal;
          // Skip this time of the schedule. Otherwise a project without room would block the
          // schedules of all others.
          return executions.fireSchedule({ ...request, submits: [] });
        });
    },
  };
}

type Writes = Pick<ExecutionStore, 'putBlob' | 'record' | 'finish' | 'park' | 'giveBack'>;

function limitedWrites(executions: ExecutionStore, quotas: ProjectQuotas): Writes {
  // One large value of a project per commit, because other projects' writes may wait for the same
  // commit.
  const turns = new Turns(1);
  /** A worker repeats a refused write until there is room. */
  const limited =
    <Write extends OwnerWrite, Result>(operation: (write: Write) => Promise<Result>) =>
    (write: Write): Promise<Result> =>
      additionsOf(executions, write).reduce<() => Promise<Result>>(
        (next, addition) => () => quotas.within(addition, next),
        () => operation(write),
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
    const names = attachments.map(({ name }) => name);
    const stored = await executions.namedAttachments({ id, names });
    const there = new Map(stored.map((each) => [each.name, each.bytes]));
    return bytesOf(attachments.filter((each) => there.get(each.name) !== sizeOf(each)));
  };
  return [...additions, { project, quota: 'bytes', count: bytesOf(attachments), missing }];
}

function bytesOf(attachments: readonly Attachment[]): number {
  return attachments.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** The size that `namedAttachments` returns. */
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

/**
 * Operators cancel many executions with a job, so a job must start even in a project above its
 * quota.
 */
function isUsers({ pipeline }: { readonly pipeline: PipelineName }): boolean {
  return !pipeline.startsWith(OWN_PREFIX);
}
