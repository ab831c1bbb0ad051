// What the memory store remembers of executions. Like the rest of it: every verb looks up a view, asks
// the pure decision, and writes the result down in the same turn.

import type { Answer, AwaitUnit, Interaction } from '../../../execution/await.ts';
import type { DeadLetterRecord } from '../../../execution/dead-letter.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../../execution/history.ts';
import type { CallKey, ExecutionId, InteractionId, ProjectName } from '../../../execution/names.ts';
import type { Schedule } from '../../../execution/schedule.ts';
import type { Template } from '../../../execution/template.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Attachment, CommandAnswer, ExecutionStore } from '../../contract/execution-store.ts';
import type { JobItem, RedriveAnswer } from '../../contract/repair-store.ts';
import type { MemoryState } from '../state.ts';
import {
  type ArchiveBook,
  AuditBook,
  type PlaceBook,
  type RateBook,
  type WorkerBook,
} from './books.ts';
import { Heap } from './heap.ts';
import { ReadyQueues } from './ready.ts';
import { ReleaseBook } from './release-book.ts';

export interface Entry {
  execution: ExecutionRecord;
  /** How the last claim ended, unless it is lost. */
  previous: 'none' | 'parked' | 'given-back';
  claimedSeq: number;
  /** Event n is at n - 1: seq has no gaps. */
  readonly history: HistoryEvent[];
  readonly inbox: InboxMessage[];
  readonly attachments: Map<string, Attachment & { readonly at: Instant }>;
}

export interface ScheduleEntry {
  schedule: Schedule;
  /** The key of what the last fire submitted. */
  lastKey: string | undefined;
}

/** One await of one execution; without a unit while there are only early answers (W-2). */
export interface UnitEntry {
  unit: AwaitUnit | undefined;
  readonly ids: Set<InteractionId>;
}

export interface JobEntry {
  readonly item: JobItem;
  readonly answer: CommandAnswer | RedriveAnswer;
}

export interface KeptBlob {
  readonly bytes: Uint8Array;
  /** Those that have put it. */
  readonly projects: Set<ProjectName>;
}

export class ExecutionState {
  readonly kernel: MemoryState;
  readonly entries: Map<ExecutionId, Entry> = new Map();
  /** By project and key. */
  readonly keys: Map<string, ExecutionId> = new Map();
  /** Sorted, which costs nothing when ids are made in order. */
  readonly ids: Map<ProjectName, ExecutionId[]> = new Map();
  readonly children: Map<ExecutionId, ExecutionId[]> = new Map();
  readonly running: Map<SessionId, Set<ExecutionId>> = new Map();
  readonly ready: ReadyQueues = new ReadyQueues((id) => this.entries.get(id)?.execution);
  readonly deadlines: Heap = new Heap();
  /** Open children of ended parents, for `maintain`, first come first served. */
  readonly orphans: Set<ExecutionId> = new Set();
  readonly places: Map<string, PlaceBook> = new Map();
  readonly rates: RateBook = new Map();
  readonly blobs: Map<string, KeptBlob> = new Map();
  /** By project, id and version. */
  readonly templates: Map<string, Template> = new Map();
  /** By project and id. */
  readonly schedules: Map<string, ScheduleEntry> = new Map();
  readonly awaits: Map<ExecutionId, Map<CallKey, UnitEntry>> = new Map();
  readonly interactions: Map<InteractionId, Interaction> = new Map();
  readonly interactionIds: Map<ProjectName, InteractionId[]> = new Map();
  readonly lateAnswers: Map<InteractionId, readonly Answer[]> = new Map();
  /** Executions that have an open unit with something due at that time. */
  readonly dueAwaits: Heap = new Heap();
  readonly deadLetters: Map<ExecutionId, DeadLetterRecord> = new Map();
  readonly deadLetterIds: Map<ProjectName, ExecutionId[]> = new Map();
  /** The newest re-drive of each. */
  readonly redrives: Map<ExecutionId, ExecutionId> = new Map();
  /** By job and target. */
  readonly jobs: Map<ExecutionId, Map<ExecutionId, JobEntry>> = new Map();
  readonly archived: ArchiveBook = new Map();
  readonly audit: AuditBook = new AuditBook();
  readonly releases: ReleaseBook = new ReleaseBook();
  readonly workers: Map<SessionId, WorkerBook> = new Map();
  readonly rings: Set<() => void> = new Set();

  constructor(kernel: MemoryState) {
    this.kernel = kernel;
  }

  insert(
    submitted: ExecutionRecord,
    events: readonly HistoryEvent[],
    previous: Entry['previous'] = 'none',
  ): Entry {
    const execution = this.releases.pinned(submitted);
    const entry: Entry = {
      execution: frozen(execution),
      previous,
      claimedSeq: 0,
      history: [],
      inbox: [],
      attachments: new Map(),
    };
    const { id, project, key, parent, redriveOf, deadlineAt } = execution;
    this.append(entry, events);
    this.entries.set(id, entry);
    if (execution.gated) this.#countGated(execution, 1);
    addSorted(this.ids, project, id);
    if (key !== undefined) this.keys.set(inProject(project, key), id);
    if (parent !== undefined) addSorted(this.children, parent.id, id);
    if (redriveOf !== undefined) this.redrives.set(redriveOf, id);
    if (deadlineAt !== undefined) this.deadlines.push({ at: deadlineAt, id });
    if (execution.holds.length === 0) this.ready.add(execution);
    return entry;
  }

  /** The row changes, and every index with it. */
  put(entry: Entry, execution: ExecutionRecord): void {
    const before = entry.execution;
    entry.execution = frozen(execution);
    const { id, readyAt, holds, deadlineAt, session } = execution;
    const isMoved = execution.release !== before.release;
    const isNewlyReady = readyAt !== before.readyAt || before.holds.length > 0 || isMoved;
    if (readyAt !== undefined && holds.length === 0 && isNewlyReady) this.ready.add(execution);
    if (before.session !== session) this.#move(id, before.session, session);
    if (before.gated && !execution.gated) this.#countGated(execution, -1);
    // While it ran its deadline was its owner's concern, and may have been dropped from the heap.
    const isBack = before.status === 'running' && readyAtOrWaiting(execution);
    if (deadlineAt !== undefined && isBack) this.deadlines.push({ at: deadlineAt, id });
  }

  append(entry: Entry, events: readonly HistoryEvent[]): void {
    for (const event of events) entry.history.push(Object.freeze(event));
  }

  unitEntry(execution: ExecutionId, call: CallKey): UnitEntry {
    const calls = this.awaits.get(execution) ?? new Map<CallKey, UnitEntry>();
    const entry = calls.get(call) ?? { unit: undefined, ids: new Set() };
    this.awaits.set(execution, calls.set(call, entry));
    return entry;
  }

  putInteraction(interaction: Interaction): void {
    const { id, project, execution, call } = interaction;
    const known = this.interactions.get(id);
    // W-1: another execution's stays its own.
    if (known !== undefined && known.execution !== execution) return;
    if (known === undefined) addSorted(this.interactionIds, project, id);
    this.interactions.set(id, Object.freeze(interaction));
    this.unitEntry(execution, call).ids.add(id);
  }

  putDeadLetter(letter: DeadLetterRecord): void {
    const { execution, project } = letter;
    if (!this.deadLetters.has(execution)) addSorted(this.deadLetterIds, project, execution);
    this.deadLetters.set(execution, Object.freeze(letter));
  }

  /** Something may be ready, or has ended. A listener's failure is nobody else's. */
  ring(): void {
    for (const listener of this.rings) {
      const call = async (): Promise<void> => listener();
      call().catch(() => undefined);
    }
  }

  #countGated({ project, concurrency }: ExecutionRecord, change: 1 | -1): void {
    const places = this.places.get(inProject(project, concurrency?.key ?? ''));
    if (concurrency !== undefined && places !== undefined) places.gated += change;
  }

  #move(id: ExecutionId, from: SessionId | undefined, to: SessionId | undefined): void {
    const left = from === undefined ? undefined : this.running.get(from);
    left?.delete(id);
    if (from !== undefined && left?.size === 0) this.running.delete(from);
    if (to === undefined) return;
    const joined = this.running.get(to) ?? new Set();
    this.running.set(to, joined.add(id));
  }
}

/** For tests that break what is stored, as SQL by hand does elsewhere. */
export const STATES: WeakMap<ExecutionStore, ExecutionState> = new WeakMap();

export function inProject(project: ProjectName, name: string): string {
  return `${project}\0${name}`;
}

/** As the SQL stores order text; JavaScript's own order differs beyond the first 65,536 characters. */
export function inByteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function readyAtOrWaiting({ status }: ExecutionRecord): boolean {
  return status === 'queued' || status === 'waiting';
}

/** Records are handed out as they are; nobody can reach into what is stored. */
function frozen(execution: ExecutionRecord): ExecutionRecord {
  for (const part of Object.values(execution)) {
    if (typeof part === 'object') Object.freeze(part);
  }
  return Object.freeze(execution);
}

function addSorted<Key, Id extends string>(lists: Map<Key, Id[]>, key: Key, id: Id): void {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  list.splice(firstFrom(list, id), 0, id);
}

/** The place of the first id that is not less. */
export function firstFrom(sorted: readonly string[], id: string): number {
  let [low, high] = [0, sorted.length];
  if ((sorted[high - 1] ?? '') < id) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
