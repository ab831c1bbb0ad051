// When a handler that answers through Node's response object is done, and what becomes of an answer
// whose place was lost.

import { finished, type Readable } from 'node:stream';
import { type Passed, type Problem, placeLost, problemHeaders } from './http-verify.ts';

/** Of Node's ServerResponse, what a refusal needs, and what tells that a handler is done. */
export interface OutgoingResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body?: string): unknown;
  destroy(): unknown;
  on(event: 'pipe' | 'unpipe', listener: (source: Readable) => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export function answer(response: OutgoingResponse, problem: Problem): void {
  response.statusCode = problem.status;
  for (const [name, value] of Object.entries(problemHeaders(problem))) {
    response.setHeader(name, value);
  }
  response.end(JSON.stringify(problem));
}

/** Leaves when the handler has answered. Before the handler is called: it may answer at once. */
export function leaveWhenAnswered(response: OutgoingResponse, place: Passed): void {
  void answered(response, place).then(() => leaveOrBreak(response, place));
}

/** Too late for another answer: a broken connection is what can still be noticed. */
export async function leaveOrBreak(response: OutgoingResponse, place: Passed): Promise<void> {
  await place.leave().catch(() => {
    if (!isFailure(response)) response.destroy();
  });
}

function isFailure({ statusCode }: OutgoingResponse): boolean {
  return statusCode >= 500;
}

/**
 * Resolves when the response is ended, by whomever, or when nobody is left who would end it. That
 * its client is gone does not mean that: the handler is still at work, and ends it later.
 */
export async function answered(response: OutgoingResponse, place: Passed): Promise<void> {
  return await new Promise((resolve) => {
    onEnd(response, place, resolve);
    onAbandoned(response, resolve);
  });
}

function onEnd(response: OutgoingResponse, place: Passed, callback: () => void): void {
  const end = response.end;
  response.end = function ended(this: OutgoingResponse, ...args: [body?: string]) {
    callback();
    if (place.lost?.aborted !== true || isFailure(response)) return end.apply(this, args);
    response.end = end;
    return answerLost(response, place);
  };
}

/** Headers of the answer that is not given. */
const ABOUT_THE_BODY: readonly string[] = ['content-length', 'content-encoding', 'etag'];

/** The effect is done, but perhaps beside those of a later holder: no answer may call that a success. */
function answerLost(response: OutgoingResponse, place: Passed): unknown {
  if (response.headersSent) return response.destroy();
  for (const name of ABOUT_THE_BODY) response.removeHeader(name);
  answer(response, placeLost(place));
  return response;
}

/**
 * A handler that pipes a stream into its response leaves it to the stream to end it, and a stream
 * does not end a response that was closed. So the handler is done when those streams are over.
 */
function onAbandoned(response: OutgoingResponse, callback: () => void): void {
  const feeding = new Set<Readable>();
  let isClosed = response.destroyed;
  const whenOver = (source: Readable) => {
    finished(source, { writable: false }, () => {
      feeding.delete(source);
      if (feeding.size === 0) callback();
    });
  };
  response.on('pipe', (source) => {
    feeding.add(source);
    if (isClosed) whenOver(source);
  });
  response.on('unpipe', (source) => {
    if (isClosed || response.destroyed) void destroyUnread(source);
    else feeding.delete(source);
  });
  response.once('close', () => {
    isClosed = true;
    for (const source of [...feeding]) whenOver(source);
  });
}

/** `pipeline` destroys its streams; `pipe` leaves one standing that nobody will ever read on. */
async function destroyUnread(source: Readable): Promise<void> {
  // Until the listeners of the pipe itself are gone.
  await undefined;
  const readers = source.listenerCount('data') + source.listenerCount('readable');
  if (readers === 0 && source.readableFlowing === false) source.destroy();
}
