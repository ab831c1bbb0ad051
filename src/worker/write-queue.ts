// Sends owners' writes together: writes that arrive during a request go into the next one. So a
// thousand executions cost a few requests, and a few commits in the coordinator's store.

import { faultOf, type Transport } from '../protocol/messages/envelope.ts';
import type { WritesReply } from '../protocol/messages/work.ts';
import { Fault } from '../support/fault.ts';
import { atEndOfTurn } from '../support/timer.ts';

interface Waiting {
  readonly write: object;
  readonly chars: number;
  resolve(result: unknown): void;
  reject(fault: unknown): void;
}

const BATCH_MAX = 500;
/**
 * About a megabyte at most, because JSON escapes characters. A coordinator's limits are usually
 * larger, and 500 small writes are smaller.
 */
const BATCH_CHARS_MAX = 256 * 1024;
/** One request is prepared while the other is in progress. */
const REQUESTS_MAX = 2;

export class WriteQueue {
  readonly #transport: Transport;
  readonly #waiting: Waiting[] = [];
  #underWay = 0;
  #isPlanned = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add<Result>(write: object): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const settlers = { resolve: resolve as (result: unknown) => void, reject };
      this.#waiting.push({ write, chars: charsIn(write), ...settlers });
      this.#plan();
    });
  }

  /** Waits for the end of the turn, to send everything that it adds. */
  #plan(): void {
    if (this.#isPlanned || this.#underWay >= REQUESTS_MAX) return;
    this.#isPlanned = true;
    atEndOfTurn(() => {
      this.#isPlanned = false;
      const batch = this.#waiting.splice(0, this.#fitting());
      if (batch.length === 0) return;
      this.#underWay += 1;
      this.#send(batch).then(
        () => this.#sent(),
        () => this.#sent(),
      );
    });
  }

  /** The number of writes for one request: at least one, however large it is. */
  #fitting(): number {
    let chars = 0;
    const over = this.#waiting.findIndex((each, nth) => {
      chars += each.chars;
      return nth === BATCH_MAX || (nth > 0 && chars > BATCH_CHARS_MAX);
    });
    return over < 0 ? this.#waiting.length : over;
  }

  #sent(): void {
    this.#underWay -= 1;
    if (this.#waiting.length > 0) this.#plan();
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    try {
      const writes = batch.map(({ write }) => write);
      const { results } = await this.#transport.request<WritesReply>({
        kind: 'writeAsOwner',
        body: { writes },
      });
      for (const [nth, each] of batch.entries()) settle(each, results[nth]);
    } catch (fault) {
      if (batch.length > 1 && fault instanceof Fault && fault.code === 'payload-too-large')
        return this.#sendHalves(batch);
      for (const each of batch) each.reject(fault);
    }
  }

  /** A coordinator with low limits wrote nothing, and may accept the writes in smaller requests. */
  async #sendHalves(batch: readonly Waiting[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    await this.#send(batch.slice(0, middle));
    await this.#send(batch.slice(middle));
  }
}

/** The quotes and the comma or colon of a name or a text. */
const SIGNS = 3;

/** About the length as JSON, without the cost of writing it. */
function charsIn(value: unknown): number {
  if (typeof value === 'string') return value.length + SIGNS;
  if (typeof value !== 'object' || value === null) return SIGNS;
  let chars = SIGNS;
  for (const [name, each] of Object.entries(value)) chars += name.length + SIGNS + charsIn(each);
  return chars;
}

function settle(waiting: Waiting, result: WritesReply['results'][number] | undefined): void {
  if (result === undefined)
    waiting.reject(faultOf('outcome-unknown', 'The reply has no result for this write.'));
  else if ('code' in result)
    waiting.reject(faultOf(result.code, result.detail, statusOf(result.code)));
  else waiting.resolve(result);
}

/** A write that was refused for its content will be refused again. */
function statusOf(code: string): number {
  return code === 'invalid-input' || code === 'payload-too-large' ? 400 : 503;
}
