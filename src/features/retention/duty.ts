// Removes ended executions that are due (F-1 … F-11). Any process with retention options may; the
// holder of the lease does, in pages, round after round. It archives each execution completely
// before it asks the store to remove it. The store decides at that moment whether the execution may
// go.

import { ArchiveUnavailable } from '../../archive/port.ts';
import type { EngineConfig } from '../../engine/config.ts';
import { earliestId } from '../../engine/ids.ts';
import { reportTrouble, sendReport } from '../../engine/observer.ts';
import { SingleDuty } from '../../engine/worker/single-duty.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { Session } from '../../lease/live-session.ts';
import { isOutage } from '../../lease/store-call.ts';
import { toInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { readAll } from '../../support/page-size.ts';
import { inLanes } from '../../support/turns.ts';
import type { Retaining } from './api.ts';
import { eraseDocuments, writeExecution } from './archive-api.ts';
import {
  type ArchivedAt,
  isDue,
  type KeepMs,
  keepOf,
  keptFor,
  type Removable,
  shortestKeep,
} from './model.ts';

const RETENTION_KEY = 'holdfast/retention';

const PAGE = 500;
/** The most pages in one round. */
const PAGES_MAX = 20;
/** Concurrent archivals; most of their time is waiting for the archive. */
const AT_ONCE = 8;
/** Submitters' clocks create the ids, and the store's clock records the ends. */
const SKEW_MS = 3_600_000;
const PROJECTS_PAGE = 500;
/** Removing an execution costs as much as several requests: it reads and deletes all its rows. */
const ITEM_WEIGHT = 8;

export class Retention {
  readonly #config: EngineConfig;
  readonly #duty: SingleDuty;
  #mark: ExecutionId | undefined;

  constructor(config: EngineConfig, { everyMs }: Retaining, session: () => Session) {
    this.#config = config;
    const run = (goesOn: () => boolean): Promise<void> => this.#run(goesOn);
    const duty = { key: RETENTION_KEY, everyMs, trouble: 'not-cleaned-up', run } as const;
    this.#duty = new SingleDuty(config, duty, session);
  }

  /** Resolves when no round is under way. */
  stop(): Promise<void> {
    return this.#duty.stop();
  }

  /** Continues where the last round ended, or starts over after the last page. */
  async #run(goesOn: () => boolean): Promise<void> {
    const policy = await policyOf(this.#config);
    for (let pages = 0; pages < PAGES_MAX && goesOn(); pages += 1) {
      const after = this.#mark;
      const page = await removePage(this.#config, { policy, goesOn, ...(after && { after }) });
      this.#mark = page.next;
      const { archived, removed, failed } = page;
      if (removed > 0)
        sendReport(this.#config.observer, { kind: 'removed', archived, removed, failed });
      if (page.next === undefined) return;
    }
  }
}

/** The retention of each project. */
interface Policy {
  /** Undefined: nothing is ever removed. */
  readonly shortestMs: number | undefined;
  of(project: ProjectName): KeepMs;
}

export async function policyOf(config: EngineConfig, only?: ProjectName): Promise<Policy> {
  const deployment = config.retention?.keepMs ?? {};
  const own = new Map<ProjectName, KeepMs>();
  for (const { name, settings } of await projectsOf(config, only)) {
    if (settings.keepMs !== undefined) own.set(name, keepOf(deployment, settings.keepMs));
  }
  const of = (project: ProjectName): KeepMs => own.get(project) ?? deployment;
  const all = only === undefined ? [deployment, ...own.values()] : [of(only)];
  const shortest = all.map(shortestKeep).filter((ms) => ms !== undefined);
  return { shortestMs: shortest.length === 0 ? undefined : Math.min(...shortest), of };
}

type Projects = Awaited<ReturnType<EngineConfig['store']['access']['projects']>>;

async function projectsOf({ store }: EngineConfig, only?: ProjectName): Promise<Projects> {
  if (only !== undefined) {
    const found = await store.access.project(only);
    return found === undefined ? [] : [found];
  }
  const limit = PROJECTS_PAGE;
  return readAll(limit, (last: Projects[number] | undefined) =>
    store.access.projects({ limit, ...present({ after: last?.name }) }),
  );
}

interface RemovePageOptions {
  readonly policy: Policy;
  readonly project?: ProjectName;
  readonly after?: ExecutionId;
  readonly limit?: number;
  /** Checked before each execution. */
  readonly goesOn: () => boolean;
}

interface RemovedPage {
  readonly due: number;
  readonly archived: number;
  readonly removed: number;
  /** Executions that could not be archived; each was reported as trouble. */
  readonly failed: number;
  /** The start of the next page; absent after the last page. */
  readonly next?: ExecutionId;
}

const NOTHING: RemovedPage = { due: 0, archived: 0, removed: 0, failed: 0 };

/**
 * Processes one page. Rejects if the archive or the store is unavailable; the rest then stays
 * unchanged.
 */
export async function removePage(
  config: EngineConfig,
  options: RemovePageOptions,
): Promise<RemovedPage> {
  const { policy, project, after, limit = PAGE } = options;
  const { shortestMs } = policy;
  if (shortestMs === undefined) return NOTHING;
  const { items, now, next } = await config.store.executions.removable({
    endedMs: shortestMs,
    limit,
    before: earliestId(toInstant(config.clock.wallMs() - shortestMs + SKEW_MS)),
    ...present({ project, after }),
  });
  const due = items.filter((item) => isDue(item, policy.of(item.project), now));
  const tally = { archived: 0, removed: 0, failed: 0 };
  await inLanes(due, AT_ONCE, async (item) => {
    if (!options.goesOn()) return;
    const done = await removeOne(config, item, policy.of(item.project));
    if (done !== 'kept') tally[done] += 1;
    if (done === 'removed' && config.retention?.archive !== undefined) tally.archived += 1;
  });
  return { due: due.length, ...tally, ...present({ next }) };
}

/** Archives an execution and then removes it (F-6). */
async function removeOne(
  config: EngineConfig,
  item: Removable,
  keep: KeepMs,
): Promise<'removed' | 'kept' | 'failed'> {
  const { id, project } = item;
  const ms = keptFor(item, keep);
  if (ms === undefined) return 'kept';
  await config.jobLimits.begin(project, ITEM_WEIGHT);
  const until = item.hasOpenLetter ? { letterMs: ms } : { keepMs: ms };
  const written = await archivedFirst(config, id);
  if (written === 'failed' || written === 'gone') return written === 'gone' ? 'kept' : 'failed';
  const request = { id, project, ...until, ...(written && { archived: written }) };
  const removal = await config.store.executions.remove(request);
  if (removal.kind === 'kept' && removal.why === 'changed')
    await eraseIfErased(config, id, written);
  return removal.kind === 'removed' ? 'removed' : 'kept';
}

/** An erasure came after these documents were written, so nothing else refers to them (F-14). */
async function eraseIfErased(
  { store, retention }: EngineConfig,
  id: ExecutionId,
  written: ArchivedAt | undefined,
): Promise<void> {
  const archive = retention?.archive;
  const isErased = (await store.executions.read(id))?.erased !== undefined;
  if (isErased && archive && written) await eraseDocuments(archive, written);
}

/** Undefined without an archive. A problem with one execution must not stop the others. */
async function archivedFirst(
  config: EngineConfig,
  id: ExecutionId,
): Promise<Awaited<ReturnType<typeof writeExecution>> | 'gone' | 'failed'> {
  const { archive, decodes } = config.retention as Retaining;
  if (archive === undefined) return undefined;
  try {
    return (await writeExecution(config, { archive, decodes }, id)) ?? 'gone';
  } catch (fault) {
    if (fault instanceof ArchiveUnavailable || isOutage(fault)) throw fault;
    const what = `Execution ${id} was not archived and stays in the store`;
    reportTrouble(config.observer, { code: 'archive-not-written', what }, fault);
    return 'failed';
  }
}
