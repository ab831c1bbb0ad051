// One POST to an endpoint: no redirects, bounded in time and size, to an address that was checked.

import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { Timers } from '../../support/timer.ts';
import { type Allowed, checkedLookup } from './safe-address.ts';

export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  /** Nothing was sent, or it was turned away at the door. */
  | { readonly kind: 'denied'; readonly why: string }
  /** It may have been done. */
  | { readonly kind: 'unknown'; readonly why: string };

export interface Post {
  readonly url: URL;
  readonly text: string;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly allowed: Allowed;
  readonly timers: Timers;
  readonly signal: AbortSignal;
}

const UNSENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRDENIED', 'EAI_AGAIN'],
]);
/** It says itself that it has not begun. */
const TURNED_AWAY: ReadonlySet<number> = new Set([429, 503]);

export async function post(sent: Post): Promise<Posted> {
  const { url, text, timeoutMs, allowed, timers, signal } = sent;
  const over = new AbortController();
  const cancel = timers.after(timeoutMs, () =>
    over.abort(new Error(`no answer in ${timeoutMs} ms`)),
  );
  const until = AbortSignal.any([over.signal, signal]);
  try {
    return await new Promise<Posted>((resolve, reject) => {
      const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
      const outgoing = send(
        url,
        {
          method: 'POST',
          headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': text.length },
          lookup: checkedLookup(allowed),
          signal: until,
        },
        (response) => {
          answerFrom(response, sent).then(resolve, reject);
        },
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const why = until.aborted ? String((until.reason as Error)?.message ?? message) : message;
    return { kind: UNSENT.has(code ?? '') ? 'denied' : 'unknown', why };
  } finally {
    cancel();
  }
}

async function answerFrom(response: IncomingMessage, { bytesMax }: Post): Promise<Posted> {
  const { statusCode: status = 0 } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bytesMax) {
      response.destroy();
      return { kind: 'unknown', why: `its answer has more than ${bytesMax} bytes` };
    }
    chunks.push(chunk);
  }
  if (TURNED_AWAY.has(status)) return { kind: 'denied', why: `it answered with ${status}` };
  // A redirect would send what was signed for this address to another one.
  if (status !== 200) return { kind: 'unknown', why: `it answered with ${status}` };
  return { kind: 'answered', status, text: Buffer.concat(chunks).toString() };
}
