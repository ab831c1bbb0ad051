// How large the history of one execution may become by what workers elsewhere write. Replays, archives and pushes read
// all of it, in a coordinator that others use.

import type { ExecutionId } from '../../execution/names.ts';
import type { CoordinatorStore, OwnerWrite } from '../../store/contract/execution-store.ts';
import { ProblemReply } from './route.ts';
import { BODY_CHARS_MAX } from './work-content.ts';

export interface HistoryLimits {
  readonly historyEventsMax: number;
  readonly historyBytesMax: number;
}

/** More than that of each character is not stored. */
const CHAR_BYTES_MAX = 3;
/** Beyond the limits, so that what is too large can be ended, or blocked until people look. */
const LEAVING = { events: 1_000, bytes: 1024 * 1024 } as const;
/** Those that were written to first are looked up again. */
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

  /** Throws when the write would make it too large. */
  async require({ id, seq, events }: OwnerWrite, isLeaving: boolean): Promise<void> {
    const { historyEventsMax, historyBytesMax } = this.#limits;
    const eventsMax = historyEventsMax + (isLeaving ? LEAVING.events : 0);
    if (seq + events.length - 1 > eventsMax) throw tooLarge(id, `${historyEventsMax} events`);
    const added = events.reduce((sum, { body = '' }) => sum + Buffer.byteLength(body), 0);
    // Few events cannot be too much, so that most executions are never looked up.
    if ((seq - 1) * BODY_CHARS_MAX * CHAR_BYTES_MAX + added <= historyBytesMax) return;
    const bytesMax = historyBytesMax + (isLeaving ? LEAVING.bytes : 0);
    const known = this.#bytes.get(id);
    if (known !== undefined && known + added <= bytesMax) return this.#keep(id, known + added);
    // What was noted of a write that was refused, or repeated, counts no more.
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
    413,
    'payload-too-large',
    `The history of execution ${id} would have more than ${what}, which is as much as this coordinator takes from workers. Nothing was written. Let the pipeline go on as a new execution in time (ctx.continueAsNew), or raise limits.historyEventsMax and limits.historyBytesMax.`,
  );
}
