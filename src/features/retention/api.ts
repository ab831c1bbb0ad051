// The archive for operators: removed executions, their documents, and checks of these.

import type { Archive } from '../../archive/port.ts';
import type { EngineConfig } from '../../engine/config.ts';
import type { Page } from '../../engine/holdfast.ts';
import { instantOption } from '../../engine/requests.ts';
import { cursorOf, projectOf } from '../../engine/submission.ts';
import { TERMINAL, type TerminalStatus } from '../../execution/execution.ts';
import {
  type ExecutionId,
  type ProjectName,
  parseExecutionId,
  parsePipelineName,
} from '../../execution/names.ts';
import { formatInstant, toInstant } from '../../support/clock.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  present,
  readOptions,
  requireMethods,
  requireOneOf,
  shown,
  wordsIn,
} from '../../support/options.ts';
import { cursorPage } from '../../support/page-size.ts';
import { weightOfBytes } from '../../support/turns.ts';
import {
  type ArchivedDocument,
  readDocument,
  readManifest,
  type Verified,
  verifyDocuments,
} from './archive-api.ts';
import { policyOf, removePage } from './duty.ts';
import {
  type ArchivedExecution,
  KEEP_MS_MAX,
  KEEP_NAMES,
  type KeepMs,
  searchWords,
} from './model.ts';
import type { ArchivedPlace, ListArchived } from './port.ts';

/** Filters and page of a list of archived executions. All filters must match. */
export interface ArchiveListOptions {
  /** The project. Default `default`. */
  readonly project?: string;
  /** The name of the pipeline. */
  readonly pipeline?: string;
  /** The terminal status. */
  readonly status?: TerminalStatus;
  /** One of the execution's tags. */
  readonly tag?: string;
  /** Words that the execution's key must have, all of them. */
  readonly text?: string;
  /** Ended at this time or later. */
  readonly from?: Date;
  /** Ended before this time. */
  readonly to?: Date;
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** Executions per page, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** An archived execution with its documents. */
export interface ArchivedInFull extends ArchivedExecution {
  /** The documents in the archive. */
  readonly documents: readonly ArchivedDocument[];
}

/** Options of `archive.run`. */
export interface ArchiveRunOptions {
  /** Only this project. By default all. */
  readonly project?: string;
  /** How many executions to look at, 1 to 1,000. Default 500. */
  readonly limit?: number;
  /** The `cursor` of the previous run. */
  readonly cursor?: string;
}

/** The result of `archive.run`. */
export interface ArchiveRun {
  /** How many executions were past their retention and not referred to by open ones. */
  readonly due: number;
  /** How many were archived. */
  readonly archived: number;
  /** How many were removed. */
  readonly removed: number;
  /** How many could not be archived. They stay. */
  readonly failed: number;
  /** Pass it to continue. Absent after the last page. */
  readonly cursor?: string;
}

const LIST_NAMES: readonly (keyof ArchiveListOptions)[] = wordsIn(
  'project pipeline status tag text from to cursor limit',
);
const TEXT_BYTES_MAX = 1_024;
const TERMINALS = [...TERMINAL] as TerminalStatus[];
const CURSOR = /^(\d{1,15}):([0-9a-f-]{36})$/;

/**
 * Executions that were archived and removed. Reach it as `holdfast.archive`.
 *
 * Methods that read or write the archive throw a `Fault` with code `archive-missing` if Holdfast
 * was opened without one, and `ArchiveUnavailable` if it cannot be reached.
 *
 * @example
 * const { items } = await holdfast.archive.search('order-17');
 * for (const { id } of items) console.log(await holdfast.archive.verify(id));
 */
export class Archives {
  readonly #config: EngineConfig;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /** Returns a page of archived executions, the last ended first. */
  async list(options: ArchiveListOptions = {}): Promise<Page<ArchivedExecution>> {
    const query = queryOf(readOptions('archive.list', options, LIST_NAMES));
    const { executions } = this.#config.store;
    const cursorOf = ({ endedAt, id }: ArchivedPlace): string => `${endedAt}:${id}`;
    const downTo = await executions.archivedEdge(query);
    const items = await executions.listArchived({ ...query, ...(downTo && { downTo }) });
    const page = cursorPage(items, query, cursorOf);
    return downTo === undefined ? page : { cursor: cursorOf(downTo), ...page };
  }

  /** Returns a page of archived executions whose key has all these words. */
  async search(text: string, options: ArchiveListOptions = {}): Promise<Page<ArchivedExecution>> {
    const given = readOptions('archive.search', options, LIST_NAMES);
    return this.list({ ...given, text: boundedText('text', text, TEXT_BYTES_MAX) });
  }

  /**
   * Returns an archived execution and its documents, or undefined if there is none. Throws a
   * `Fault` with code `archive-damaged` if its documents are missing or changed.
   */
  async get(id: string): Promise<ArchivedInFull | undefined> {
    const found = await this.#find(id);
    if (found === undefined) return undefined;
    const manifest = await readManifest(this.#archive(), found);
    if (manifest === undefined) throw damaged(found);
    return { ...found, documents: manifest.documents };
  }

  /**
   * Returns the content of an archived document, or undefined if there is none. Throws as `get`
   * does, and a `Fault` with code `value-erased` if the execution was erased.
   */
  async document(id: string, name: string): Promise<Uint8Array | undefined> {
    boundedText('The name of a document', name, TEXT_BYTES_MAX);
    const found = await this.get(id);
    if (found?.erased?.ofArchive === true) {
      const { at, by } = found.erased;
      throw new Fault(
        'value-erased',
        `The documents of execution ${id} were erased at ${formatInstant(at)} by ${by}. The archive has their digests and no copy.`,
      );
    }
    const document = found?.documents.find((each) => each.name === name);
    if (found === undefined || document === undefined) return undefined;
    const bytes = await readDocument(this.#archive(), found.place, document);
    if (bytes === undefined) throw damaged(found);
    return bytes;
  }

  /**
   * Compares every document with its digest and returns the damage; undefined if the execution is
   * not archived.
   */
  async verify(id: string): Promise<Verified | undefined> {
    const found = await this.#find(id);
    if (found === undefined) return undefined;
    const paid = this.#paid(this.#archive(), found.project);
    return verifyDocuments(paid, found, found.erased?.ofArchive === true);
  }

  /**
   * Archives and removes executions past their retention now, one page. Safe while workers do the
   * same.
   */
  async run(options: ArchiveRunOptions = {}): Promise<ArchiveRun> {
    const given = readOptions('archive.run', options, ['project', 'limit', 'cursor']);
    const { limit = 500, cursor } = given;
    integerOption('limit', limit, { min: 1, max: 1_000 });
    const after = cursor === undefined ? undefined : cursorOf(cursor);
    const project = given.project === undefined ? undefined : projectOf(given.project);
    if (this.#config.retention === undefined) throw notHere();
    const policy = await policyOf(this.#config, project);
    const page = { policy, limit, ...present({ after, project }) };
    const { next, ...done } = await removePage(this.#config, { ...page, goesOn: () => true });
    return { ...done, ...present({ cursor: next }) };
  }

  /** The size of a document shows only when it was read, so the next read pays for it. */
  #paid(archive: Archive, project: ProjectName): Archive {
    let weight = 1;
    return {
      ...archive,
      get: async (path) => {
        await this.#config.jobLimits.begin(project, weight);
        const bytes = await archive.get(path);
        weight = 1 + weightOfBytes(bytes?.length ?? 0);
        return bytes;
      },
    };
  }

  #find(id: string): Promise<ArchivedExecution | undefined> {
    return this.#config.store.executions.archived(parseExecutionId(id));
  }

  #archive(): Archive {
    const archive = this.#config.retention?.archive;
    if (archive === undefined) throw notHere();
    return archive;
  }
}

function notHere(): Fault {
  return new Fault(
    'archive-missing',
    'This process has no archive. Nothing was done. Set archive.folder or archive.url for the coordinator, or openHoldfast({ retention: { archive } }).',
  );
}

function damaged({ id, place }: ArchivedExecution): Fault {
  return new Fault(
    'archive-damaged',
    `Documents of execution ${id} in ${place} are missing or changed. Run holdfast archive verify ${id} to see which, and restore them from a copy of the archive.`,
  );
}

function queryOf(given: ArchiveListOptions): ListArchived {
  const { project, pipeline, status, tag, text, from, to, cursor, limit = 100 } = given;
  return {
    project: projectOf(project),
    limit: integerOption('limit', limit, { min: 1, max: 10_000 }),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(status === undefined ? {} : { status: requireOneOf('status', status, TERMINALS) }),
    ...(tag === undefined ? {} : { tag: boundedText('tag', tag, 256) }),
    ...(text === undefined ? {} : { words: wordsFrom(text) }),
    ...(from === undefined ? {} : { from: instantOption('from', from) }),
    ...(to === undefined ? {} : { to: instantOption('to', to) }),
    ...(cursor === undefined ? {} : { before: placeOf(cursor) }),
  };
}

function wordsFrom(text: string): readonly string[] {
  const words = searchWords(boundedText('text', text, TEXT_BYTES_MAX));
  if (words.length > 0) return words;
  throw new InvalidInput(`text must have a letter or a digit; got ${shown(text)}.`);
}

function placeOf(cursor: unknown): ArchivedPlace {
  const match = typeof cursor === 'string' ? CURSOR.exec(cursor) : null;
  if (match === null) {
    throw new InvalidInput(`cursor must be the cursor of a page; got ${shown(cursor)}.`);
  }
  return { endedAt: toInstant(Number(match[1])), id: cursorOf(match[2]) as ExecutionId };
}

// The retention options of a process. Without them it removes nothing.

/** How long ended executions are kept, and where they go. */
export interface RetentionOptions {
  /**
   * Where executions are written before they are removed. `none`: they are deleted without a copy.
   */
  readonly archive: Archive | 'none';
  /**
   * How long executions are kept after their end, by status, if their project has no setting. By
   * default for ever.
   */
  readonly keepMs?: KeepMs;
  /** True: values are archived decrypted. False: as they are stored. Default true. */
  readonly decode?: boolean;
  /** Milliseconds between checks, at least 10. Default 60,000. */
  readonly everyMs?: number;
}

export interface Retaining {
  readonly archive: Archive | undefined;
  readonly keepMs: KeepMs;
  readonly decodes: boolean;
  readonly everyMs: number;
}

const NAMES: readonly (keyof RetentionOptions)[] = ['archive', 'keepMs', 'decode', 'everyMs'];

export function resolveRetention(given: RetentionOptions): Retaining {
  const options = readOptions('retention', given, NAMES);
  const { archive, keepMs = {}, decode, everyMs = 60_000 } = options;
  if (archive === undefined) {
    throw new InvalidInput(
      'retention: archive is required. Pass an archive, such as openFolderArchive({ folder }), or "none" to delete executions without archiving them.',
    );
  }
  if (archive !== 'none') requireMethods('retention: archive', archive, ['put', 'get']);
  optionalBooleans('retention', { decode });
  return Object.freeze({
    archive: archive === 'none' ? undefined : archive,
    keepMs: readKeep('retention: keepMs', keepMs),
    decodes: decode ?? true,
    everyMs: integerOption('retention: everyMs', everyMs, { min: 10, max: 31 * 86_400_000 }),
  });
}

function readKeep(what: string, given: KeepMs): KeepMs {
  const keep = readOptions(what, given, KEEP_NAMES);
  for (const name of KEEP_NAMES) {
    const ms = keep[name];
    if (ms === undefined || ms === null) continue;
    integerOption(`${what}.${name}`, ms, { min: 0, max: KEEP_MS_MAX });
  }
  return keep;
}
