// Reads signed answers from an SQS queue (CH-17). A message is deleted when its answer is stored, or
// when the question can take no other. Any other message stays, so that the queue's own redrive policy
// decides how often it is delivered again.

import { answerOfChannel, type ChannelAnswer } from '../../features/channels/answering-routes.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { readOptions } from '../../support/options.ts';
import type { QueueMessage, Queues } from '../messages/queued.ts';
import { refusalReply } from '../rest/problems.ts';
import { type Coordinator, ProblemReply } from '../rest/route.ts';

export interface AnswerQueueParts {
  readonly coordinator: Coordinator;
  readonly queues: Queues;
  readonly queueUrl: string;
  readonly stopping: AbortSignal;
  readonly onFault: (code: Code, error: unknown) => void;
}

const HELD_MS = 20_000;
const VISIBLE_MS = 30_000;
const PAUSE_MS = 1_000;
/** A queue keeps a message for at most 14 days. */
const OLDEST_MS = 14 * 86_400_000;
/** No later delivery would change the outcome. */
const DECIDED: readonly Code[] = ['answer-conflict', 'answer-late'];
const NAMES = ['project', 'channel', 'id', 'timestamp', 'signature', 'payload'] as const;

export class AnswerQueue {
  readonly #parts: AnswerQueueParts;
  readonly #reading: Promise<void>;

  constructor(parts: AnswerQueueParts) {
    this.#parts = parts;
    this.#reading = this.#read();
  }

  /** Finishes the messages in progress first. */
  close(): Promise<void> {
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { queues, queueUrl, stopping: signal, coordinator, onFault } = this.#parts;
    while (!signal.aborted) {
      try {
        const waiting = { waitMs: HELD_MS, visibleMs: VISIBLE_MS, signal };
        const messages = await queues.receive(queueUrl, waiting);
        await Promise.all(messages.map((each) => this.#take(each)));
      } catch (fault) {
        if (signal.aborted) return;
        onFault('queue-unavailable', fault);
        await coordinator.timers.pause(PAUSE_MS, signal).catch(() => undefined);
      }
    }
  }

  /** Never rejects. */
  async #take({ body, receipt }: QueueMessage): Promise<void> {
    const { queues, queueUrl, coordinator, onFault } = this.#parts;
    try {
      const given = readOptions('An answer', JSON.parse(body) as ChannelAnswer, NAMES);
      const answer = await answerOfChannel(coordinator, checked(given), OLDEST_MS);
      if (answer.kind === 'refused') {
        const refusal = refusalReply(answer);
        if (!DECIDED.includes(refusal.code)) throw refusal;
      }
      await queues.delete(queueUrl, receipt);
    } catch (error) {
      onFault('queued-answer-refused', error);
    }
  }
}

function checked(given: Partial<ChannelAnswer>): ChannelAnswer {
  const { timestamp, ...texts } = given;
  const isFit =
    Number.isSafeInteger(timestamp) &&
    [texts.project, texts.channel, texts.id, texts.signature, texts.payload].every(
      (each) => typeof each === 'string',
    );
  if (isFit) return given as ChannelAnswer;
  throw new ProblemReply(
    'invalid-input',
    'An answer needs project, channel, id, signature and payload as text, and timestamp in seconds. Nothing was written.',
  );
}
