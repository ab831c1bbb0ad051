// Writes of owners go out together: what is asked for while a request is under way is in the next one, so
// that a thousand executions cost a few requests, as they cost a few commits in the coordinator's store.

import type { Carrier } from '../protocol/messages/envelope.ts';
import { faultOf } from '../protocol/messages/problem.ts';
import type { WritesAnswer } from '../protocol/messages/work.ts';
import { atEndOfTurn } from '../support/timer.ts';

interface Waiting {
  readonly write: object;
  resolve(answer: unknown): void;
  reject(fault: unknown): void;
}

const BATCH_MAX = 500;
/** Of them one is prepared while the others are under way. */
const REQUESTS_MAX = 2;

export class WriteQueue {
  readonly #carrier: Carrier;
  #waiting: Waiting[] = [];
  #underWay = 0;
  #isPlanned = false;

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add<Answer>(write: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve: resolve as (answer: unknown) => void, reject });
      this.#plan();
    });
  }

  /** At the end of the turn: what else it asks for is sent with it. */
  #plan(): void {
    if (this.#isPlanned || this.#underWay >= REQUESTS_MAX) return;
    this.#isPlanned = true;
    atEndOfTurn(() => {
      this.#isPlanned = false;
      const batch = this.#waiting.splice(0, BATCH_MAX);
      if (batch.length === 0) return;
      this.#underWay += 1;
      this.#send(batch).then(
        () => this.#sent(),
        () => this.#sent(),
      );
    });
  }

  #sent(): void {
    this.#underWay -= 1;
    if (this.#waiting.length > 0) this.#plan();
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    try {
      const writes = batch.map(({ write }) => write);
      const { answers } = await this.#carrier.ask<WritesAnswer>({
        kind: 'writeAsOwner',
        body: { writes },
      });
      for (const [nth, each] of batch.entries()) settle(each, answers[nth]);
    } catch (fault) {
      for (const each of batch) each.reject(fault);
    }
  }
}

function settle(waiting: Waiting, answer: WritesAnswer['answers'][number] | undefined): void {
  if (answer === undefined) waiting.reject(faultOf('outcome-unknown', 'No answer for this write.'));
  else if ('code' in answer)
    waiting.reject(faultOf(answer.code, answer.detail, statusOf(answer.code)));
  else waiting.resolve(answer);
}

/** A write that was refused for what it is will be refused again. */
function statusOf(code: string): number {
  return code === 'invalid-input' || code === 'payload-too-large' ? 400 : 503;
}
