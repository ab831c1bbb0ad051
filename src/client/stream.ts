// Sends submits and waits for results over one stream, if the coordinator has one.

import type { ReplyEnvelope } from '../protocol/messages/envelope.ts';
import type { ProblemMessage } from '../protocol/messages/problem.ts';
import { StreamCaller, type StreamedMessage } from '../protocol/messages/stream-caller.ts';
import { thrownText } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { CallRefused } from './calls.ts';

export class ClientStream {
  readonly #caller: StreamCaller;
  #hasCalled = false;

  constructor(urls: readonly string[], headers: Readonly<Record<string, string>>) {
    this.#caller = new StreamCaller({
      ...{ urls, headers, timers: systemTimers, keepsProcess: false },
      onRefused: (why) => warnOnce(urls.join(', '), why),
    });
  }

  /**
   * Undefined if the caller must send a request. The first message is a request, because a stream
   * costs more than it saves in a program that sends one message.
   */
  call(message: StreamedMessage): Promise<ReplyEnvelope> | undefined {
    if (this.#hasCalled) return this.#caller.request(message)?.then(unlessRefused);
    this.#hasCalled = true;
    return undefined;
  }
}

const warned: Set<string> = new Set();

/** Once per coordinator and process. */
function warnOnce(url: string, why: unknown): void {
  if (warned.has(url)) return;
  warned.add(url);
  process.emitWarning(
    `The stream to ${url} could not be opened, so the client sends requests: ${thrownText(why)} [stream-refused]`,
    'HoldfastWarning',
  );
}

function unlessRefused(reply: ReplyEnvelope): ReplyEnvelope {
  if (reply.problem === undefined) return reply;
  throw new CallRefused(reply.problem as ProblemMessage);
}
