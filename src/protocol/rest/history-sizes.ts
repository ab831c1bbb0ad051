// Limits the history that remote workers can write for one execution. Replays, archives and pushes
// read all of it, in a coordinator that other projects share.

import type { ExecutionId } from '../../execution/names.ts';
import type { CoordinatorStore, OwnerWrite } from '../../store/contract/execution-store.ts';
import { ProblemReply } from './route.ts';
import { BODY_CHARS_MAX } from './work-content.ts';

export interface HistoryLimits {
  readonly historyEventsMax: number;
  readonly historyBytesMax: number;
}

/** The most bytes that one stored character takes. */
const CHAR_BYTES_MAX = 3;
/**
 * Room beyond the limits, so that a worker can still end or block an execution that is too large.
 */
const LEAVING = { events: 1_000, bytes: 1024 * 1024 } as const;
/** Beyond this many executions, the least recent size is looked up again. */
const KNOWN_MAX = 10_000;

export class HistorySizes {
  readonly #executions: Pick<CoordinatorStore['executions'], 'historyBytes'>;
  readonly #limits: HistoryLimits;
  readonly #bytes: Map<ExecutionId, number> = new Map();

  constructor(
    executions: Pick<CoordinatorStore['executions'], 'historyBytes'>,
    limits: HistoryLimits,
  ) {
    this.#executions = executions;
    this.#limits = limits;
  }

  /** Throws if the write would make the history too large. */
  async require({ id, seq, events }: OwnerWrite, isLeaving: boolean): Promise<void> {
    const { historyEventsMax, historyBytesMax } = this.#limits;
    const eventsMax = historyEventsMax + (isLeaving ? LEAVING.events : 0);
    if (seq + events.length - 1 > eventsMax) throw tooLarge(id, `${historyEventsMax} events`);
    const added = events.reduce((sum, { body = '' }) => sum + Buffer.byteLength(body), 0);
    // A few events cannot exceed the limit, so most executions need no lookup.
    if ((seq - 1) * BODY_CHARS_MAX * CHAR_BYTES_MAX + added <= historyBytesMax) return;
    const bytesMax = historyBytesMax + (isLeaving ? LEAVING.bytes : 0);
    const known = this.#bytes.get(id);
    if (known !== undefined && known + added <= bytesMax) return this.#keep(id, known + added);
    // Recount: the noted size may include refused or repeated writes.
    const stored = await this.#executions.historyBytes(id);
    if (stored + added > bytesMax) throw tooLarge(id, `${historyBytesMax} bytes of events`);
    this.#keep(id, stored + added);
  }

  #keep(id: ExecutionId, bytes: number): void {
    this.#bytes.delete(id);
    this.#bytes.set(id, bytes);
    const [first] = this.#bytes.keys();
    if (this.#bytes.size > KNOWN_MAX && first !== undefined) this.#bytes.delete(first);
  }
}

function tooLarge(id: ExecutionId, what: string): ProblemReply {
  return new ProblemReply(
    'payload-too-large',
    `The history of execution ${id} would exceed ${what}, the limit of this coordinator. Nothing was written. Continue as a new execution (ctx.continueAsNew), or raise limits.historyEventsMax and limits.historyBytesMax.`,
  );
}
